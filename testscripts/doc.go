// Package testscripts holds the scenarios: testdata/*.txtar, one file a subject,
// one phase a promise. They run the real binaries on real mounts and are the
// specification of what agentfs does.
//
//	make scenarios                                      all of them
//	scripts/scenarios restore                           one of them
//	UPDATE_SCENARIOS=1 scripts/scenarios usage          takes the texts as they are now
//
// Each scenario has a home directory of its own and must leave nothing behind: no
// mount, loop device, band server, nor anything in /run/agentfs. Where it does, it
// fails, and what was left is taken down.
//
// Beside the commands of package scenario they use
//
//	shows FILE
//		Wants standard output to be the text of FILE, where times and
//		durations may differ.
//	killed-at-each-step OP CHECK [ONLY]
//		Runs the shell script OP for each fault point that it comes to, to be
//		killed there, or to have a call fail there, and after each of these faults
//		the script CHECK. FAULTS="kill EIO ENOSPC EMFILE EINTR" in the environment
//		takes all faults at all points; otherwise it is a death at each of them and
//		an error at some.
//	usage TOOL
//		Prints -h of the tool and of each verb below it.
//
// and the programs, which shell scripts can run too
//
//	mktree [-change N] DIR   a tree as projects have them; changes all of it
//	treehash [-l] DIR        the hash of everything in it; -l: line by line
//	writer FILE COUNT        appends and syncs until it is killed, counting
//	bandread BUNDLE          writes the image, by a reader of its own
//
// $SH is testdata/sh, with what shell scripts share.
//
// The condition [mount] holds where bundles can be mounted, [resend] where a band server
// that dies can be replaced, [xfs], [btrfs] and [memcg] where these can be used. On CI
// all of them must hold.
package testscripts
