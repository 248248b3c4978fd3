// Command tidemark finds the schedule of faults under which a Kafka-style replicated log breaks its word.
package main

func main() {}
