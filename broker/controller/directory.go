package controller

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

// DirectoryID names the disk that a member's metadata log is on (KIP-853): a voter is a broker and a disk.
type DirectoryID [16]byte

// String is the id as Kafka writes it (Uuid.java): URL-safe base64.
func (d DirectoryID) String() string { return base64.RawURLEncoding.EncodeToString(d[:]) }

// FirstDirectory is the id of the disk that a broker begins on. The voters of controller.quorum.voters are those disks, as the voters of
// kafka-storage's --initial-controllers are; every later disk has an id of its own.
func FirstDirectory(b kafka.BrokerID) (d DirectoryID) {
	copy(d[:], "tidemark")
	binary.BigEndian.PutUint64(d[8:], uint64(b)+1)
	return d
}

// MetaProperties is where the id stands, under Kafka's name in the directory of the metadata log, so that they share their fate.
const MetaProperties = logDir + "/meta.properties"

// metaMax bounds the file.
const metaMax = 4096

// FormatDirectory is the MetaProperties of a disk (Kafka's MetaProperties.java, version 1): what kafka-storage format writes.
func FormatDirectory(b kafka.BrokerID, d DirectoryID) []byte {
	return fmt.Appendf(nil, "version=1\nnode.id=%d\ndirectory.id=%s\n", b, d)
}

// openDirectory reads the disk's id; a disk without one is the broker's first and gets it.
func openDirectory(fsys disk.FS, b kafka.BrokerID) (DirectoryID, error) {
	data, err := disk.ReadFile(fsys, MetaProperties, metaMax)
	if errors.Is(err, fs.ErrNotExist) {
		d := FirstDirectory(b)
		for _, step := range disk.ReplaceFile(logDir, strings.TrimPrefix(MetaProperties, logDir+"/"), FormatDirectory(b, d)) {
			if err := disk.Run(fsys, step); err != nil {
				return d, err
			}
		}
		return d, nil
	}
	if err != nil {
		return DirectoryID{}, err
	}
	d, err := parseDirectory(b, string(data))
	if err != nil {
		return d, fmt.Errorf("%s: %w", MetaProperties, err)
	}
	return d, nil
}

func parseDirectory(b kafka.BrokerID, text string) (d DirectoryID, err error) {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[key] = value
	}
	if v := values["version"]; v != "1" {
		return d, fmt.Errorf("version %.20q, expected 1", v)
	}
	if v := values["node.id"]; v != strconv.Itoa(int(b)) {
		return d, fmt.Errorf("node.id %.20q, expected %d: the disk is another node's", v, b)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(values["directory.id"])
	if err != nil || len(raw) != len(d) {
		return d, fmt.Errorf("directory.id %.40q, expected 22 characters of URL-safe base64", values["directory.id"])
	}
	return DirectoryID(raw), nil
}

// memberID is raft's id of a member: a broker on a disk. That of a first disk is the broker's alone. Raft keeps 0 for "none".
func memberID(b kafka.BrokerID, d DirectoryID) uint64 {
	if d == FirstDirectory(b) {
		return raftID(b)
	}
	return uint64(crc32.Checksum(d[:], castagnoli)>>4+1)<<32 | raftID(b)
}

// raftID is the member's id of a broker on its first disk.
func raftID(b kafka.BrokerID) uint64 { return uint64(b) + 1 }

// brokerID is the broker of a member; raft's "none" becomes kafka.NoBroker.
func brokerID(id uint64) kafka.BrokerID { return kafka.BrokerID(id&math.MaxUint32) - 1 }

// validMemberID reports whether an id is one that memberID makes.
func validMemberID(id uint64) bool {
	b := id & math.MaxUint32
	return b > 0 && b <= math.MaxInt32 && id < limit
}
