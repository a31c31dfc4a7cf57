//go:build linux

package testscripts

import (
	"flag"
	"fmt"
	"log"
	"strings"

	"agentfs.internal/testscripts/treehash"
)

// treehashMain is treehash [-l] DIR: prints the hash of everything in DIR that a
// restore must bring back, with -l the lines that are hashed.
func treehashMain() {
	log.SetFlags(0)
	list := flag.Bool("l", false, "print the lines")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: treehash [-l] DIR")
	}
	var text string
	var err error
	if *list {
		var lines []string
		lines, err = treehash.Lines(flag.Arg(0))
		text = strings.Join(lines, "")
	} else {
		text, err = treehash.Sum(flag.Arg(0))
		text += "\n"
	}
	if err != nil {
		log.Fatalf("treehash: %v", err)
	}
	fmt.Print(text)
}
