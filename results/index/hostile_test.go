package index

import (
	"fmt"
	"time"
)

// hostile is what a message, a name or a log may hold to get out of where it is shown.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `]]></failure><testcase name="planted"/>`, "a\n::error title=planted::planted\n",
	"`x` | **y** | [z](javascript:alert(1)) @somebody <!-- ", "\x1b[2J\x1b]0;planted\a", "\u202egnp.exe", "\xff\xfe\x00 no text", "{{.Up}}${x}%0A::error::planted",
	"' onclick='alert(1)", "</code></pre></style><h1>planted</h1>", "&lt;b&gt;&#60;", "javascript:alert(1)", "../../../etc/passwd",
}

// hostileCampaign has hostile text wherever text can stand.
func hostileCampaign() Campaign {
	c := Campaign{Format: Format, Label: hostile[0] + hostile[4], Started: time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC), Tool: hostile[1], Build: hostile[5], Commit: hostile[3],
		Again: hostile[10], Master: 1<<64 - 1, Done: true}
	for i, text := range hostile {
		next := hostile[(i+1)%len(hostile)]
		p := Part{Name: text, Subject: next, Reason: text + next, Again: text, Done: true, Runs: 3, Valid: 1, Invalid: 2, Known: 1, Checks: []Check{{Name: text, Signature: next}, {Name: "quiet"}}}
		for j, kind := range []Kind{Violation, Missed, Doubt, Broken} {
			p.Problems = append(p.Problems, Problem{Check: text, Kind: kind, Signature: fmt.Sprint(text, j), Count: 1, Reason: next, Seed: 7, Replay: text, Run: text, Expired: next},
				Problem{Check: text, Kind: kind, Signature: fmt.Sprint(next, j), Count: 1, Reason: next, Known: text, Until: text})
		}
		p.Settle()
		c.Parts = append(c.Parts, p)
	}
	return c
}

// thousand has a thousand failures of a kind, each with long words.
func thousand() Campaign {
	c := Campaign{Format: Format, Label: "nightly", Started: time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC), Done: true}
	p := Part{Name: "hunt", Done: true, Runs: 1000, Invalid: 1000, Checks: []Check{{Name: "lost acknowledged write"}}}
	long := ""
	for len(long) < textMax {
		long += `<"&'*_|` + "`"
	}
	for i := range 1000 {
		p.Problems = append(p.Problems, Problem{Check: "lost acknowledged write", Kind: Violation, Signature: fmt.Sprintf("signature %d", i), Count: 1, Reason: long, Seed: uint64(i) + 1<<63, Replay: long, Run: fmt.Sprint(i)})
	}
	p.Settle()
	c.Parts = append(c.Parts, p)
	return c
}
