package proxy

import "tidemark/world"

// names are the APIs that plans name, by their keys.
var names = func() map[int16]world.API {
	byKey := map[int16]world.API{}
	for _, api := range world.APIs() {
		if key, ok := api.Key(); ok {
			byKey[key] = api
		}
	}
	// What Apache Kafka's controllers send each other (KIP-595, KIP-630): Vote, BeginQuorumEpoch, EndQuorumEpoch, FetchSnapshot. Here they
	// have an API of their own.
	for _, key := range []int16{52, 53, 54, 59} {
		byKey[key] = world.RaftAPI
	}
	return byKey
}()

// apiOf is the API that plans call a key, "" if they know none: at a controller's port a Fetch is the quorum's, as Apache Kafka's controllers
// replicate their log by it, too.
func apiOf(key int16, quorum bool) world.API {
	api := names[key]
	if api == world.Fetch && quorum {
		return world.RaftAPI
	}
	return api
}
