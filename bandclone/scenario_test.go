package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/tool/scenario"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"bandclone":        main,
		"exchange-renames": exchangeRenames,
		"inode":            inode,
	})
}

func TestScenarios(t *testing.T) { testscript.Run(t, scenario.Params("testdata")) }

// exchangeRenames exchanges the bands of a pending restore, in the bundle that
// is its argument, as on a filesystem that cannot do it in one step.
func exchangeRenames() {
	bundle, err := dir.Open(os.Args[1])
	check(err)
	s, err := readSwap(bundle)
	check(err)
	check(s.exchangeByRenames())
}

// inode prints the inode number of its argument.
func inode() {
	d, err := dir.Open(os.Args[1])
	check(err)
	self, err := d.Self()
	check(err)
	fmt.Print(self.Ino)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
