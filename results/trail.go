package results

import (
	"encoding/binary"
	"fmt"

	"tidemark/history"
)

// trailFile holds, for each event of a simulated run, the low half of the trace hash up to it: 4 bytes, little endian.
const trailFile = "trace.hashes"

// trailMax bounds a trail that is read back, in events.
const trailMax = 256 << 20 / 4

// WriteTrail writes the trail of a simulated run, so that a replay that differs can name the first event that does.
func (d Dir) WriteTrail(trail []uint32) error {
	text := make([]byte, 0, 4*len(trail))
	for _, h := range trail {
		text = binary.LittleEndian.AppendUint32(text, h)
	}
	return d.write(trailFile, text)
}

// Trail reads the trail back.
func (d Dir) Trail() ([]uint32, error) {
	f, err := history.OpenFile(d.file(trailFile))
	if err != nil {
		return nil, fmt.Errorf("read the run's trail: %w", err)
	}
	defer f.Close()
	text, err := readBounded(f, 4*trailMax+1)
	if err != nil {
		return nil, err
	}
	if len(text)%4 != 0 {
		return nil, fmt.Errorf("%s has %d bytes, expected a multiple of 4", d.file(trailFile), len(text))
	}
	trail := make([]uint32, len(text)/4)
	for i := range trail {
		trail[i] = binary.LittleEndian.Uint32(text[4*i:])
	}
	return trail, nil
}
