package bug

// The bugs of the ISR.
const ()

var isr = []Entry{}
