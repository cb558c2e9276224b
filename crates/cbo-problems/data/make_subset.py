#!/usr/bin/env python3
"""Writes the MNIST subset that is built into cbo-problems: the first 100 training and the first 50 test images of each
digit, in file order, as gzip IDX files beside this script.

    python3 make_subset.py FOLDER

FOLDER holds the four full files, train-images-idx3-ubyte.gz and so on. They are checked against their SHA-256 first.
Standard library only. The unpacked bytes are always the same; the packed ones may differ between versions of zlib.
"""

import gzip
import hashlib
import struct
import sys
from pathlib import Path

PIXELS = 28 * 28
PER_DIGIT = {"train": 100, "t10k": 50}
SHA256 = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}


def read(folder, name):
    try:
        data = gzip.decompress((folder / f"{name}.gz").read_bytes())
    except (OSError, EOFError) as error:
        sys.exit(f"{folder / name}.gz cannot be read: {error}")
    if hashlib.sha256(data).hexdigest() != SHA256[name]:
        sys.exit(f"{folder / name}.gz is not the MNIST file: its SHA-256 differs")
    return data


def write(name, data):
    path = Path(__file__).parent / f"{name}.gz"
    # No time and no file name in the header, so that two runs write the same bytes.
    with open(path, "wb") as out, gzip.GzipFile("", "wb", 9, out, mtime=0) as packed:
        packed.write(data)
    print(f"{path.stat().st_size:7} bytes  {hashlib.sha256(data).hexdigest()} (unpacked)  {path.name}")


def first_of_each_digit(labels, per_digit):
    taken, chosen = [0] * 10, []
    for index, digit in enumerate(labels):
        if taken[digit] < per_digit:
            taken[digit] += 1
            chosen.append(index)
    return chosen


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    full = {name: read(folder, name) for name in SHA256}
    for part, per_digit in PER_DIGIT.items():
        images = full[f"{part}-images-idx3-ubyte"][16:]
        labels = full[f"{part}-labels-idx1-ubyte"][8:]
        chosen = first_of_each_digit(labels, per_digit)
        pixels = b"".join(images[i * PIXELS : (i + 1) * PIXELS] for i in chosen)
        digits = bytes(labels[i] for i in chosen)
        write(f"{part}-images-idx3-ubyte", struct.pack(">IIII", 0x803, len(chosen), 28, 28) + pixels)
        write(f"{part}-labels-idx1-ubyte", struct.pack(">II", 0x801, len(chosen)) + digits)
        print(f"{part}: {len(chosen)} images out of the first {chosen[-1] + 1}, sum of pixels {sum(pixels)}")


if __name__ == "__main__":
    main()
