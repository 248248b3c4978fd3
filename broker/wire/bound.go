package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// bodyMax bounds a body, record batches aside. kmsg makes room for as many elements as an array claims, if there are so many bytes
// left: its decoded form takes up to 128 times the bytes that it was read from.
const bodyMax = 1 << 20

// checkSize bounds the body of a request, or with response of a response, before kmsg reads it. Only a Produce request and a Fetch
// response may be larger, by their records: all else that is in them is counted.
func checkSize(body []byte, key, version int16, response bool) error {
	if len(body) <= bodyMax {
		return nil
	}
	what, w := "request", walker{rest: body}
	if response {
		what = "response"
	}
	switch {
	case key == int16(kmsg.Produce) && !response:
		walkProduce(&w, version)
	case key == int16(kmsg.Fetch) && response:
		walkFetched(&w, version)
	}
	if w.short {
		return fmt.Errorf("%s %s of %d bytes, expected more: it ends inside a field", kmsg.NameForKey(key), what, len(body))
	}
	if other := len(body) - w.records; other > bodyMax {
		return fmt.Errorf("%s %s with %d bytes beside record batches, expected at most %d", kmsg.NameForKey(key), what, other, bodyMax)
	}
	return nil
}

// walkProduce passes over a Produce request's body, in the versions that are served.
func walkProduce(w *walker, version int16) {
	w.flexible = version >= 9
	w.string() // transactional id
	w.skip(2 + 4)
	for range w.array() {
		if version >= 13 {
			w.skip(16)
		} else {
			w.string()
		}
		for range w.array() {
			w.skip(4)
			w.batches()
			w.tags()
		}
		w.tags()
	}
}

// walkFetched passes over a Fetch response's body, in the versions that are served.
func walkFetched(w *walker, version int16) {
	w.flexible = version >= 12
	since := func(first int16, bytes int) int {
		if version < first {
			return 0
		}
		return bytes
	}
	w.skip(4 + since(7, 2+4))
	for range w.array() {
		if version >= 13 {
			w.skip(16)
		} else {
			w.string()
		}
		for range w.array() {
			w.skip(4 + 2 + 8 + 8 + since(5, 8))
			for range w.array() { // aborted transactions
				w.skip(8 + 8)
				w.tags()
			}
			w.skip(since(11, 4))
			w.batches()
			w.tags()
		}
		w.tags()
	}
}

// walker passes over fields and counts the bytes of record batches. Once short it stays at the end, where every array is empty.
type walker struct {
	rest     []byte
	flexible bool
	records  int
	short    bool
}

func (w *walker) skip(n int) {
	if n > len(w.rest) {
		w.short, w.rest = true, nil
		return
	}
	w.rest = w.rest[n:]
}

// length reads a length, of so many bytes where it is no varint; -1 is null.
func (w *walker) length(bytes int) int {
	if w.flexible {
		return w.uvarint() - 1
	}
	if bytes > len(w.rest) {
		w.skip(bytes)
		return 0
	}
	b := w.rest
	w.rest = b[bytes:]
	if bytes == 2 {
		return int(int16(binary.BigEndian.Uint16(b)))
	}
	return int(int32(binary.BigEndian.Uint32(b)))
}

// uvarint reads a number that no valid frame has above 2^31.
func (w *walker) uvarint() int {
	v, n := binary.Uvarint(w.rest)
	if n <= 0 || v > 1<<31 {
		w.short, w.rest = true, nil
		return 0
	}
	w.rest = w.rest[n:]
	return int(v)
}

// array is the number of elements that follow: none where there are fewer bytes.
func (w *walker) array() int {
	n := w.length(4)
	if n > len(w.rest) {
		w.short, w.rest = true, nil
		return 0
	}
	return max(n, 0)
}

func (w *walker) string() { w.skip(max(w.length(2), 0)) }

func (w *walker) batches() {
	n := max(w.length(4), 0)
	if w.skip(n); !w.short {
		w.records += n
	}
}

func (w *walker) tags() {
	if !w.flexible {
		return
	}
	for range min(w.uvarint(), len(w.rest)) {
		w.uvarint()
		w.skip(w.uvarint())
	}
}
