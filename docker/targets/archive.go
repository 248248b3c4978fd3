package targets

import (
	"maps"
	"strings"
)

// Archiving is a process that writes the archives of classes of a release, and what formatting leaves in the directory of a controller log, by
// starting one broker and stopping it: for an image that lacks them.
func (r Release) Archiving() Process {
	t := apacheKafka(r, r.before(kraft))
	k := kafka{release: r, keeper: t.Keeper}
	alone := Node{ID: 1, Address: "127.0.0.1", Published: "127.0.0.1:9999", Voter: true}
	site := Site{Cluster: "AAAAAAAAAAAAAAAAAAAAAA", Nodes: []Node{alone}, Keeper: alone.Address, ELR: t.ELR, Settings: t.Quick}
	p := Process{Files: map[string]string{propertiesFile: k.properties(site, alone), loggingFile: k.logging()}}
	java := javaPath + " " + strings.Join(k.javaOptions(), " ")
	var out strings.Builder
	out.WriteString(classpath)
	out.WriteString(java + " -Xshare:dump\n")
	if k.keeper {
		maps.Copy(p.Files, k.keeperFiles())
		out.WriteString(java + ` -cp "$jars" ` + keeperMain + " &\n")
	} else {
		out.WriteString(java + ` -cp "$jars" ` + k.format(site) + "\ntar -cf " + formattedPath + " -C " + MetadataPath + " .\n")
	}
	out.WriteString(java + " -XX:ArchiveClassesAtExit=" + archivePath + ` -cp "$jars" kafka.Kafka ` + propertiesFile + ` > /tmp/said &
broker=$!
until grep -qi "server .*started\\|Server started" /tmp/said; do
	kill -0 $broker || { cat /tmp/said; exit 1; }
	sleep 0.2
done
kill $broker
wait $broker || true
[ -f ` + archivePath + " ]\n")
	p.Command = []string{"/bin/sh", "-c", out.String()}
	return p
}

// Archives lists what Archiving writes.
func (r Release) Archives() []string {
	out := []string{archivePath, strings.TrimSuffix(javaPath, "bin/java") + "lib/server/classes.jsa"}
	if r.Formats() {
		out = append(out, formattedPath)
	}
	return out
}

// Formats reports whether a release's brokers have controller logs, which are formatted before their first start.
func (r Release) Formats() bool { return !r.before(kraft) }
