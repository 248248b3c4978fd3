package targets

import (
	"fmt"
	"strings"
)

// A ZooKeeper's file of properties, its data, and the class that runs it.
const (
	keeperFile = ConfigPath + "/zookeeper.properties"
	keeperMain = "org.apache.zookeeper.server.quorum.QuorumPeerMain " + keeperFile
)

// keeperFiles are what a ZooKeeper is told: it stands alone.
func (k kafka) keeperFiles() map[string]string {
	return map[string]string{
		keeperFile:  fmt.Sprintf("dataDir=%s\nclientPort=%d\nmaxClientCnxns=0\ntickTime=500\nminSessionTimeout=1000\nadmin.enableServer=false\n", DataPath, KeeperPort),
		loggingFile: k.logging(),
	}
}

// KeeperProcess is what runs in the container of a ZooKeeper.
func (t Target) KeeperProcess() Process {
	k := kafka{release: t.Release, keeper: true}
	return Process{
		Command: []string{"/bin/sh", "-c", classpath + "exec " + javaPath + " " + strings.Join(k.javaOptions(), " ") + ` -cp "$jars" ` + keeperMain + "\n"},
		Files:   k.keeperFiles(),
	}
}
