package history

import "strings"

// pool is where a reader puts a history's values and records: in chunks, so that a million of them are not a million pieces of memory, and each
// value once, though its send, every consumer, the final reads and each replica's dump repeat it.
type pool struct {
	chunk     strings.Builder // of text, under way
	chunkSize int             // its size
	records   []Record        // what is left of the chunk under way
	grown     int             // its size
	scratch   []Record        // the records of the line under way
	dumped    []DumpRecord    // likewise
	logs      map[Partition]*seenLog
	log       *seenLog // the last that was asked for
	logOf     Partition
}

// Chunks double from the least size to the greatest, so that a small journal takes little.
const (
	textChunkMin, textChunkMax       = 1 << 9, 1 << 16
	recordsChunkMin, recordsChunkMax = 1 << 3, 1 << 12
)

// keep is the text as a string.
func (p *pool) keep(b []byte) string {
	if len(b) > textChunkMin {
		return string(b)
	}
	if p.chunk.Cap()-p.chunk.Len() < len(b) {
		p.chunkSize = min(max(2*p.chunkSize, textChunkMin), textChunkMax)
		p.chunk = strings.Builder{}
		p.chunk.Grow(p.chunkSize)
	}
	from := p.chunk.Len()
	p.chunk.Write(b)
	return p.chunk.String()[from:]
}

// keepRecords is a copy of the line's records.
func (p *pool) keepRecords(records []Record) []Record {
	n := len(records)
	if n == 0 {
		return nil
	}
	if n > len(p.records) {
		p.grown = min(max(2*p.grown, recordsChunkMin), recordsChunkMax)
		if n > p.grown/2 {
			return append(make([]Record, 0, n), records...)
		}
		p.records = make([]Record, p.grown)
	}
	kept := p.records[:n:n]
	p.records = p.records[n:]
	copy(kept, records)
	return kept
}

// seenLog is what was seen of a partition's log: values by offset, from the first offset that was seen on.
type seenLog struct {
	from   Offset
	values []string
}

// gapMax bounds the offsets without a record that are kept room for. What lies beyond is read all the same, only not kept once.
const gapMax = 64

// at is where the value at an offset is kept, nil where it is not. Room grows with the records that are seen, not with their offsets.
func (l *seenLog) at(o Offset) *string {
	if len(l.values) == 0 {
		l.from = max(o, 0)
	}
	if o < l.from || o-l.from >= Offset(len(l.values)+gapMax) {
		return nil
	}
	for Offset(len(l.values)) <= o-l.from {
		l.values = append(l.values, "")
	}
	return &l.values[o-l.from]
}

// of is what was seen of a partition's log.
func (p *pool) of(partition Partition) *seenLog {
	if p.log != nil && p.logOf == partition {
		return p.log
	}
	l := p.logs[partition]
	if l == nil {
		if p.logs == nil {
			p.logs = map[Partition]*seenLog{}
		}
		l = &seenLog{}
		p.logs[partition] = l
	}
	p.log, p.logOf = l, partition
	return l
}

// value is the text of a record as a string: the one that was kept when the record was seen before.
func (p *pool) value(l *seenLog, o Offset, b []byte) string {
	known := l.at(o)
	if known != nil && *known == string(b) {
		return *known
	}
	v := p.keep(b)
	if known != nil && *known == "" {
		*known = v
	}
	return v
}

// sentTo notes where a value that was sent stands.
func (l *seenLog) sentTo(o Offset, value string) {
	if known := l.at(o); known != nil && *known == "" {
		*known = value
	}
}
