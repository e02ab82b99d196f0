# make demo    set up, build, and run one command in a sandbox
# make check   set up, build, and run all tests
# make bench   set up, build, and measure against bubblewrap
# make guest, fuzz: see tests/
# Each does its own set-up on a fresh Debian 12; a second run finds it done.

BUILD ?= build
SANITIZED ?= build-asan
MESON_OPTIONS ?=

.PHONY: demo check bench fuzz build setup clean

setup:
	@tools/install-packages build

build: setup
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --buildtype=debugoptimized $(MESON_OPTIONS) >$(BUILD).setup.log 2>&1 || { cat $(BUILD).setup.log; exit 1; }
	@rm -f $(BUILD).setup.log
	@ninja -C $(BUILD) --quiet

demo: build
	@tools/demo $(BUILD)

check: build
	@tools/install-packages test
	@tools/check $(BUILD) $(SANITIZED)

bench: build
	@tools/install-packages bench
	@tests/bench/run $(BUILD)

fuzz: build
	@tests/fuzz/run

clean:
	rm -rf $(BUILD) $(SANITIZED)
