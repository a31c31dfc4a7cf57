package main

const rsyncBack = "rsync -a --delete from a copy on the host"

// inPlace takes the changes back without unmounting.
func (b *bench) inPlace(d *desk) subject {
	copyBack := program{args: []string{"rsync", "-a", "--delete", d.beside + "/", d.store.mount}}
	return subject{
		key: "inplace", title: "Restore in place: " + d.title, unit: inSeconds, bases: []string{ours},
		candidates: []candidate{
			d.takingBack(ours, d.store.do("restore", "v1", "-f", "--in-place")),
			needing("rsync", d.takingBack(rsyncBack, copyBack)),
		},
	}
}

// remounting takes them back by unmounting, where the kernel has to forget all
// inodes that it has in its cache.
func (b *bench) remounting(d *desk) subject {
	return subject{
		key: "remount", title: "Restore by remount: " + d.title, unit: inSeconds,
		candidates: []candidate{d.takingBack(ours, d.store.do("restore", "v1", "-f", "--remount"))},
	}
}
