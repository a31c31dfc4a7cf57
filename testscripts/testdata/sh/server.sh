# What scenarios need that kill the band server of the store myapp, with store.sh.

bundle=$dir/myapp.sparsebundle

# info gives a key of the bundle's record, and fails where it is not there.
info() { bundlectl info "$bundle" | jq -re ".image.$1 // empty"; }

# standing waits until a standby waits behind a living server.
standing() {
	for i in $(seq 100); do
		info standby_pid >/dev/null && return
		sleep 0.05
	done
	fail "no standby"
}

# kill_server kills the one that serves.
kill_server() {
	standing
	kill -9 "$(info server_pid)"
}

# synced: each of the blocks that writer has counted is in its file.
synced() {
	n=$(cat count)
	test "$n" -ge "$1" || fail "only $n blocks were written"
	test "$(stat -c %s myapp/log)" -ge $((n * 4096)) || fail "the file is shorter than $n blocks"
	tr '\000' '\n' <myapp/log | grep '^block' | head -"$n" | awk '$2 != NR { exit 1 }' || fail "a block is wrong"
	test "$(tr '\000' '\n' <myapp/log | grep -c '^block')" -ge "$n" || fail "a block is missing"
}

# checked: the image of the store, which is closed, has no fault.
checked() {
	bandread "$bundle" >image
	e2fsck -fn image >said 2>&1 || fail "e2fsck: $(cat said)"
	rm image
}

# gone: nothing is left of the server and its standby.
gone() {
	ls /run/agentfs | grep -q "$(printf '%s-%x' $(stat -c '%D %i' "$bundle"))" && fail "left in /run/agentfs: $(ls /run/agentfs)"
	grep -slF "$bundle" /proc/[0-9]*/cmdline | grep -v "/$$/" >left || return 0
	for i in $(seq 20); do # a process that was killed needs a moment
		grep -slF "$bundle" $(cat left) >/dev/null || return 0
		sleep 0.05
	done
	fail "left: $(cat left)"
}
