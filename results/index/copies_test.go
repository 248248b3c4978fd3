package index

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestACopyIsNoOtherNight: a campaign's directory under another name is named with what it is a copy of, and neither a night on end, nor the night before,
// nor a point of the trend. Another campaign of the same second is one of its own.
func TestACopyIsNoOtherNight(t *testing.T) {
	root := t.TempDir()
	night := believed()
	name := create(t, root, night)
	twin := believed()
	twin.Seconds++
	twinName := create(t, root, twin)
	if twinName != name+"-2" {
		t.Fatalf("the second campaign of its second is named %s, expected %s-2", twinName, name)
	}
	text, err := os.ReadFile(filepath.Join(root, campaignsDir, name, campaignFile))
	if err != nil {
		t.Fatal(err)
	}
	copies := []string{name + "-3", "a copy", "zz"}
	for _, c := range copies {
		dir := filepath.Join(root, campaignsDir, c)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, campaignFile), text, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	next := believed()
	next.Master, next.Started = 6, night.Started.Add(time.Hour)
	d, err := Write(root, create(t, root, next), next, noon)
	if err != nil || d.Previous != twinName || len(d.Unread) != len(copies) || strings.Contains(d.Sentence(), "without") {
		t.Errorf("the night after is told as %q, unread %q, %v; expected it since %s, and the copies to be named", d.Sentence(), d.Unread, err, twinName)
	}
	x, err := Read(root, noon)
	if err != nil || len(x.Campaigns) != 3 {
		t.Fatalf("%d campaigns, %v, expected three", len(x.Campaigns), err)
	}
	var page bytes.Buffer
	if err := x.WritePage(&page, "", true); err != nil {
		t.Fatal(err)
	}
	for _, c := range copies {
		if want := "campaigns/" + c + "/campaign.json: is a copy of campaigns/" + name + ", and counts nowhere"; !strings.Contains(strings.Join(x.Unread, "\n"), want) {
			t.Errorf("unread %q, expected %q", x.Unread, want)
		}
	}
	if n := strings.Count(page.String(), ">COPY<"); n != len(copies) || strings.Contains(page.String(), "DAMAGED") {
		t.Errorf("%d rows of copies, expected %d and none of what is damaged", n, len(copies))
	}
	if err := os.RemoveAll(filepath.Join(root, campaignsDir, name)); err != nil {
		t.Fatal(err)
	}
	if x, err := Read(root, noon); err != nil || len(x.Campaigns) != 3 || len(x.Unread) != 2 {
		t.Errorf("%d campaigns, unread %q, %v; expected a copy to stand for what is gone", len(x.Campaigns), x.Unread, err)
	}
}

// TestACampaignWithoutItsFileIsDamaged: what is left of a campaign is a row with the reason. A directory in which nothing stands yet is one being made.
func TestACampaignWithoutItsFileIsDamaged(t *testing.T) {
	for _, left := range []string{junitFile, summaryFile, pageFile, ""} {
		root := t.TempDir()
		dir := filepath.Join(root, campaignsDir, "20261130T010000Z-nightly-4")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		rows := 0
		if left != "" {
			rows = 1
			if err := os.WriteFile(filepath.Join(dir, left), []byte("told"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		night := believed()
		d, err := Write(root, create(t, root, night), night, noon)
		if err != nil || len(d.Unread) != rows {
			t.Fatalf("beside %q: unread %q, %v, expected %d", left, d.Unread, err, rows)
		}
		x, err := Read(root, noon)
		var page bytes.Buffer
		if err := errors.Join(err, x.WritePage(&page, "", true)); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(page.String(), ">DAMAGED<"); n != rows || len(x.Listing().Unread) != rows {
			t.Errorf("beside %q: %d rows of what is damaged, unread %q, expected %d", left, n, x.Unread, rows)
		}
		if want := "campaign.json: is gone, expected it beside " + left; rows > 0 && !strings.HasSuffix(d.Unread[0], want) {
			t.Errorf("unread %q, expected %q", d.Unread, want)
		}
	}
}
