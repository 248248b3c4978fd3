// Package deps keeps modules in go.mod until their users exist.
package deps

import (
	_ "github.com/HdrHistogram/hdrhistogram-go"
	_ "github.com/anishathalye/porcupine"
	_ "github.com/cespare/xxhash/v2"
	_ "github.com/chromedp/chromedp"
	_ "github.com/cockroachdb/datadriven"
	_ "github.com/klauspost/compress/snappy"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/pierrec/lz4/v4"
	_ "github.com/spf13/cobra"
	_ "github.com/twmb/franz-go/pkg/kerr"
	_ "github.com/vbauerster/mpb/v8"
	_ "go.etcd.io/raft/v3"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/term"
	_ "pgregory.net/rapid"
)
