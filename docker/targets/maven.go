package targets

import (
	"fmt"
	"strings"
)

// artifact is what Maven knows a jar by.
type artifact struct{ group, name, version string }

// jars lists what a release's broker is made of, and its dependencies' exceptions: what Java 17 lacks and what logs take.
func (r Release) jars() []artifact {
	const kafka = "org.apache.kafka"
	if r.before(scala213) {
		all := []artifact{{kafka, "kafka_2.11", r.text}, {"javax.xml.bind", "jaxb-api", "2.3.1"}}
		if !r.before(mustRelease("2.0.0")) { // ZooKeeper's client 3.4.13 resolves no addresses on Java 14 and newer
			all = append(all, artifact{"org.apache.zookeeper", "zookeeper", "3.4.10"})
		}
		return append(all, artifact{"org.slf4j", "slf4j-log4j12", "1.7.36"}, artifact{"log4j", "log4j", "1.2.17"})
	}
	all := []artifact{{kafka, "kafka_2.13", r.text}, {kafka, "kafka-tools", r.text}}
	if r.before(withoutKeeper) {
		return append(all, artifact{"org.slf4j", "slf4j-reload4j", "1.7.36"})
	}
	return append(all, artifact{"org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3"})
}

// POM is the project whose runtime dependencies are a release's jars, for mvn dependency:copy-dependencies.
func (r Release) POM() string {
	var out strings.Builder
	out.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidemark</groupId><artifactId>target</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
`)
	for _, a := range r.jars() {
		fmt.Fprintf(&out, "    <dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>\n", a.group, a.name, a.version)
	}
	out.WriteString("  </dependencies>\n</project>\n")
	return out.String()
}
