package bug

// The bugs of storage.
const ()

var storage = []Entry{}
