package sim

import (
	"fmt"
	"strings"
)

// wipe removes all that a broker which is down keeps for partitions, and makes that last: a disk that was replaced does not come back
// with the power. What is known of its replicas goes too.
func (h *host) wipe() (detail string, err error) {
	var r removed
	err = h.drive.empty("", &r)
	clear(h.last)
	if h.w.note(noteWipe, h.id, uint64(r.files), uint64(r.bytes), nil) {
		h.w.tell(h.id, r.String())
	}
	return r.String(), err
}

// removed counts what a wipe removed.
type removed struct {
	files int
	bytes int64
}

func (r removed) String() string {
	return fmt.Sprintf("removed %d files of %d bytes", r.files, r.bytes)
}

// metadataDir is what a wipe spares: the directory of the controller's log, which lies on a volume of its own (metadata.log.dir).
const metadataDir = "__cluster_metadata"

// empty removes what is in a directory, in order of name.
func (d *drive) empty(dir string, r *removed) error {
	names, err := d.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		name, isDir := strings.CutSuffix(name, "/")
		if dir == "" && strings.HasPrefix(name, metadataDir) {
			continue
		}
		path := strings.TrimPrefix(dir+"/"+name, "/")
		if isDir {
			if err := d.empty(path, r); err != nil {
				return err
			}
		} else if n, err := d.lookup("wipe", path); err == nil {
			r.files++
			r.bytes += n.size
		}
		if err := d.Remove(path); err != nil {
			return err
		}
	}
	return d.SyncDir(dir)
}
