package harness

import "testing"

func TestBytesAreReadAsContainersLimitsAreWritten(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1": 1, "512m": 512 << 20, "1G": 1 << 30, "3k": 3072, "8589934591g": 8589934591 << 30} {
		n, err := ParseBytes(text)
		if err != nil || n != want {
			t.Errorf("%s is %d, %v, expected %d", text, n, err, want)
		}
		if again, err := ParseBytes(Bytes(n)); err != nil || again != n {
			t.Errorf("%d is written %s, which is %d, %v", n, Bytes(n), again, err)
		}
	}
	for _, text := range []string{"", "m", "-1", "1.5g", "9223372036854775808", "8589934592g", "1t", "0x10"} {
		if n, err := ParseBytes(text); err == nil {
			t.Errorf("%q is %d, expected an error", text, n)
		}
	}
}
