package metadata

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"tidemark/broker/kafka"
)

// AppendSnapshot encodes the image, after dst: what a snapshot of the metadata log holds (KIP-630). The same image gives the same bytes.
func AppendSnapshot(dst []byte, img *Image) ([]byte, error) {
	data, err := json.Marshal(img)
	if err != nil {
		return dst, fmt.Errorf("metadata: snapshot at entry %d: %w", img.Index, err)
	}
	return append(dst, data...), nil
}

// DecodeSnapshot reads an image that AppendSnapshot encoded. What is not understood is an error: a member must not skip what others know.
func DecodeSnapshot(data []byte) (*Image, error) {
	img := New()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(img); err != nil {
		return nil, fmt.Errorf("metadata: snapshot of %d bytes: %w", len(data), err)
	}
	if d.More() || img.Brokers == nil || img.Topics == nil || img.Index < 0 {
		return nil, fmt.Errorf("metadata: snapshot of %d bytes at entry %d, expected brokers, topics and nothing after them", len(data), img.Index)
	}
	for id, b := range img.Brokers {
		if b.ID != id {
			return nil, fmt.Errorf("metadata: snapshot with broker %d under the id %d", b.ID, id)
		}
	}
	for name, t := range img.Topics {
		if err := t.check(name); err != nil {
			return nil, fmt.Errorf("metadata: snapshot with topic %q: %w", name, err)
		}
		if twin := img.Names[t.ID]; twin != "" {
			return nil, fmt.Errorf("metadata: snapshot with topics %q and %q of one id %x", min(name, twin), max(name, twin), t.ID)
		}
		img.Names[t.ID] = name
	}
	return img, nil
}

// check says what no topic in an image is.
func (t *Topic) check(name string) error {
	switch {
	case t == nil:
		return errors.New("without a description, expected one")
	case t.Name != name || name == "" || t.Configs == nil:
		return fmt.Errorf("named %q, with configuration %v, expected the same name and a configuration", t.Name, t.Configs)
	}
	for i, p := range t.Partitions {
		if len(p.Replicas) == 0 {
			return fmt.Errorf("partition %d without replicas, expected one at least", i)
		}
	}
	return nil
}

// AllPartitions lists the partitions of the image, in order.
func (img *Image) AllPartitions() []kafka.TopicPartition {
	var out []kafka.TopicPartition
	for _, name := range img.TopicNames() {
		out = append(out, img.Topics[name].all()...)
	}
	return out
}
