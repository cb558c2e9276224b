# Everything that a developer runs. `make test` installs what it needs and checks everything.

CARGO ?= cargo
export CARGO_TERM_COLOR ?= auto

.PHONY: test tools format lint docs unit sets examples licences package main-command build figures bench compare python models \
  python-if-there mpi mpi-tools mpi-test mpi-test-if-there kernels test-cuda \
  view view-test view-if-there fuzz soak book clean

# What `unit` builds (programs, tests, examples, optimised and with the features of the whole workspace) is what later steps use;
# `licences` is a part of it. `package` and `python` share libraries with what was built before.
test: tools format lint docs unit mpi-test-if-there sets examples package main-command view-if-there python-if-there

# The toolchain's own parts; apart from these only a C compiler is needed.
tools:
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: install Rust 1.89 or newer (rustup.rs)"; exit 1; }
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy

format:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	@for features in "" mnist; do \
	  $(CARGO) clippy --package cbo-problems --all-targets --features "$$features" --locked -- -D warnings || exit 1; \
	done

docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

# Unit, integration and documentation tests; the latter include the README and the guide. Many tests wait for other processes: half as many
# again as there are cores keep all of them busy.
unit: TEST_THREADS = $$(( ($$(getconf _NPROCESSORS_ONLN) * 3 + 1) / 2 ))
unit:
	$(CARGO) test --release --workspace --locked -- --test-threads=$(TEST_THREADS)

# The tests of the dynamics, the figures and training on each instruction set of this machine except the best, on which `unit` runs
# them, and the README's main command on all of them, which must print the same.
sets: SAME := sed -E 's/"(seconds|threads)":[0-9.e-]+,?//g; s/"instruction_set":"[a-z0-9]+",//'
sets: OUT := $(or $(CARGO_TARGET_DIR),target)/sets
sets:
	@$(CARGO) test --release --quiet --workspace --locked --no-run && mkdir -p $(OUT) && rm -f $(OUT)/*
	@cbo="$${CARGO_TARGET_DIR:-target}/release/cbo"; unset CBO_SIMD; \
	best=$$($$cbo minimize sphere --dim 1 --steps 1 --json | sed -E 's/.*"instruction_set":"([a-z0-9]+)".*/\1/'); \
	for set in avx512 avx2 portable; do \
	  CBO_SIMD=$$set $$cbo list >/dev/null 2>$(OUT)/refused || { cat $(OUT)/refused; continue; }; \
	  echo "instruction set $$set"; export CBO_SIMD=$$set; \
	  test $$set = $$best || \
	    $(CARGO) test --release --quiet --workspace --locked --test all -- contract:: dynamics:: figures:: training:: || exit 1; \
	  $$cbo minimize rastrigin --dim 20 --json | $(SAME) >$(OUT)/$$set || exit 1; \
	  test -f $(OUT)/first || cp $(OUT)/$$set $(OUT)/first; \
	  grep -q '"value"' $(OUT)/$$set && cmp $(OUT)/$$set $(OUT)/first || exit 1; \
	done

# Each example asserts its own result.
examples:
	$(CARGO) build --release --workspace --examples --locked
	@for file in $(filter-out %/speed.rs,$(wildcard crates/cbo/examples/*.rs crates/cbo-problems/examples/*.rs)); do \
	  name=$$(basename $$file .rs); echo "example $$name"; \
	  "$${CARGO_TARGET_DIR:-target}/release/examples/$$name" >/dev/null || exit 1; \
	done

# Every dependency's licence must be one that MIT OR Apache-2.0 software may build on.
licences:
	$(CARGO) test --release --workspace --quiet --locked --test all licences::

# The packages as a registry would get them, each compiled from what is in it; then a crate outside, run on the packaged engine.
package:
	sh tests/package.sh

# The README's main command, by the program that `unit` has built.
main-command:
	$${CARGO_TARGET_DIR:-target}/release/cbo minimize rastrigin --dim 20

# The pages of the viewer from their sources, into crates/cbo-view/assets; the program must be built again after that.
WEB := crates/cbo-view/web
view:
	cd $(WEB) && npm ci --ignore-scripts --silent && npm run --silent check && npm run --silent build

# Whether the pages that are committed are those that the sources give, then all of them in a browser, by the program that `unit` has built.
view-test: CBO_BUILT = $(abspath $(or $(CARGO_TARGET_DIR),target))/release/cbo
view-test: CHROMIUM := $(or $(CHROMIUM),$(shell command -v chromium || command -v chromium-browser || command -v google-chrome))
view-test:
	cd $(WEB) && npm ci --ignore-scripts --silent && npm run --silent check && node build.mjs --check
	@if [ -n "$(CHROMIUM)" ]; then cd $(WEB) && CBO=$(CBO_BUILT) CHROMIUM=$(CHROMIUM) node tests/browser.mjs; \
	  else echo "skipped: the viewer in a browser (needs chromium; on Debian: apt-get install chromium)"; fi

# npm is optional: users have the built pages.
view-if-there:
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory view-test; \
	  else echo "skipped: make view-test (needs npm; on Debian and Ubuntu: apt-get install npm)"; fi

build:
	$(CARGO) build --release --workspace --bin cbo --locked --quiet

# One run on several ranks needs MPI, and libclang to read its headers.
MPI_PACKAGES := libopenmpi-dev openmpi-bin libclang1-14 libclang-common-14-dev
mpi-tools:
	@command -v mpicc >/dev/null && command -v mpirun >/dev/null && ls /usr/lib/llvm-*/lib/libclang* >/dev/null 2>&1 || \
	  apt-get install --yes --quiet $(MPI_PACKAGES) || { apt-get update && apt-get install --yes --quiet $(MPI_PACKAGES); } || \
	  { echo "MPI is missing: install an MPI library with its headers and libclang ($(MPI_PACKAGES) on Debian 12)"; exit 1; }

# The command with MPI, beside the plain one: both share all libraries, so that little is compiled for it.
mpi: TARGET = $${CARGO_TARGET_DIR:-target}
mpi: mpi-tools
	$(CARGO) build --release --workspace --bin cbo --features cbo-cli/mpi --locked --quiet
	@mkdir -p $(TARGET)/mpi/release && cp $(TARGET)/release/cbo $(TARGET)/mpi/release/cbo.new && \
	  mv $(TARGET)/mpi/release/cbo.new $(TARGET)/mpi/release/cbo
	$(CARGO) build --release --workspace --bin cbo --locked --quiet

# The tests under mpirun.
mpi-test: mpi
	$(CARGO) clippy --package cbo-mpi --features openmpi --all-targets --locked -- -D warnings
	CBO_MPI=$$(realpath $${CARGO_TARGET_DIR:-target}/mpi/release/cbo) \
	  $(CARGO) test --release --quiet --workspace --locked --test all -- mpi:: --test-threads=1

# MPI is optional: where it is not there and cannot be installed, its tests are left out, with a note.
mpi-test-if-there:
	@if $(MAKE) --no-print-directory mpi-tools >/dev/null 2>&1; then $(MAKE) --no-print-directory mpi-test; \
	  else echo "skipped: make mpi-test (needs MPI; on Debian and Ubuntu: apt-get install $(MPI_PACKAGES))"; fi

# Python is optional: where it has no virtual environments, its tests are skipped, with a note.
python-if-there:
	@if $(PYTHON) -c 'import venv, ensurepip' 2>/dev/null; then $(MAKE) --no-print-directory python; \
	  else echo "skipped: make python (needs python3 with venv; on Debian and Ubuntu: apt-get install python3-venv)"; fi

# The package: its wheel, installed in a fresh virtual environment and tested there.
PYTHON ?= python3
export PYTHON
python: models kernels
	sh python/test.sh

# Model files, read by Python's own safetensors package and evaluated in NumPy.
models: VENV := $(or $(CARGO_TARGET_DIR),target)/python
models: MODELS := $(VENV)/models
models: OTHER := conv 4x5, relu, bn, pool 2, conv 5x3, relu, conv 2x3 shared, bn, pool 2, dense 20, relu, bn, dense 10
models:
	@test -x $(VENV)/bin/pip || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "Python cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --requirement tests/python/requirements.txt
	$(CARGO) build --release --quiet --workspace --examples --locked
	$${CARGO_TARGET_DIR:-target}/release/examples/save_model $(MODELS)/lenet1
	$${CARGO_TARGET_DIR:-target}/release/examples/save_model $(MODELS)/other "$(OTHER)"
	$(VENV)/bin/python tests/python/test_model.py $(MODELS)/lenet1 $(MODELS)/other

# The kernels for GPUs, compiled by NVIDIA's run-time compiler from PyPI; no GPU is needed for that.
kernels: VENV := $(or $(CARGO_TARGET_DIR),target)/python
kernels: models
	$(VENV)/bin/pip install --quiet --disable-pip-version-check 'nvidia-cuda-nvrtc==13.0.*'
	LD_LIBRARY_PATH=$$(dirname $$(find $(abspath $(VENV)) -name 'libnvrtc.so.13' | head -1)) \
	  $(CARGO) test --release --quiet --workspace --locked --test all -- nvrtc::

# The tests of the backend for GPUs on a real one, number GPU (0 if not given); the checkers of memory and of races, where there are any, look
# at short runs too.
test-cuda: DEVICE = --device cuda:$(or $(GPU),0)
test-cuda: CHECKED = $(if $(shell command -v compute-sanitizer),compute-sanitizer --error-exitcode 1 $(1)) $${CARGO_TARGET_DIR:-target}/release/cbo
test-cuda:
	CBO_CUDA=$(or $(GPU),0) $(CARGO) test --release --workspace --locked --test all -- bits:: cuda_ranks:: lent:: other_methods:: swarms:: training:: --test-threads=4
	$(CARGO) build --release --workspace --bin cbo --locked --quiet
	$(call CHECKED,--tool memcheck) minimize rastrigin --dim 16 --particles 5000 --steps 20 $(DEVICE)
	$(call CHECKED,--tool racecheck) minimize rastrigin --dim 16 --particles 5000 --steps 8 $(DEVICE)
	$(call CHECKED,--tool racecheck) minimize rastrigin --dim 16 --particles 5000 --steps 8 --method memory:beta=2 $(DEVICE)
	$(call CHECKED,--tool racecheck) minimize rastrigin --dim 16 --particles 5000 --steps 8 --method hopping:weights=ranks $(DEVICE)
	$(call CHECKED,--tool racecheck) success sphere --dim 4 --particles 50 --steps 5 --runs 20 --method cbo $(DEVICE)
	$(call CHECKED,--tool memcheck) mnist train --iterations 20 --quiet $(DEVICE)

# A minute of fuzzing, guided by coverage, for each reader of a user's bytes, or RUNS executions. What it finds belongs in tests/corpus.
# Comparisons are not traced: that takes most of the time, and the corpora have the words and numbers that it would find.
fuzz: FOUND := $(abspath $(or $(CARGO_TARGET_DIR),target))/fuzz
fuzz: READERS := cbo-problems/idx cbo-problems/network cbo-problems/model cbo-problems/formula cbo-runs/checkpoint cbo-runs/state cbo-runs/answer \
  cbo-cli/config cbo-cli/history cbo-cli/film
fuzz: LIMIT = $(if $(RUNS),-runs=$(RUNS),-max_total_time=60)
fuzz:
	@command -v cargo-fuzz >/dev/null || $(CARGO) install cargo-fuzz --locked --version 0.13.2
	@for reader in $(READERS); do crate=crates/$${reader%/*}; target=$${reader#*/}; mkdir -p $(FOUND)/corpus/$$target && \
	  $(CARGO) fuzz run --fuzz-dir $$crate/fuzz --target-dir $(FOUND) --sanitizer none --no-trace-compares --debug-assertions \
	    $$target $(FOUND)/corpus/$$target $(CURDIR)/$$crate/tests/corpus/$$target \
	    -- $(LIMIT) -rss_limit_mb=1024 || exit 1; \
	done

# Random settings, kills, full disks, damaged files and hostile programs for SECONDS, an hour if not given; SEED repeats a soak.
soak:
	$(CARGO) build --release --workspace --bin cbo --locked --quiet
	$(PYTHON) -B tests/soak --cbo $${CARGO_TARGET_DIR:-target}/release/cbo --seconds $(or $(SECONDS),3600) $(if $(SEED),--seed $(SEED))

bench:
	$(CARGO) run --release --locked -- bench

compare:
	$(PYTHON) benches/compare_cbxpy.py
	$(PYTHON) benches/compare_python.py

# The pictures in the README and the guide.
figures: FIGURES := $(shell mktemp -d)
figures:
	@mkdir -p docs/images
	$(CARGO) run --release --locked -- paper fig1b --out $(FIGURES)
	cp $(FIGURES)/fig1b.png docs/images/
	$(CARGO) run --release --locked -- compare rastrigin ackley --dim 10 --rotate random --shift random --runs 20 --max-evaluations 2e4 \
	  --methods auto,cbo,memory,random,annealing,genetic,programming,ants,pso,de,nelder-mead --out $(FIGURES)/compare
	cp $(FIGURES)/compare/compare.png docs/images/
	$(CARGO) run --release --locked -- minimize rastrigin --dim 2 --particles 200 --seed 8 --steps 100 --shift '2.2;-1.4' --init 'uniform:-5;-1,1;5' --plot docs/images/rastrigin.png

book:
	@command -v mdbook >/dev/null || $(CARGO) install mdbook --locked
	mdbook build docs

clean:
	$(CARGO) clean
