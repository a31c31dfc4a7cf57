# What the scenarios that kill have in common: a store myapp, mounted at myapp, and of
# each checkpoint that is known to be committed, in hashes/vN the hash of its tree and
# in sums/vN that of its bands.

export AGENTFS_STORE=myapp
dir=$HOME/.agentfs/stores/myapp

# A script has ended when what it left in the background has: a step there is
# reached, or its tool killed, like any other.
trap ended EXIT
ended() {
	for lock in "$dir" "$dir/.sync"; do
		test ! -e "$lock" || flock "$lock" true
	done
}

fail() {
	echo "after death at $STEP: $*" >&2
	exit 1
}

# start makes the store with a tree and two checkpoints.
start() {
	rm -rf hashes sums
	mkdir -p hashes sums "$HOME/.agentfs"
	# More checkpoints are made than are kept by themselves, and all are compared.
	test -e "$HOME/.agentfs/config.toml" || printf '[checkpoints]\nauto_prune = false\n' >"$HOME/.agentfs/config.toml"
	agentfs init myapp --size 256M >/dev/null
	mktree -packages 5 myapp
	save
	mktree -change 1 myapp
	save
}

# edit makes the tree differ from all before.
edit() {
	date +%s%N >>myapp/edited
	head -c 20000 /dev/urandom >myapp/random
	treehash myapp >hash
}

# save makes a checkpoint and notes its hash.
save() {
	treehash myapp >hash
	v=$(agentfs checkpoint create --json | jq -re .version)
	test ! -e "hashes/$v" || fail "$v is used again"
	cp hash "hashes/$v"
	sum "$v" >"sums/$v"
}

sum() { (cd "$dir/checkpoints/$1" && cat -- [0-9a-f]* | sha256sum); }

# unharmed runs a command that nobody is to be killed in.
unharmed() {
	(
		AGENTFS_CRASH_AT=
		AGENTFS_CRASH_STEPS=
		"$@"
	)
}

versions() { agentfs checkpoint list --json | jq -r '.[].version'; }

# kept: no committed checkpoint is lost.
kept() {
	versions >list
	for known in $(ls hashes); do
		grep -qx "$known" list || fail "$known is lost"
	done
}

# back restores a version and compares.
back() {
	agentfs restore "$1" -f >/dev/null || fail "restore $1"
	treehash myapp | cmp -s - "hashes/$1" || fail "$1 has another tree"
}

# all_back: the bands of all that is known are as they were, and every seventh is
# restored.
all_back() {
	n=0
	for v in $(ls sums); do
		sum "$v" | cmp -s - "sums/$v" || fail "the bands of $v have changed"
		n=$((n + 1))
		test $((n % 7)) != 1 || back "$v"
	done
}

# whole: database and folders agree, and nothing half-made lies about. Whoever still
# works in the background is waited for.
whole() {
	flock "$dir" true
	cpdb check >problems || fail "cpdb check: $(cat problems)"
	test "$(cpdb checkpoint list --store myapp --all | jq -r .checkpoint.status | grep -v pruned | sort -u)" = ready || fail "half a checkpoint in the database"
	test "$(cd "$dir" && echo *)" = "checkpoints myapp.sparsebundle" || fail "$(ls "$dir")"
	test "$(cd "$dir/myapp.sparsebundle" && echo *)" = "Info.bckup Info.plist bands token" || fail "$(ls "$dir"/*.sparsebundle)"
	{
		versions
		echo .spare
		echo latest
	} | sort >want
	ls -A "$dir/checkpoints" | grep -vxFf want >stray && fail "left in checkpoints: $(cat stray)"
	test "$(readlink "$dir/checkpoints/latest")" = "$(versions | head -1)" || fail "latest is $(readlink "$dir/checkpoints/latest")"
}
