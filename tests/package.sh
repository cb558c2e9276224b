#!/bin/sh
# Packages every crate as for a registry and compiles what is in the packages, and nothing else; then runs a crate outside the
# repository on the packaged engine.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
: "${CARGO:=cargo}" "${CARGO_TARGET_DIR:=$root/target}"
case $CARGO_TARGET_DIR in /*) ;; *) CARGO_TARGET_DIR=$root/$CARGO_TARGET_DIR ;; esac
export CARGO_TARGET_DIR
crates="cbo cbo-problems cbo-lab cbo-runs cbo-cuda cbo-mpi cbo-view cbo-cli"

cd "$root"
"$CARGO" fetch --locked
rm -rf "$CARGO_TARGET_DIR/package"
"$CARGO" package --workspace --exclude cbo-python --locked --offline --no-verify --quiet

# A workspace of the packages, with the versions that were tested; none is fetched.
place=$CARGO_TARGET_DIR/outside
rm -rf "$place" && mkdir -p "$place"
{
  echo '[workspace]'
  echo 'resolver = "3"'
  echo 'members = ["cbo*"]'
  echo '[patch.crates-io]'
  for crate in $crates; do echo "$crate = { path = \"$crate\" }"; done
} > "$place/Cargo.toml"
cp Cargo.lock "$place/Cargo.lock"
for crate in $crates; do
  tar -xzf "$CARGO_TARGET_DIR/package/$crate"-[0-9]*.crate -C "$place"
  mv "$place/$crate"-[0-9]* "$place/$crate"
done
# Packages have no profiles of their own. With those of the workspace they are compiled on the libraries that are there already.
"$CARGO" check --config "$root/Cargo.toml" --manifest-path "$place/Cargo.toml" --workspace --offline --quiet

cp -r tests/outside "$place/outside"
cp "$place/cbo/Cargo.lock" "$place/outside/Cargo.lock"
# The engine needs no speed here.
"$CARGO" run --config "$root/Cargo.toml" --config profile.release.package.cbo.opt-level=0 --release --quiet --offline \
  --manifest-path "$place/outside/Cargo.toml"
echo "a crate outside runs on the packaged engine"
