package main

import (
	"context"
	"math/rand/v2"
	"os"
)

const block = 4 << 10

// syncEach is how many random writes lie between two fsyncs: a database's commit.
const syncEach = 8

// writing measures writes that must reach the disk.
func (b *bench) writing(ctx context.Context, places []place) error {
	if b.wanted("random", "sealed") {
		for _, p := range places {
			if p.absent != "" {
				continue
			}
			if err := sequential(ctx, p.path("random"), b.size.random); err != nil {
				return err
			}
		}
	}
	for _, s := range []subject{b.random(places), b.sealed(places), b.appending(places), b.streaming(places)} {
		if err := b.race(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) random(places []place) subject {
	return everywhere(subject{
		key: "random", title: "Random 4 KiB writes, fsync after every 8", unit: inSeconds,
		amount: float64(b.size.written / block), rate: "writes/s",
	}, places, func(p place) candidate { return candidate{measure: b.scatter(p)} })
}

// sealed: right after a checkpoint, when the first write to each band copies it.
func (b *bench) sealed(places []place) subject {
	s := b.random(places)
	s.key, s.title = "sealed", s.title+", right after a checkpoint"
	mount := &s.candidates[0]
	mount.reset = func(ctx context.Context, _ int) error {
		return places[0].store.do("checkpoint", "create", "bench").run(ctx)
	}
	return s
}

// scatter writes blocks all over a file; in each run the same ones everywhere.
func (b *bench) scatter(p place) sample {
	return timed(func(ctx context.Context, n int) error {
		f, err := os.OpenFile(p.path("random"), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		rnd, data := rand.New(rand.NewPCG(uint64(n), 3)), filled(block)
		for i := range b.size.written / block {
			if _, err := f.WriteAt(data, rnd.Int64N(b.size.random/block)*block); err != nil {
				return err
			}
			if i%syncEach != syncEach-1 {
				continue
			}
			if err := firstOf(f.Sync(), ctx.Err()); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *bench) appending(places []place) subject {
	return everywhere(subject{
		key: "append", title: "Append 4 KiB, fsync after each", unit: inSeconds, amount: float64(b.size.appends), rate: "appends/s",
	}, places, func(p place) candidate {
		return candidate{measure: timed(func(ctx context.Context, _ int) error { return b.grow(ctx, p.path("log")) })}
	})
}

func (b *bench) grow(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	data := filled(block)
	for range b.size.appends {
		if _, err := f.Write(data); err != nil {
			return err
		}
		if err := firstOf(f.Sync(), ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) streaming(places []place) subject {
	return everywhere(subject{
		key: "sequential", title: "Sequential write and fsync", unit: inSeconds, amount: float64(b.size.sequential) / 1e6, rate: "MB/s",
	}, places, func(p place) candidate {
		path := p.path("large")
		return candidate{
			reset:   func(context.Context, int) error { return os.RemoveAll(path) },
			measure: timed(func(ctx context.Context, _ int) error { return sequential(ctx, path, b.size.sequential) }),
		}
	})
}

// sequential writes a new file from its beginning to its end, and syncs it.
func sequential(ctx context.Context, path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	data := filled(1 << 20)
	for range size / int64(len(data)) {
		if _, err := f.Write(data); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return f.Sync()
}

// filled: zeros could be stored as holes somewhere on the way.
func filled(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i*31 + i>>8 + 1)
	}
	return data
}
