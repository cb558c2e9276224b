# Everything that a developer runs. `make test` installs what it needs and checks everything.

CARGO ?= cargo
export CARGO_TERM_COLOR ?= auto

.PHONY: test tools format lint docs unit examples licences build figures bench compare book clean

test: tools format lint docs unit examples licences build

# The toolchain's own parts; nothing else is needed.
tools:
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: install Rust 1.89 or newer (rustup.rs)"; exit 1; }
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy

format:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

# Unit, integration and documentation tests; the latter include the README and the guide.
unit:
	$(CARGO) test --workspace --locked

# Each example asserts its own result.
examples:
	$(CARGO) build --workspace --examples --locked
	@for file in examples/rust/*.rs; do \
	  name=$$(basename $$file .rs); echo "example $$name"; \
	  "$${CARGO_TARGET_DIR:-target}/debug/examples/$$name" >/dev/null || exit 1; \
	done

# Every dependency's licence must be one that MIT OR Apache-2.0 software may build on.
licences:
	$(CARGO) test --workspace --quiet --locked --test licences

# The README's main command, on an optimised build.
build:
	$(CARGO) run --release --locked --quiet -- minimize rastrigin --dim 20

bench:
	$(CARGO) run --release --locked -- bench

compare:
	python3 benches/compare_cbxpy.py

# The pictures in the README and the guide.
figures: FIGURES := $(shell mktemp -d)
figures:
	@mkdir -p docs/images
	$(CARGO) run --release --locked -- paper fig1b --out $(FIGURES)
	cp $(FIGURES)/fig1b.png docs/images/
	$(CARGO) run --release --locked -- minimize rastrigin --dim 2 --particles 200 --seed 8 --steps 100 --shift '2.2;-1.4' --init 'uniform:-5;-1,1;5' --plot docs/images/rastrigin.png

book:
	@command -v mdbook >/dev/null || $(CARGO) install mdbook --locked
	mdbook build docs

clean:
	$(CARGO) clean
