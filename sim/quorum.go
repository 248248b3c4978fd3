package sim

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"tidemark/broker"
	"tidemark/broker/controller"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/history"
	"tidemark/workloads"
)

// NewDisk kills the process and gives the broker an empty disk, formatted under an id of its own.
func (w *World) NewDisk(b history.BrokerID) (string, error) {
	h, err := w.target("new disk", b, hostUp, hostPaused, hostFrozen, hostBooting)
	if err != nil {
		return "", err
	}
	h.end(endByKill, "disk replaced")
	detail, err := h.newDisk()
	if err != nil {
		return "", fmt.Errorf("new disk of broker %d: %w", b, err)
	}
	w.touched(b)
	return detail, nil
}

// newDisk removes all that there is, and writes down the id of the disk, as kafka-storage format does.
func (h *host) newDisk() (detail string, err error) {
	rnd := newStream(h.w.opt.Seed, "disk of "+strconv.Itoa(int(h.id)), h.disks)
	h.disks++
	var id controller.DirectoryID
	binary.BigEndian.PutUint64(id[:8], rnd.pcg.Uint64())
	binary.BigEndian.PutUint64(id[8:], rnd.pcg.Uint64())
	if detail, err = h.wipe(); err != nil {
		return detail, err
	}
	var r removed
	if err = h.drive.emptyAll(metadataDir+"-0", &r); err != nil {
		return detail, err
	}
	for _, step := range []disk.Step{
		{Op: disk.WriteFile, Path: controller.MetaProperties, Data: controller.FormatDirectory(kafka.BrokerID(h.id), id)},
		{Op: disk.SyncFile, Path: controller.MetaProperties},
		{Op: disk.SyncDir, Path: metadataDir + "-0"},
	} {
		if err = disk.Run(h.drive, step); err != nil {
			return detail, err
		}
	}
	return fmt.Sprintf("%s; of the controller %s; now on disk %v", detail, r, id), nil
}

// emptyAll removes what is in a directory, also of the controller.
func (d *drive) emptyAll(dir string, r *removed) error {
	if err := d.MkdirAll(dir); err != nil {
		return err
	}
	return d.empty(dir, r)
}

// RemoveVoter takes a running broker out of the voters of the controller quorum, by the admin request of a client.
func (w *World) RemoveVoter(b history.BrokerID, timeout time.Duration) error {
	return w.changeVoter(b, false, timeout)
}

// AddVoter puts it back.
func (w *World) AddVoter(b history.BrokerID, timeout time.Duration) error {
	return w.changeVoter(b, true, timeout)
}

func (w *World) changeVoter(b history.BrokerID, add bool, timeout time.Duration) error {
	n := w.process(b)
	if n == nil {
		return fmt.Errorf("voter %d: its process is gone", b)
	}
	return workloads.ChangeVoter(w, admin{w}, "voters of "+strconv.Itoa(int(b)), b, n.Directory(), add, timeout)
}

// ProbeVoter reports whether a broker is a voter on the disk that it has, by what it knows itself and by the newest metadata of all.
func (w *World) ProbeVoter(b history.BrokerID) bool {
	n := w.process(b)
	if n == nil {
		return false
	}
	newest := n
	for _, h := range w.hosts {
		if o, ok := h.node.(*broker.Node); ok && o.Image().Index > newest.Image().Index {
			newest = o
		}
	}
	id, disk := kafka.BrokerID(b), n.Directory()
	return n.HasVoter(id, disk) && newest.HasVoter(id, disk)
}

// process is the node of a broker whose process is there.
func (w *World) process(b history.BrokerID) *broker.Node {
	h, err := w.host(b)
	if err != nil {
		return nil
	}
	n, _ := h.node.(*broker.Node)
	return n
}
