package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"tidemark/broker/config"
	"tidemark/broker/disk"
)

// lockFile keeps two brokers out of one directory, as in Kafka.
const lockFile = ".lock"

// metadataDir is the directory of the controller's log, which metadata.log.dir moves to another volume.
const metadataDir = "__cluster_metadata-0"

// store is a broker's directories, locked.
type store struct {
	fs    disk.FS
	locks []*os.File
}

// openStore makes and locks the directories of a configuration.
func openStore(cfg config.Shell) (*store, error) {
	if cfg.LogDir == "" {
		return nil, errors.New("log.dirs is missing, expected the directory of the broker's data")
	}
	st := &store{}
	err := st.open(cfg)
	if err != nil {
		return nil, errors.Join(err, st.close())
	}
	return st, nil
}

func (st *store) open(cfg config.Shell) error {
	var err error
	if st.fs, err = st.root("log.dirs", cfg.LogDir); err != nil {
		return err
	}
	if cfg.MetadataLogDir == "" || filepath.Clean(cfg.MetadataLogDir) == filepath.Clean(cfg.LogDir) {
		return nil
	}
	other, err := st.root("metadata.log.dir", cfg.MetadataLogDir)
	if err != nil {
		return err
	}
	st.fs = disk.Split(st.fs, other, metadataDir)
	return nil
}

func (st *store) root(key, dir string) (disk.FS, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	st.locks = append(st.locks, lock)
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("%s: %s is in use by another broker (%w)", key, dir, err)
	}
	fsys, err := disk.OS(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return fsys, nil
}

// close releases the directories.
func (st *store) close() error {
	var errs []error
	if st.fs != nil {
		errs = append(errs, disk.Close(st.fs))
	}
	for _, lock := range st.locks {
		errs = append(errs, lock.Close())
	}
	return errors.Join(errs...)
}
