"""Model files in Python: the `safetensors` package reads them, and NumPy comes to the same logits.

    python test_model.py FOLDER...

Each folder was written by the Rust example `save_model`. The forward pass here shares nothing with the Rust code.
"""

import gzip
import json
import sys
import unittest
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from safetensors import safe_open

DATA = Path(__file__).resolve().parents[2] / "crates/cbo-problems/data"
LENET1 = {
    "conv1.weight": (4, 1, 5, 5), "conv1.bias": (4,), "conv2.weight": (3, 1, 5, 5), "conv2.bias": (3,),
    "dense1.weight": (10, 192), "dense1.bias": (10,),
    **{f"bn{n}.running_{part}": (c,) for n, c in enumerate((4, 4, 12, 12, 10), 1) for part in ("mean", "var")},
}  # fmt: skip


def load(folder):
    with safe_open(Path(folder) / "model.safetensors", framework="np") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()


def images(count):
    """The first test images of the built-in subset: images, maps, rows, columns."""
    data = gzip.decompress((DATA / "t10k-images-idx3-ubyte.gz").read_bytes())
    pixels = np.frombuffer(data, dtype=np.uint8, offset=16)[: count * 784]
    return (pixels.astype(np.float32) / np.float32(255)).astype(float).reshape(count, 1, 28, 28)


def forward(text, tensors, epsilon, x):
    """The logits, image by image, from the network's text; all tensors must be used."""
    unused, counts = set(tensors), {}

    def take(name):
        unused.discard(name)
        return tensors[name].astype(float)

    for layer in text.split(", "):
        kind, *words = layer.split()
        counts[kind] = counts.get(kind, 0) + 1
        name = f"{kind}{counts[kind]}"
        if kind == "dense":
            x = x.reshape(len(x), -1) @ take(f"{name}.weight").T + take(f"{name}.bias")
        elif kind == "conv":
            weight, bias = take(f"{name}.weight"), take(f"{name}.bias")
            windows = sliding_window_view(x, weight.shape[2:], axis=(2, 3))
            if "shared" in words:
                x = np.einsum("nirsab,kab->nikrs", windows, weight[:, 0]) + bias[:, None, None]
                x = x.reshape(len(x), -1, *x.shape[3:])
            else:
                x = np.einsum("nirsab,kiab->nkrs", windows, weight) + bias[:, None, None]
        elif kind == "pool":
            side = int(words[0])
            n, maps, rows, columns = x.shape
            x = x.reshape(n, maps, rows // side, side, columns // side, side).max(axis=(3, 5))
        elif kind == "relu":
            x = np.maximum(x, 0)
        elif kind == "bn":
            shape = (-1,) + (1,) * (x.ndim - 2)
            mean, variance = take(f"{name}.running_mean"), take(f"{name}.running_var")
            x = (x - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + epsilon)
        else:
            raise ValueError(layer)
    assert not unused, unused
    return x


class Models(unittest.TestCase):
    folders = []

    def test_logits(self):
        for folder in self.folders:
            with self.subTest(folder):
                tensors, metadata = load(folder)
                expected = np.array(json.loads((Path(folder) / "expected.json").read_text())["logits"])
                epsilon = float(metadata["cbo.epsilon"])
                found = forward(metadata["cbo.network"], tensors, epsilon, images(len(expected)))
                # Both are in double precision; 1e-4 is far above rounding and far below what a misplaced weight does.
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
                self.assertGreater(expected.std(axis=0).max(), 0.1, "the images' logits must differ")

    def test_metadata(self):
        for folder in self.folders:
            with self.subTest(folder):
                _, metadata = load(folder)
                self.assertEqual((metadata["format"], metadata["cbo.input"]), ("pt", "28x28"))
                self.assertEqual(float(metadata["cbo.epsilon"]), 1e-4)
                self.assertEqual(metadata["data"], "MNIST subset")

    def test_names_shapes_and_types(self):
        tensors, metadata = load(self.folders[0])
        self.assertIn("conv 3x5 shared", metadata["cbo.network"], "the first folder is LeNet-1")
        self.assertEqual({name: tensor.shape for name, tensor in tensors.items()}, LENET1)
        for name, tensor in tensors.items():
            self.assertEqual(tensor.dtype, np.float64 if name.startswith("bn") else np.float32, name)

    def test_a_misplaced_weight_is_noticed(self):
        tensors, metadata = load(self.folders[0])
        epsilon, x = float(metadata["cbo.epsilon"]), images(8)
        right = forward(metadata["cbo.network"], tensors, epsilon, x)
        for name in ("conv1.weight", "conv2.weight"):
            turned = dict(tensors, **{name: tensors[name].swapaxes(2, 3)})
            self.assertGreater(abs(forward(metadata["cbo.network"], turned, epsilon, x) - right).max(), 1e-2, name)


if __name__ == "__main__":
    Models.folders = sys.argv[1:]
    if not Models.folders:
        sys.exit(__doc__)
    unittest.main(argv=sys.argv[:1])
