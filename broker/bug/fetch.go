package bug

// The bugs of fetches.
const ()

var fetch = []Entry{}
