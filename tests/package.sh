#!/bin/sh
# Packages every crate as for a registry and builds each from its package alone; then builds and runs a crate outside the repository
# on the packaged engine.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
: "${CARGO:=cargo}" "${CARGO_TARGET_DIR:=$root/target}"
case $CARGO_TARGET_DIR in /*) ;; *) CARGO_TARGET_DIR=$root/$CARGO_TARGET_DIR ;; esac
export CARGO_TARGET_DIR

# A package has no profiles of its own. With those of the workspace it is built on the libraries that the tests are built on; our own
# crates need no speed here.
set -- --config "$root/Cargo.toml"
for crate in cbo cbo-problems cbo-lab cbo-runs cbo-cli; do
  set -- "$@" --config "profile.dev.package.$crate.opt-level=0"
done
cd "$root"
"$CARGO" fetch --locked
# Cargo unpacks packages into its home, compiles them here, and looks at neither again when they have changed under the same version.
"$CARGO" package "$@" --workspace --exclude cbo-python --locked --offline --no-verify --quiet
sums=$CARGO_TARGET_DIR/package/sums
cksum "$CARGO_TARGET_DIR"/package/*.crate > "$sums.new"
if ! cmp -s "$sums.new" "$sums"; then
  for crate in cbo cbo-problems cbo-lab cbo-runs cbo-cli; do
    rm -rf "${CARGO_HOME:-$HOME/.cargo}"/registry/src/-*/"$crate"-[0-9]*
    rm -rf "$CARGO_TARGET_DIR"/debug/.fingerprint/"$crate"-*
  done
fi
mv "$sums.new" "$sums"
"$CARGO" package "$@" --workspace --exclude cbo-python --locked --offline

place=$CARGO_TARGET_DIR/outside
rm -rf "$place" && mkdir -p "$place"
cp -r tests/outside "$place/outside"
tar -xzf "$CARGO_TARGET_DIR"/package/cbo-[0-9]*.crate -C "$place"
mv "$place"/cbo-[0-9]* "$place/cbo"
# The versions that were tested; none is fetched.
cp "$place/cbo/Cargo.lock" "$place/outside/Cargo.lock"
"$CARGO" run "$@" --quiet --offline --manifest-path "$place/outside/Cargo.toml"
echo "a crate outside runs on the packaged engine"
