//go:build linux

package testscripts

import (
	"log"
	"os"

	"agentfs.internal/testscripts/bandread"
)

// bandreadMain is bandread BUNDLE: writes the image to standard output.
func bandreadMain() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: bandread BUNDLE")
	}
	if err := bandread.Image(os.Args[1], os.Stdout); err != nil {
		log.Fatalf("bandread: %v", err)
	}
}
