#!/usr/bin/env python3
"""Loads a model that `cbo mnist train` wrote into PyTorch and measures its accuracy on the test images.

    pip install torch safetensors numpy
    python load_model.py RUN/model.safetensors DATA_DIR

DATA_DIR holds `t10k-images-idx3-ubyte` and `t10k-labels-idx1-ubyte`, plain or with `.gz`. To use a model in a program
of your own, `load(path)` is all that is needed; its result is an ordinary `torch.nn.Sequential`.
"""

import argparse
import gzip
from collections import Counter, OrderedDict
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from torch import nn


class Dense(nn.Linear):
    """A linear layer that flattens maps first: map after map, each row after row."""

    def forward(self, x):
        return super().forward(x.flatten(1))


class SharedConv(nn.Conv2d):
    """The same kernels on every input map: output map i * kernels + k is kernel k on input map i."""

    def __init__(self, kernels, size):
        super().__init__(1, kernels, size)

    def forward(self, x):
        images, maps, height, width = x.shape
        y = super().forward(x.reshape(images * maps, 1, height, width))
        return y.reshape(images, maps * self.out_channels, *y.shape[2:])


def build(text, shape, epsilon):
    """The modules for a network text such as `conv 4x5, relu, bn, pool 2, bn, dense 10`.

    `shape` is that of one image: (maps, height, width), or (values,). Modules are named by kind and number, `conv1`,
    `bn1`, `bn2`, so that the tensors of the file are the module's state.
    """
    modules, numbers = OrderedDict(), Counter()
    for layer in text.split(","):
        kind, *words = layer.split()
        if kind == "dense":
            outputs = int(words[0])
            module, shape = Dense(int(np.prod(shape)), outputs), (outputs,)
        elif kind == "conv":
            kernels, size = map(int, words[0].split("x"))
            shared = "shared" in words
            module = SharedConv(kernels, size) if shared else nn.Conv2d(shape[0], kernels, size)
            shape = (kernels * shape[0] if shared else kernels, shape[1] - size + 1, shape[2] - size + 1)
        elif kind == "pool":
            size = int(words[0])
            module, shape = nn.MaxPool2d(size), (shape[0], shape[1] // size, shape[2] // size)
        elif kind == "relu":
            module = nn.ReLU()
        elif kind == "bn":
            # Without weight and bias of its own; it normalises maps, or each value of a flat list.
            norm = nn.BatchNorm2d if len(shape) == 3 else nn.BatchNorm1d
            module = norm(shape[0], eps=epsilon, affine=False)
        else:
            raise ValueError(f"`{layer.strip()}` is not a known layer")
        numbers[kind] += 1
        modules[f"{kind}{numbers[kind]}"] = module
    return nn.Sequential(modules)


def input_shape(text):
    """`28x28` -> (1, 28, 28), `4@12x12` -> (4, 12, 12), `192` -> (192,)."""
    if "x" not in text:
        return (int(text),)
    maps, _, sides = text.rpartition("@")
    height, width = map(int, sides.split("x"))
    return (int(maps or 1), height, width)


def load(path):
    """The model of a file, ready for evaluation, and the file's metadata."""
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
        # Batch-norm statistics are stored in double precision; copying into the module makes them float32.
        tensors = {name: file.get_tensor(name) for name in file.keys()}
    shape = input_shape(metadata["cbo.input"])
    model = build(metadata["cbo.network"], shape, float(metadata["cbo.epsilon"]))
    model.load_state_dict(tensors)
    model.eval()  # normalise with the stored statistics, not with those of the batch
    return model, metadata


def read_idx(folder, start):
    """The numbers of the IDX file, plain or gzip, whose name starts like this."""
    paths = sorted(Path(folder).glob(start + "*"))
    if not paths:
        raise SystemExit(f"{folder} has no file {start}*")
    data = paths[0].read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    # Two zeros, the type (8: bytes), the number of dimensions, then each dimension as four big-endian bytes.
    if data[:3] != b"\0\0\x08":
        raise SystemExit(f"{paths[0]} is not an IDX file of bytes")
    dimensions = np.frombuffer(data, dtype=">u4", count=data[3], offset=4)
    return np.frombuffer(data, dtype=np.uint8, offset=4 + 4 * data[3]).reshape(dimensions)


def main():
    parser = argparse.ArgumentParser(description="Accuracy of a cbo model in PyTorch.")
    parser.add_argument("model", help="the model.safetensors of a run")
    parser.add_argument("data", help="folder with the MNIST test files")
    arguments = parser.parse_args()

    model, metadata = load(arguments.model)
    images = torch.from_numpy(read_idx(arguments.data, "t10k-images").astype(np.float32) / 255)
    labels = torch.from_numpy(read_idx(arguments.data, "t10k-labels").astype(np.int64))
    with torch.no_grad():
        logits = model(images.unsqueeze(1))  # one map each
    right = int((logits.argmax(1) == labels).sum())

    for key, value in sorted(metadata.items()):
        print(f"{key}: {value}")
    print(f"{right} of {len(labels)} test images are right: {100 * right / len(labels):.2f} %")


if __name__ == "__main__":
    main()
