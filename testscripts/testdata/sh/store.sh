# What the scenarios that kill have in common: a store myapp, mounted at myapp, and of
# each checkpoint that is known to be committed, in hashes/vN the hash of its tree and
# in sums/vN that of its bands.

export AGENTFS_STORE=myapp
FAULT=${FAULT-} STEP=${STEP-} STATUS=${STATUS-} SAID=${SAID:-/dev/null}
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
	echo "after $FAULT at $STEP, status $STATUS: $*" >&2
	exit 1
}

# What CHECK has to hold OP to: with status 0 it has done it, whatever failed in it.
# Else, unless it was killed and could not speak, it has changed nothing or says what.
did() { test "$STATUS" = 0; }
failed() { test "$STATUS" != 0 && test "$FAULT" != kill; }
says() { grep -q -e "$1" "$SAID"; }

# first runs the first command that comes after OP. What nobody was killed in needs no
# repair, unless OP has said that something is left to do.
first() {
	"$@" 2>first || fail "$*: $(cat first)"
	test "$FAULT" = kill || ! grep -q repaired first || says 'next command\|next init' || fail "unexpected: $(cat first)"
}

# before notes what there is; new tells which checkpoints have come since.
before() { unharmed versions >before; }
new() { versions | grep -vxFf before || true; }

# made: there is one checkpoint more, with the tree of hash; or none, or one that OP names.
made() {
	new >new
	if did; then
		test "$(wc -l <new)" = 1 || fail "made was $(cat new)"
		aside "$(cat new)" | cmp -s - hash || fail "$(cat new) has another tree"
	elif failed && test -s new; then
		says "$(cat new)" || fail "$(cat new) was made, and nobody says so"
	fi
}

# aside hashes a checkpoint's tree.
aside() { bundlectl attach --bundle "$dir/myapp.sparsebundle" --checkpoint "$dir/checkpoints/$1" -- treehash '{}'; }

# nothing: there is no store, as the file list has it, and nothing of one.
nothing() {
	test ! -e myapp && test ! -e "$dir" || fail "something is left"
	jq -e 'length == 0' list >/dev/null || fail "it is in the list"
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
	v=$(first agentfs checkpoint create --json | jq -re .version)
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
		STEP='' FAULT='' STATUS='' SAID=/dev/null
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
	test "$(cd "$dir" && echo *)" = "checkpoints myapp.sparsebundle store.json" || fail "$(ls "$dir")"
	test "$(cd "$dir/myapp.sparsebundle" && echo *)" = "Info.bckup Info.plist bands token" || fail "$(ls "$dir"/*.sparsebundle)"
	{
		versions
		echo .spare
		echo latest
	} | sort >want
	ls -A "$dir/checkpoints" | grep -vxFf want >stray && fail "left in checkpoints: $(cat stray)"
	test "$(readlink "$dir/checkpoints/latest")" = "$(versions | head -1)" || fail "latest is $(readlink "$dir/checkpoints/latest")"
}
