//go:build linux

package testscripts

import (
	"fmt"
	"log"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// exchangerMain is exchanger A B: exchanges two names as fast as it can until it is
// interrupted, and then prints how often it has.
func exchangerMain() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: exchanger A B")
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	for n := 0; ; {
		select {
		case <-stop:
			fmt.Println(n)
			return
		default:
		}
		// Whoever works on the tree may have taken one of them away for a moment.
		if unix.Renameat2(unix.AT_FDCWD, os.Args[1], unix.AT_FDCWD, os.Args[2], unix.RENAME_EXCHANGE) == nil {
			n++
		}
	}
}
