//go:build linux

package workload

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// noise is somebody who changes files below a directory all the time and never syncs:
// what becomes of these nobody has promised, but it shall not harm the others.
type noise struct {
	dir    string
	random *rand.Rand
	turn   sync.Mutex // held while a change is made, or by who wants none
}

// startNoise makes noise until pause is called.
func startNoise(dir string, seed uint64) *noise {
	n := &noise{dir: dir, random: rand.New(rand.NewPCG(seed, 3))}
	go n.run()
	return n
}

func (n *noise) run() {
	for {
		n.turn.Lock()
		n.change() // a file that is not there, or a full disk: all the same
		n.turn.Unlock()
		time.Sleep(time.Duration(n.random.IntN(12)) * time.Millisecond)
	}
}

// pause waits for the change that is under way, and holds back the next one.
func (n *noise) pause()  { n.turn.Lock() }
func (n *noise) resume() { n.turn.Unlock() }

func (n *noise) path() string {
	return filepath.Join(n.dir, fmt.Sprintf("d%d/n%d", n.random.IntN(3), n.random.IntN(8)))
}

func (n *noise) change() {
	path := n.path()
	switch n.random.IntN(9) {
	case 0, 1, 2:
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.WriteFile(path, fill(n.random, "", n.random.IntN(30<<10)), 0o644)
	case 3:
		n.overwrite(path)
	case 4:
		_ = os.Truncate(path, n.random.Int64N(40<<10))
	case 5:
		_ = os.Remove(path)
	case 6:
		_ = os.Rename(path, n.path())
	case 7:
		_ = os.Rename(filepath.Dir(path), filepath.Join(n.dir, fmt.Sprintf("d%d", n.random.IntN(3))))
	case 8:
		n.large()
	}
}

// overwrite changes a part of a file in place.
func (n *noise) overwrite(path string) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.WriteAt(fill(n.random, "", 1+n.random.IntN(8<<10)), n.random.Int64N(30<<10))
}

// large writes a file of more than a band, now and then.
func (n *noise) large() {
	if n.random.IntN(6) == 0 {
		_ = os.WriteFile(filepath.Join(n.dir, "large"), fill(n.random, "", 1<<20+n.random.IntN(3<<20)), 0o644)
	}
}
