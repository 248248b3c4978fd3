package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Range is the versions of one API key: those that are served, and those that ApiVersions tells clients of.
type Range struct {
	Key        int16
	Min, Max   int16 // served
	From, To   int16 // advertised
	Advertised bool  // false: between brokers only
}

// ranges lists every API key there is. Produce is advertised from 0, though 0–2 are not served: librdkafka before 2.11.1 otherwise
// sends uncompressed. Clients are told of Produce up to 9 and of Fetch up to 12, before topic ids; brokers use 17 of Fetch.
var ranges = []Range{
	client(kmsg.Produce, 3, 13, 0, 9),
	client(kmsg.Fetch, 4, 17, 4, 12),
	client(kmsg.ListOffsets, 1, 7, 1, 7),
	client(kmsg.Metadata, 0, 12, 0, 12),
	client(kmsg.ApiVersions, 0, 4, 0, 4),
	client(kmsg.CreateTopics, 2, 7, 2, 7),
	client(kmsg.DeleteTopics, 1, 6, 1, 6),
	client(kmsg.InitProducerID, 0, 4, 0, 4),
	client(kmsg.DeleteRecords, 0, 2, 0, 2),
	client(kmsg.OffsetForLeaderEpoch, 2, 4, 2, 4),
	client(kmsg.DescribeConfigs, 1, 4, 1, 4),
	client(kmsg.ElectLeaders, 0, 2, 0, 2),
	client(kmsg.AlterPartitionAssignments, 0, 0, 0, 0),
	client(kmsg.ListPartitionReassignments, 0, 0, 0, 0),
	client(kmsg.DescribeCluster, 0, 1, 0, 1),
	client(kmsg.AddRaftVoter, 0, 0, 0, 0),
	client(kmsg.RemoveRaftVoter, 0, 0, 0, 0),
	{Key: int16(kmsg.AllocateProducerIDs), Min: 0, Max: 0},
	{Key: int16(kmsg.AlterPartition), Min: 2, Max: 3},
	{Key: int16(kmsg.BrokerRegistration), Min: 0, Max: 4},
	{Key: int16(kmsg.BrokerHeartbeat), Min: 0, Max: 1},
}

func client(key kmsg.Key, low, high, from, to int16) Range {
	return Range{Key: int16(key), Min: low, Max: high, From: from, To: to, Advertised: true}
}

// Served is the range of an API key; false where it is not served at all.
func Served(key int16) (Range, bool) {
	for _, r := range ranges {
		if r.Key == key {
			return r, true
		}
	}
	return Range{}, false
}

// ApiVersions is the answer to ApiVersions in that version; an unknown version gets a version 0 body with
// UNSUPPORTED_VERSION and the range of key 18, from which clients step down (KIP-511).
func ApiVersions(version int16) *kmsg.ApiVersionsResponse {
	resp := kmsg.NewPtrApiVersionsResponse()
	own, _ := Served(int16(kmsg.ApiVersions))
	if version < own.Min || version > own.Max {
		resp.ErrorCode = 35
		resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{apiKey(own)}
		return resp
	}
	resp.Version = version
	for _, r := range ranges {
		if r.Advertised {
			resp.ApiKeys = append(resp.ApiKeys, apiKey(r))
		}
	}
	return resp
}

func apiKey(r Range) kmsg.ApiVersionsResponseApiKey {
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MinVersion, k.MaxVersion = r.Key, r.From, r.To
	return k
}
