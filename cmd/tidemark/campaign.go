package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/harness"
	"tidemark/history/plain"
	"tidemark/results/index"
)

// campaignTold is what the JSON of a command tells of the campaign that it left.
type campaignTold struct {
	Page       string           `json:"campaign,omitempty"`  // the path of its page
	Difference index.Difference `json:"difference,omitzero"` // beside the campaigns before it
}

// huntTold is the JSON of a hunt.
type huntTold struct {
	harness.Tally
	Generator string `json:"generator,omitempty"` // see nameGenerator
	campaignTold
}

// keepCampaign writes a campaign that is over; done says that it was not interrupted. Of one that cannot be written there is nothing to tell but why: no
// page is to be pointed to, and it was compared with none.
func keepCampaign(out string, log io.Writer, c index.Campaign, begun time.Time, done bool) (campaignTold, error) {
	c.Done, c.Seconds = done, time.Since(begun).Seconds()
	name, err := index.Create(out, c)
	if err != nil {
		return campaignTold{}, err
	}
	d, err := index.Write(out, name, c, time.Now())
	tellUnread(log, d.Unread)
	if err != nil {
		_ = os.Remove(filepath.Join(out, "campaigns", name)) // which goes only if nothing of the campaign is in it
		return campaignTold{}, err
	}
	return campaignTold{filepath.Join(out, "campaigns", name, "index.html"), d}, nil
}

// tellUnread tells what could not be read, or is not to be believed, and why.
func tellUnread(w io.Writer, what []string) {
	for _, text := range what {
		fmt.Fprintln(w, "tidemark: not read:", plain.Line(text))
	}
}

// huntLabel is what a hunt is about, so that it is compared with those before it that were about the same: its options.
func huntLabel(c *cobra.Command) string {
	return strings.Join(append([]string{"hunt"}, givenBut(c, append(huntsAlone, "out")...)...), " ")
}

// againLine is the line that carries a hunt or a night out again.
func againLine(c *cobra.Command, master uint64) string {
	return harness.OptionsLine(c.Name(), givenBut(c, "master"), "--master", master)
}
