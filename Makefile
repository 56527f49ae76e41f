# SPDX-License-Identifier: Apache-2.0
#
# make          build into build/ (after installing what is missing)
# make test     build and run all tests, plain and under the sanitizers; the last line is their sum
# make demo     a walk through on a simulated node
# make bench    the planner's figures, each beside its floor; takes minutes
# make deb      a Debian package in build-deb/
# make lint     the rules of the house
# make format   lay out all C files as .clang-format says

.PHONY: all deps build test demo bench deb lint format clean

all: build

deps:
	@scripts/install-deps

build: deps
	@test -f build/build.ninja || meson setup build
	@ninja -C build

test: deps
	@scripts/run-tests

demo: build
	@scripts/demo

bench: build
	@build/bench/planner

deb: deps
	@scripts/build-deb

lint: deps
	@failed=0; for lint in scripts/lint-*; do \
		$$lint; status=$$?; \
		if [ $$status -ne 0 ] && [ $$status -ne 77 ]; then echo "$$lint: failed"; failed=1; fi; \
	done; exit $$failed

format: deps
	@git ls-files -z -co --exclude-standard '*.c' '*.h' | xargs -0 -r "$$(command -v clang-format-14 || command -v clang-format)" -i

clean:
	rm -rf build build-asan build-deb
