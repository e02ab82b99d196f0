# SPDX-License-Identifier: Apache-2.0
# make demo    set up, build what runs a command in a sandbox, and run some
# make check   set up, build, and run the tests: every feature and every defence once, in eight minutes on two cores
# make check-all  all tests there are, also with sanitizers and valgrind, every step of each crash, browsers: 40 minutes
# make sanitize  all tests with sanitizers but a few that tests/support/tiers.py names, and with nothing else: an hour or two
#              TEST_OPTIONS="--shuffle" and others of `tools/test --help`; tools/test SUITE:CASE runs a single test
# make programs  install programs of every kind, and run each outside and inside (as root): docs/programs.md
# make bench   set up, build, and measure against bubblewrap, posix_spawn, tar, cat, pasta and slirp4netns; REST=600: a user rests for so many seconds
# make deb     set up, and build the Debian packages into build/deb
# make guest   the packages and the system tests in emulated machines: Debian 12 with AppArmor, and with SELinux (as root)
# make fuzz    see tests/fuzz
# make prove   prove with Frama-C what docs/security-tests.md lists: six minutes of processor time
# Each does its own set-up on a fresh Debian 12; a second run finds it done. Packages that are missing take root, nothing else of
# demo and check does.

BUILD ?= build
SANITIZED ?= build-asan
MESON_OPTIONS ?=
TEST_OPTIONS ?=

# Of each measurement how many, and seconds before the one that comes after a rest.
COUNT ?= 200
REST ?= 30

GUEST_LSMS ?= apparmor selinux

.PHONY: demo check check-all check-changed sanitize programs bench deb guest fuzz prove build executables configured setup clean

setup:
	@tools/install-packages build

configured: setup
	@test -f $(BUILD)/build.ninja || { echo "Setting up $(BUILD) (meson) …"; \
	meson setup $(BUILD) --buildtype=debugoptimized $(MESON_OPTIONS) >$(BUILD).setup.log 2>&1 || { cat $(BUILD).setup.log; exit 1; }; }
	@rm -f $(BUILD).setup.log

build: configured
	@tools/build $(BUILD)

executables: configured
	@tools/build $(BUILD) executables

# Before anything is built: root would leave files of root's in somebody else's checkout.
demo:
	@tools/check-owner $(BUILD)
	@$(MAKE) --no-print-directory executables
	@tools/demo $(BUILD)

check: build
	@tools/install-packages test
	@tools/check check $(BUILD) $(SANITIZED) $(TEST_OPTIONS)

check-all: build
	@tools/install-packages test
	@tools/check all $(BUILD) $(SANITIZED) $(TEST_OPTIONS)

# Of check-all beyond check what a landing can have affected: for CI.
check-changed: build
	@tools/install-packages test
	@tools/check changed $(BUILD) $(SANITIZED) $(TEST_OPTIONS)

sanitize: build
	@tools/install-packages test
	@tools/check sanitize $(BUILD) $(SANITIZED) $(TEST_OPTIONS)

programs: build
	@tools/install-packages programs
	@YETT_BUILD_ROOT=$(abspath $(BUILD)) tests/programs/run.py --log $(BUILD)/programs.json; status=$$?; \
	tools/count-results $(BUILD)/programs.json && exit $$status

bench: build
	@tools/install-packages bench
	@tests/bench/run $(BUILD) $(COUNT) $(REST)

deb:
	@tools/install-packages deb
	@tools/make-deb $(BUILD)

guest: build
	@tools/install-packages guest
	@tests/guest/build $(or $(YETT_GUEST_CACHE),$(BUILD)/guest) >/dev/null & tools/make-deb $(BUILD); status=$$?; wait; exit $$status
	@tests/guest/run $(BUILD) $(GUEST_LSMS); status=$$?; \
	tests/guest/layers.py $(BUILD) $(GUEST_LSMS) || status=1; \
	tools/count-results $(GUEST_LSMS:%=$(BUILD)/guest/%/testlog.json) $(BUILD)/guest/layers/testlog.json && exit $$status

fuzz: build
	@tests/fuzz/run

prove:
	@tools/install-packages prove
	@tests/prove/run.py

clean:
	rm -rf $(BUILD) $(SANITIZED)
