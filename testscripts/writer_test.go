//go:build linux

package testscripts

import (
	"fmt"
	"log"
	"os"
)

// writerMain is writer FILE COUNT: appends a block to FILE, syncs it, writes the
// number of blocks that are safe to COUNT, and so on. An error ends it with status
// 1, and says so.
func writerMain() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: writer FILE COUNT")
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		log.Fatalf("writer: %v", err)
	}
}

func write(path, count string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	block := make([]byte, 4096)
	for n := 1; ; n++ {
		copy(block, fmt.Sprintf("block %d\n", n))
		if _, err := f.Write(block); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		if err := os.WriteFile(count+".new", fmt.Appendln(nil, n), 0o600); err != nil {
			return err
		}
		if err := os.Rename(count+".new", count); err != nil {
			return err
		}
	}
}
