package bug

// The bugs of election and fsync.
const ()

var election = []Entry{}
