#!/bin/sh
# Builds the wheel, installs it in a fresh virtual environment, and tests what is installed there.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
: "${PYTHON:=python3}" "${CARGO_TARGET_DIR:=$root/target}"
case $CARGO_TARGET_DIR in /*) ;; *) CARGO_TARGET_DIR=$root/$CARGO_TARGET_DIR ;; esac
export CARGO_TARGET_DIR PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
place=$CARGO_TARGET_DIR/python-package
venv=$place/venv/bin

rm -rf "$place" && mkdir -p "$place/elsewhere"
"$PYTHON" -m venv "$place/venv"

# `pip install .` works from the root and from python/, and gives the same package.
for folder in . python; do
  "$venv/pip" wheel --quiet --no-deps --wheel-dir "$place/wheels/$folder" "$root/$folder"
done
"$venv/python" "$root/python/tests/compare_wheels.py" "$place"/wheels/cbo-*.whl "$place"/wheels/python/cbo-*.whl

"$venv/pip" install --quiet "$place"/wheels/cbo-*.whl
for list in "$root"/python/tests/requirements*.txt; do
  "$venv/pip" install --quiet --requirement "$list"
done

# From a folder where the source is not in reach.
cd "$place/elsewhere"
"$venv/python" -c 'import cbo, sys; assert cbo.__file__.startswith(sys.prefix), cbo.__file__'
"$venv/python" -m pytest --quiet -o cache_dir="$place/cache" "$root/python/tests"
"$venv/python" -m pytest --quiet -o cache_dir="$place/cache" --doctest-modules --doctest-ignore-import-errors --pyargs cbo
# What a GPU would do, by its kernels, which the system's C++ compiler builds for the processor.
if command -v c++ >/dev/null; then
  "$venv/pip" wheel --quiet --no-deps --config-settings=build-args="--features stand-in" --wheel-dir "$place/stand-in" "$root"
  "$venv/pip" install --quiet --no-deps --target "$place/stand-in/package" "$place"/stand-in/cbo-*.whl
  PYTHONPATH=$place/stand-in/package "$venv/python" "$root/python/tests/test_gpu.py"
else
  echo "left out: the GPU's part of the package on the processor (needs a C++ compiler)"
fi
"$venv/python" -m mypy --strict --cache-dir "$place/mypy" -p cbo
"$venv/python" -m mypy --strict --cache-dir "$place/mypy" "$root/python/tests/typing_sample.py"
"$venv/python" "$root/python/tests/typing_sample.py" >typing_sample.log
