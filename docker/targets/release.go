package targets

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Release is a version of Apache Kafka, such as 0.10.2.2 or 4.1.0.
type Release struct {
	text  string
	parts []int
}

// releasePartsMax bounds a release's numbers: 0.10.2.2 has four.
const releasePartsMax = 4

// oldest is the first release whose configuration is known here: 0.10.2 brought listeners by name (KIP-103).
var oldest = mustRelease("0.10.2.0")

// ParseRelease reads a release.
func ParseRelease(text string) (Release, error) {
	wrong := fmt.Errorf("release %q, expected numbers with dots between them, such as 4.1.0 or 0.10.2.2", text)
	fields := strings.Split(text, ".")
	if len(fields) < 3 || len(fields) > releasePartsMax {
		return Release{}, wrong
	}
	r := Release{text: text}
	for _, f := range fields {
		n, err := strconv.ParseUint(f, 10, 16)
		if err != nil || strconv.FormatUint(n, 10) != f {
			return Release{}, wrong
		}
		r.parts = append(r.parts, int(n))
	}
	if r.before(oldest) {
		return Release{}, fmt.Errorf("release %s, expected %s or newer", text, oldest)
	}
	return r, nil
}

// mustRelease reads a release that stands in this package.
func mustRelease(text string) Release {
	var r Release
	r.text = text
	for _, f := range strings.Split(text, ".") {
		n, err := strconv.Atoi(f)
		if err != nil {
			panic(fmt.Sprintf("release %q in the program's text", text))
		}
		r.parts = append(r.parts, n)
	}
	return r
}

// String is the release as Maven names it.
func (r Release) String() string { return r.text }

// before compares releases number by number.
func (r Release) before(other Release) bool {
	return slices.CompareFunc(r.parts, other.parts, cmp.Compare[int]) < 0
}

// The releases that changed what is configured here.
var (
	idempotent     = mustRelease("0.11.0.0") // idempotent producers, leader epochs on disk (KIP-98, KIP-101)
	scala213       = mustRelease("2.4.0")    // the first that Maven has for Scala 2.13; older ones are for 2.11
	alterByRequest = mustRelease("2.4.0")    // AlterPartitionReassignments and ElectLeaders (KIP-455, KIP-460)
	kraft          = mustRelease("3.3.0")    // without ZooKeeper, for production (KIP-833)
	withoutKeeper  = mustRelease("4.0.0")    // ZooKeeper is gone
	eligible       = mustRelease("4.1.0")    // ELR is on in new clusters (KIP-966)
)
