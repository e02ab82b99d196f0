# make demo    set up, build what runs a command in a sandbox, and run some
# make check   set up, build, and run all tests; unit tests and some of the others with sanitizers, too
# make sanitize  all tests with sanitizers but a few that tools/check names, and with nothing else: an hour or two
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

# Of each measurement how many, and seconds before the one that comes after a rest.
COUNT ?= 200
REST ?= 30

GUEST_LSMS ?= apparmor selinux

.PHONY: demo check sanitize programs bench deb guest fuzz prove build executables configured setup clean

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
	@tools/check $(BUILD) $(SANITIZED)

sanitize: setup
	@tools/install-packages test
	@tools/check --sanitize $(SANITIZED)

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
	@tools/make-deb $(BUILD)
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
