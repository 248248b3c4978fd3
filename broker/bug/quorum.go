package bug

// The bugs of the controller.
const ()

var quorum = []Entry{}
