package main

import "context"

// closing and opening: the whole commands, beside mounting a plain image file.
func (b *bench) closing(w *world) subject {
	return subject{
		key: "close-" + w.key, title: "Close: " + w.title, unit: inSeconds, bases: []string{ours},
		candidates: []candidate{
			{name: ours, reset: w.opened, measure: timedRun(w.store.do("close"))},
			w.plain.on(candidate{name: "umount of a loop-mounted ext4", reset: w.plainOpened, measure: timedRun(program{args: []string{"umount", w.plain.dir}})}),
		},
	}
}

func (b *bench) opening(w *world) subject {
	open := w.store.agentfs("/", "open", w.store.name)
	return subject{
		key: "open-" + w.key, title: "Open: " + w.title, unit: inSeconds, bases: []string{ours},
		candidates: []candidate{
			{name: ours, reset: w.closed, measure: timedRun(open)},
			w.plain.on(candidate{name: "mount of a plain image file by loop", reset: w.plainClosed, measure: timedRun(w.plainMount())}),
		},
	}
}

// opened: mounted, and all inodes in the kernel's cache.
func (w *world) opened(ctx context.Context, _ int) error {
	if !mounted(w.store.mount) {
		if err := w.store.agentfs("/", "open", w.store.name).run(ctx); err != nil {
			return err
		}
	}
	return look(w.store.mount)
}

func (w *world) closed(ctx context.Context, _ int) error {
	if !mounted(w.store.mount) {
		return nil
	}
	return w.store.do("close").run(ctx)
}

func (w *world) plainMount() program {
	return program{args: []string{"mount", "-t", "ext4", "-o", "loop,noatime,discard", w.plain.dir + ".img", w.plain.dir}}
}

func (w *world) plainOpened(ctx context.Context, _ int) error {
	if !mounted(w.plain.dir) {
		if err := w.plainMount().run(ctx); err != nil {
			return err
		}
	}
	return look(w.plain.dir)
}

func (w *world) plainClosed(context.Context, int) error {
	return unmount(w.plain.dir)
}
