# make demo: builds, and shows a checkpoint and a restore of a real tree.
# make test: installs what the tests need, and passes them.
# make crash: opens thousands of crash states of stores, CRASH_STATES=N of them.
SHELL := bash
export PATH := $(PATH):/usr/local/go/bin

modules := $(patsubst %/go.mod,%,$(wildcard */go.mod))
mains   := $(patsubst %/main.go,%,$(wildcard */main.go))
tools   := $(patsubst hooks,agentfs-hook,$(mains))
version := $(shell git describe --always --dirty 2>/dev/null || echo devel)
# All static, without cgo but for SQLite: a static binary starts up to a
# millisecond sooner, and a checkpoint starts five.
tags    := netgo,osusergo,sqlite_omit_load_extension
static  := $(if $(filter Linux,$(shell uname)),-extldflags -static)
goflags := -trimpath -buildvcs=false -tags $(tags) \
	-ldflags '-s -w $(static) -X agentfs.internal/tool/command.Version=$(version)'

PREFIX ?= /usr/local

build: needs
	@mkdir -p bin
	@for main in $(mains); do \
		go build $(goflags) -o bin/$${main/#hooks/agentfs-hook} ./$$main || exit; \
	done

demo: build
	@scripts/demo

test: deps build lint unit fuzz scenarios crash-sample

lint: needs
	@scripts/lint $(modules)

unit: needs
	@scripts/unit $(filter-out testscripts,$(modules))

fuzz: needs
	@scripts/fuzz

scenarios: build
	@scripts/scenarios

crash: build
	@scripts/crash
	@scripts/faults

hostile: build
	@scripts/hostile

crash-sample: build
	@scripts/gotest ./testscripts/crash/...
	@CRASH_STATES=60 scripts/crash

bench: build
	@scripts/deps git rsync mkfs.xfs mkfs.btrfs
	@scripts/bench

install: build
	install -d $(DESTDIR)$(PREFIX)/bin
	install $(addprefix bin/,$(tools)) $(DESTDIR)$(PREFIX)/bin

clean:
	rm -rf bin

# What building and running need, and what the tests need on top of it.
needs:
	@scripts/deps go gcc mkfs.ext4

deps:
	@scripts/deps go gcc git jq patch ps python3 zstd mkfs.ext4 mkfs.xfs mkfs.btrfs

.PHONY: build demo test lint unit fuzz scenarios crash crash-sample hostile bench install clean needs deps
