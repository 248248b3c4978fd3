package index

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A campaign whose directory was copied is one campaign still: whichever name the copy has, it is no further night and no evidence.

// copyOf begins the reason why a copy was not read.
const copyOf = "is a copy of "

// leaveCopies moves the copies among the campaigns to Unread, each with the name of what it is of: of those that are alike, the one whose directory has the
// name that it was given stays.
func (x *Index) leaveCopies() {
	type begun struct {
		started int64
		master  uint64
		label   string
	}
	alike := map[begun][]*Stored{}
	for i := range x.Campaigns {
		c := &x.Campaigns[i]
		key := begun{c.Started.UnixNano(), c.Master, c.Label}
		alike[key] = append(alike[key], c)
	}
	of := map[string]string{} // the names of copies, and of what they are
	for _, group := range alike {
		if len(group) == 1 {
			continue
		}
		slices.SortFunc(group, byOwnName)
		var texts [][]byte // of the group's first ones, nil for a copy
		for _, c := range group {
			text, err := Encode(c.Campaign)
			i := slices.IndexFunc(texts, func(other []byte) bool { return err == nil && bytes.Equal(text, other) })
			if i >= 0 {
				of[c.Name] = group[i].Name
				text = nil
			}
			texts = append(texts, text)
		}
	}
	x.Campaigns = slices.DeleteFunc(x.Campaigns, func(c Stored) bool {
		original, copied := of[c.Name]
		if copied {
			x.Unread = append(x.Unread, fmt.Sprintf("%s: %s%s, and counts nowhere", path.Join(campaignsDir, c.Name, campaignFile), copyOf, path.Join(campaignsDir, original)))
		}
		return copied
	})
}

// byOwnName orders campaigns that began alike: first the one with the name that Create gives it, then those with a number behind it, then all others.
func byOwnName(a, b *Stored) int {
	far := func(c *Stored) int {
		switch stem := c.stem(); {
		case c.Name == stem:
			return 0
		case strings.HasPrefix(c.Name, stem+"-"):
			return 1
		default:
			return 2
		}
	}
	return cmp.Or(cmp.Compare(far(a), far(b)), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
}

// copiesAmong counts the copies among what was not read.
func copiesAmong(unread []string) (n int) {
	for _, what := range unread {
		if strings.Contains(what, ": "+copyOf) {
			n++
		}
	}
	return n
}
