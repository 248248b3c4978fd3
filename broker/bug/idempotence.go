package bug

// The bugs of idempotence.
const ()

var idempotence = []Entry{}
