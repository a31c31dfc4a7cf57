# What the scenarios that damage bands have in common.

export AGENTFS_STORE=myapp LC_ALL=C
dir=$HOME/.agentfs/stores/myapp

# make makes the store: files with their names in them, in two directories, so that the
# bands can be asked which files they hold; and checkpoints v1 to v3.
make() {
	agentfs init myapp --size 256M >/dev/null
	mkdir myapp/src myapp/big
	for n in $(seq 100 399); do
		{
			echo "this is src/f$n:"
			head -c 6000 /dev/urandom
		} >myapp/src/f$n
	done
	{
		echo "this is big/blob:"
		head -c 5000000 /dev/urandom
	} >myapp/big/blob
	agentfs checkpoint create one
	head -c 1000 /dev/urandom | dd of=myapp/src/f150 bs=1000 seek=3 conv=notrunc status=none
	agentfs checkpoint create two
	echo three >myapp/three
	agentfs checkpoint create three
	bandclone sum "$dir"/checkpoints/v1 "$dir"/checkpoints/v2 "$dir"/checkpoints/v3
} >/dev/null

# band VERSION TEXT gives the band of a version that has the text.
band() { (cd "$dir/checkpoints/$1" && grep -laF "$2" -- $(bands)) | head -1; }

# bands gives the names of the bands in this directory.
bands() { ls | grep -x '[0-9a-f]*'; }

# at BAND TEXT gives where it has it.
at() { grep -obaF "$2" "$1" | head -1 | cut -d: -f1; }

# flip FILE OFFSET changes one bit.
flip() {
	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	printf "\\$(printf %o $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# truth VERSION BAND gives the files whose beginning is in the band.
truth() { grep -oaE 'this is [a-z]+/[a-z0-9]+[:,]' "$dir/checkpoints/$1/$2" | tr -d ':,' | cut -d' ' -f3 | sort -u; }
