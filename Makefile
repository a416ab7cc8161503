# Everything that one does with brewlog; `make help` lists it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The Debian packages with the C libraries, and what Swift's linker needs besides.
PACKAGES := libsqlite3-dev libcurl4-openssl-dev libsodium-dev libsystemd-dev libmicrohttpd-dev \
  libqrencode-dev pkg-config python3 python3-venv

# A toolchain on PATH comes first; swift.org's place for Docker images is tried after it.
SWIFT ?= $(shell command -v swift || { [ -x /opt/swift/usr/bin/swift ] && echo /opt/swift/usr/bin/swift; } || echo swift)
# An edge between targets that Package.swift does not name is an error, and so is every warning
# (Package.swift).
BUILD_FLAGS := --explicit-target-dependency-import-check error
SOURCES := Sources Tests Package.swift
# Swift Testing starts all tests at once by default: on two cores each then waits for all others.
TEST_ENVIRONMENT := SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4

.PHONY: help deps build test cases demo format lint clean

help: ## lists the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

deps: ## installs the missing Debian packages
	@missing=(); \
	for package in $(PACKAGES); do \
	  dpkg-query -W -f '$${db:Status-Status}' "$$package" 2>/dev/null | grep -qx installed \
	    || missing+=("$$package"); \
	done; \
	if [ $${#missing[@]} -eq 0 ]; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then \
	  echo "deps: missing: $${missing[*]}; there is no apt-get, so install them by hand" >&2; exit 1; \
	fi; \
	sudo=(); \
	if [ "$$(id -u)" -ne 0 ]; then sudo=(sudo); fi; \
	echo "deps: installing $${missing[*]}"; \
	"$${sudo[@]}" apt-get update -q; \
	"$${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
	  "$${missing[@]}" </dev/null

build: deps ## builds all, for debugging
	$(SWIFT) build $(BUILD_FLAGS)

test: deps ## builds and runs all tests
	$(SWIFT) build --build-tests $(BUILD_FLAGS)
	$(TEST_ENVIRONMENT) $(SWIFT) test --skip-build --disable-xctest

cases: deps ## runs all tests, and lists which of them answer which public report
	$(SWIFT) build --build-tests $(BUILD_FLAGS)
	$(TEST_ENVIRONMENT) $(SWIFT) test --skip-build --disable-xctest >.build/test.log 2>&1 \
	  || { grep -E '^✘' .build/test.log >&2; exit 1; }
	@Tests/Cases/cases.py .build/test.log

demo: build ## a session from sign-in to logout, with an upstream of its own
	@BUILD_DIRECTORY="$$($(SWIFT) build --show-bin-path)" Sources/brewlog-demo-upstream/demo.sh

format: ## puts the source text into form
	$(SWIFT) format format -i -p -r $(SOURCES)

lint: ## looks for what is not in form
	$(SWIFT) format lint --strict -p -r $(SOURCES)

clean: ## removes what was built
	rm -rf .build

# Installing. `make install DESTDIR=/tmp/image PREFIX=/usr` makes an image; without DESTDIR it is this
# host that is installed to. What is built already is not built again.
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
DESTDIR ?=
# The Swift runtime goes into the programs, and the C++ library that only it uses: three thousand
# symbols to look up at each start otherwise. The C libraries stay shared, for their security updates.
# The linker takes the archive where the directory that it looks in first has no shared one.
STATIC_CXX := $(CURDIR)/.build/static-cxx
RELEASE_FLAGS := -c release --static-swift-stdlib --disable-local-rpath -Xlinker -L$(STATIC_CXX) $(BUILD_FLAGS)
CXX_ARCHIVE = $(shell "$$(dirname "$$(readlink -f "$$(command -v $(SWIFT))")")/clang" -print-file-name=libstdc++.a)
PROGRAMS := brewlogd brewlogctl
MANUALS := brewlogd.8 brewlogctl.1 brewlogd.conf.5

.PHONY: static-cxx release manuals install deb systemd-test systemd-quick

static-cxx:
	@mkdir -p $(STATIC_CXX) && ln -sfn "$(CXX_ARCHIVE)" $(STATIC_CXX)/libstdc++.a

release: deps static-cxx ## builds the two programs as they are installed
	for program in $(PROGRAMS); do $(SWIFT) build $(RELEASE_FLAGS) --product "$$program"; done

manuals: ## makes the manual pages, in .build/manuals
	@command -v scdoc >/dev/null || $(MAKE) --no-print-directory deps PACKAGES=scdoc
	@mkdir -p .build/manuals
	@for page in $(MANUALS); do \
	  Sources/Manual/assemble "$$page" | scdoc > ".build/manuals/$$page.new"; \
	  mv ".build/manuals/$$page.new" ".build/manuals/$$page"; \
	done

install: release manuals ## installs programs, units, manuals; DESTDIR= and PREFIX= are heeded
	SWIFT="$(SWIFT)" BUILD="$$($(SWIFT) build $(RELEASE_FLAGS) --show-bin-path)" \
	  DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" SYSCONFDIR="$(SYSCONFDIR)" systemd/install

deb: release manuals ## makes a Debian package, in .build/deb
	@command -v dpkg-shlibdeps >/dev/null || $(MAKE) --no-print-directory deps PACKAGES=dpkg-dev
	MAKE="$(MAKE)" systemd/debian/build .build/deb

systemd-test: deb ## the whole table under systemd 252 and 257; needs root
	$(SWIFT) build $(RELEASE_FLAGS) --product brewlogd-stuck
	STUCK="$$($(SWIFT) build $(RELEASE_FLAGS) --show-bin-path)/brewlogd-stuck" \
	  Tests/Systemd/run --root 252 --root bare --root 257

# Seconds for the package, and for the table; past them it has failed, not hung.
QUICK_BUILD_TIME := 900
QUICK_TEST_TIME := 180

systemd-quick: deps ## the part that every change must pass; where none boots it says so and is skipped
	@if ! reason=$$(Tests/Systemd/run --able); then echo "systemd-quick: SKIPPED: $$reason"; exit 0; fi; \
	timeout --kill-after=10 $(QUICK_BUILD_TIME) $(MAKE) --no-print-directory deb; \
	status=0; \
	timeout --kill-after=10 $(QUICK_TEST_TIME) Tests/Systemd/run --root 252 --quick || status=$$?; \
	case $$status in \
	  99) echo "systemd-quick: SKIPPED: no systemd boots here; the reason stands above" ;; \
	  124 | 137) echo "systemd-quick: not done in $(QUICK_TEST_TIME) s" >&2; exit 1 ;; \
	  *) exit $$status ;; \
	esac

# Fuzzing. Each target runs for SECONDS; what it finds new is kept below .build for the next run.
FUZZ_TARGETS := messages replies methods upstream configuration interfaces
FUZZ_WORK := .build/fuzz-work
SECONDS ?= 60
FUZZ_FLAGS := -c release --scratch-path .build/fuzz --sanitize=address -Xswiftc -sanitize=fuzzer \
  -Xswiftc -parse-as-library -Xswiftc -enable-testing -Xswiftc -use-ld=lld
# A crash must end at once: the backtracer of a sanitized program hangs.
FUZZ_ENVIRONMENT := SWIFT_BACKTRACE=enable=no BREWLOG_FUZZ=1

.PHONY: fuzz
fuzz: deps ## feeds the parsers random bytes, SECONDS=60 each
	$(FUZZ_ENVIRONMENT) $(SWIFT) build $(FUZZ_FLAGS) --product Fuzz
	@failed=(); \
	for target in $(FUZZ_TARGETS); do \
	  mkdir -p $(FUZZ_WORK)/$$target; \
	  echo "fuzz: $$target for $(SECONDS) s"; \
	  $(FUZZ_ENVIRONMENT) .build/fuzz/release/Fuzz $$target -max_total_time=$(SECONDS) \
	    -max_len=4096 -rss_limit_mb=3000 -print_final_stats=1 -dict=Tests/Fuzz/dictionary \
	    -artifact_prefix=$(FUZZ_WORK)/$$target- $(FUZZ_WORK)/$$target Tests/Fuzz/corpus/$$target \
	    >$(FUZZ_WORK)/$$target.log 2>&1 || failed+=("$$target"); \
	  grep -E '^(stat::number_of_executed_units|==|SUMMARY|.*Test unit written)' \
	    $(FUZZ_WORK)/$$target.log || true; \
	done; \
	if [ $${#failed[@]} -gt 0 ]; then \
	  echo "fuzz: failed: $${failed[*]}; see $(FUZZ_WORK)/*.log" >&2; exit 1; \
	fi

.PHONY: oauth-test
oauth-test: build ## signs in, refreshes and revokes at a real server (from PyPI); CASES="Login Reuse"
	@Tests/OAuth/run.sh "$$($(SWIFT) build --show-bin-path)" $(CASES)

# Long looks at a running daemon, built as it ships. The program that looks uses Testing, which has no
# static library: it is built apart, and the daemon put beside it.
CALLS ?= 10000000
CONNECTIONS ?= 10000
SOAK := SWIFT_BACKTRACE=enable=no .build/soak/release/Soak

.PHONY: soak
soak: release ## CALLS=10000000 calls, CONNECTIONS=10000 at once
	$(SWIFT) build -c release --scratch-path .build/soak $(BUILD_FLAGS) --product Soak
	install "$$($(SWIFT) build $(RELEASE_FLAGS) --show-bin-path)/brewlogd" .build/soak/release/
	$(SOAK) connections $(CONNECTIONS)
	$(SOAK) crowd
	$(SOAK) calls $(CALLS)

# From each seed a day: kills, outages, a full disk, steps of the clock. As root all of it.
SEEDS ?= 20
CHAOS_SECONDS ?= 30

.PHONY: chaos
chaos: build ## a day in the life of a bad host, SEEDS=20 of them, CHAOS_SECONDS=30 each
	SWIFT_BACKTRACE=enable=no "$$($(SWIFT) build --show-bin-path)/Chaos" \
	  --seed $(or $(SEED),1) --seeds $(SEEDS) --seconds $(CHAOS_SECONDS)

# Speed, in ratios to others under the same load, and costs in instructions. Wants a quiet machine.
BENCH_PROGRAMS := brewlogd brewlogctl bench-load bench-peer bench-spawn
BENCH_RESULT := .build/bench
ROUNDS ?= 5
ONLY ?=

.PHONY: bench bench-programs instructions
bench-programs: deps static-cxx
	for program in $(BENCH_PROGRAMS); do $(SWIFT) build $(RELEASE_FLAGS) --product "$$program"; done

bench: bench-programs ## compares its speed with a C server, Redis, and nginx and oidc-agent if installed
	@$(MAKE) --no-print-directory deps PACKAGES="redis-tools python3"
	Tests/Bench/bench.py "$$($(SWIFT) build $(RELEASE_FLAGS) --show-bin-path)" --rounds $(ROUNDS) \
	  --only "$(ONLY)" --json $(BENCH_RESULT).json --svg $(BENCH_RESULT).svg \
	  --table $(BENCH_RESULT).md

instructions: bench-programs ## counts what a tip and a refresh cost; RECORD=--write keeps the figures
	@$(MAKE) --no-print-directory deps PACKAGES="valgrind binutils python3"
	Tests/Bench/instructions.py "$$($(SWIFT) build $(RELEASE_FLAGS) --show-bin-path)" $(RECORD)

.PHONY: interop
interop: build ## calls the daemon with Varlink clients of others
	@BUILD_DIRECTORY="$$($(SWIFT) build --show-bin-path)" Tests/Interop/interop.sh

# The same two tests are part of `make test`, with fewer points.
POINTS ?= 1000

.PHONY: crash
crash: deps ## kills the daemon at POINTS=1000 points, half at its calls, half at random times
	$(SWIFT) build --build-tests $(BUILD_FLAGS)
	BREWLOG_CRASH_POINTS=$(POINTS) $(SWIFT) test --skip-build --disable-xctest --filter CrashPointTests

# Races: the whole exploration, and the faults that it must catch. Both want a quiet machine.
RACE_SECONDS ?= 240
MUTANT_WORK := .build/mutants
MUTANTS := Tests/Mutants/mutants.py

.PHONY: races mutants mutants-built mutants-sample
races: deps static-cxx ## explores the schedules of all worlds, RACE_SECONDS=240
	$(SWIFT) build $(RELEASE_FLAGS) --product brewlog-races
	"$$($(SWIFT) build $(RELEASE_FLAGS) --show-bin-path)/brewlog-races" --seconds $(RACE_SECONDS)

# Whatever of it runs real threads; the daemon that the end-to-end tests start is built alike.
TSAN_FLAGS := --sanitize=thread --scratch-path .build/tsan
TSAN_ENVIRONMENT := TSAN_OPTIONS=halt_on_error=1 SWIFT_BACKTRACE=enable=no
TSAN_FILTER := SimulationTests|SessionTests|StoreTests|PlatformTests|EndToEnd.*(Race|Refresh|Logout)

.PHONY: tsan
tsan: deps ## the worlds on real threads under ThreadSanitizer, THREAD_ROUNDS=10
	$(SWIFT) build --build-tests $(TSAN_FLAGS) $(BUILD_FLAGS)
	$(TEST_ENVIRONMENT) $(TSAN_ENVIRONMENT) BREWLOG_THREAD_ROUNDS=$(or $(THREAD_ROUNDS),10) \
	  $(SWIFT) test --skip-build --disable-xctest $(TSAN_FLAGS) --filter '$(TSAN_FILTER)'

mutants-built: deps
	$(MUTANTS) build $(MUTANT_WORK) --swift "$(SWIFT)"

mutants: mutants-built ## puts faults into copies of the sources, and shows what catches each; JOBS=2
	$(MUTANTS) run $(MUTANT_WORK) --jobs $(or $(JOBS),2)

mutants-sample: mutants-built ## the same for as many as MUTANT_SECONDS=100 allow, drawn by SEED=1
	$(MUTANTS) run $(MUTANT_WORK) --for $(or $(MUTANT_SECONDS),100) --seed $(or $(SEED),1)
