package docker

import "testing"

func TestLastWordsTellWhyAProcessEnded(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"level=INFO msg=serving\nlevel=ERROR msg=\"log: file too large\"\n":             ": level=ERROR msg=\"log: file too large\"",
		"level=INFO msg=serving\npanic: index out of range\n\ngoroutine 1 [running]:\n": ": panic: index out of range",
		"SIGQUIT: quit\nPC=0x1 m=0\n\ngs     0x0\n":                                     ": SIGQUIT: quit",
		"[2026-11-30 21:13:07,671] INFO Stopped\n[2026-11-30 21:13:07,751] FATAL Exiting because log truncation is not allowed for partition orders-0\n[2026-11-30 21:13:07,758] INFO shutting down\n": ": [2026-11-30 21:13:07,751] FATAL Exiting because log truncation is not allowed for partition orders-0",
	} {
		if got := lastWords(text); got != want {
			t.Errorf("%q ends with %q, expected %q", text, got, want)
		}
	}
}
