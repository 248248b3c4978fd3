package controller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
	"tidemark/broker/refused"
)

// refuseAlter notes an AlterPartition that is to be refused, by the rule that does, with what would come of it (package refused). It changes nothing.
func (v view) refuseAlter(t *metadata.Topic, p metadata.Partition, sender kafka.BrokerID, req kmsg.AlterPartitionRequestTopicPartition, isr []member) {
	if !v.cfg.Refused.Watched() {
		return
	}
	rule := refused.Rule("")
	switch {
	case senderAhead(p, kafka.Epoch(req.LeaderEpoch), req.PartitionEpoch):
		rule = refused.AlterOfLater
	case leaderFenced(p, kafka.Epoch(req.LeaderEpoch)) || sender != p.Leader:
		rule = refused.AlterOfEarlier
	case updateStale(p, req.PartitionEpoch):
		rule = refused.AlterStale
	}
	for _, m := range isr {
		switch {
		case rule != "" || eligible(v.img, p, m):
		case active(v.img, m.id):
			rule = refused.MemberGone
		default:
			rule = refused.MemberInactive
		}
	}
	if rule == "" {
		return
	}
	effect, about := refused.Nothing, refused.About{Partition: kafka.TopicPartition{Topic: t.Name, Index: req.Partition}}
	if len(isr) < len(p.ISR) {
		effect = refused.Left
	}
	for _, m := range isr {
		if !kafka.Contains(p.ISR, m.id) {
			effect = refused.Joined
			about.Brokers = append(about.Brokers, m.id)
		}
	}
	about.Brokers = append(about.Brokers, sender)
	v.cfg.Refused.Note(rule, effect, about)
}

// refuseMarker notes that a broker's word that it was shut down cleanly is not to count, for each partition of which it could have stayed in the ELR.
func (v view) refuseMarker(b kafka.BrokerID) {
	if !v.cfg.Refused.Watched() {
		return
	}
	v.eachPartition(func(t *metadata.Topic, i int, p metadata.Partition) {
		if kafka.Contains(p.ELR, b) {
			about := refused.About{Partition: kafka.TopicPartition{Topic: t.Name, Index: int32(i)}, Brokers: []kafka.BrokerID{b}}
			if p.Leader != kafka.NoBroker {
				about.Brokers = append(about.Brokers, p.Leader)
			}
			v.cfg.Refused.Note(refused.UncleanMarker, refused.Joined, about)
		}
	})
}
