package bug

// The bugs of truncation and the high watermark.
const ()

var truncation = []Entry{}
