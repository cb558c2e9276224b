#!/usr/bin/env python3
"""Networks trained by cbo beside the same experiment written in JAX, in one run on this machine.

The paper's setting, as `cbo mnist train` has it: 100 particles, of which 10 are evaluated in a step on 60 images and
all move. It is written twice in JAX: plainly, one jitted step after the other, as one would write it first; and
scanned, all steps of a data batch in one `lax.scan`, the fastest form that was found. JAX (for the CPU) is installed
once, in a virtual environment under target/. The programs take turns, so that all see the same machine, each round
with another seed, and the best time of each counts. Compiling, reading images and judging particles are not counted. A
part of an epoch is an epoch of the first images of the file, the same for all. Loss and test accuracy are means over
the rounds and only show that all do the same thing.

    python3 benches/compare_jax.py --data DIR

Without --data the images are those that `cbo mnist train` would take: what `cbo mnist fetch` got, or else the built-in
subset. CBO_SIMD=avx2 (or portable) holds XLA to AVX2 (or SSE 4.2) as well.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import venv
import zlib
from pathlib import Path
from typing import Any

if "--inside" in sys.argv:  # Only then is this the Python of the virtual environment.
    import jax  # type: ignore[import-not-found,unused-ignore]
    import jax.numpy as jnp  # type: ignore[import-not-found,unused-ignore]
    import numpy as np  # type: ignore[import-not-found,unused-ignore]
    from jax import lax  # type: ignore[import-not-found,unused-ignore]

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
JAX_VERSION = "0.10.2"

FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
PARTICLES, EVALUATED, IMAGES = 100, 10, 60
# Steps for which a data batch stays: until every particle was evaluated once.
ROUND = PARTICLES // EVALUATED
LAMBDA, DT, ALPHA, SIGMA, KICK = 1.0, 0.1, 50.0, math.sqrt(0.4), 1e-5
FORMS = ("plain", "scanned")
PARAMETERS = {"lenet1": 2112, "shallow": 7850}
# Training images on which particles are compared.
SAMPLE = 10_000
# What XLA calls the instruction sets of CBO_SIMD; it takes AVX-512 by itself where there is one.
XLA_NAMES = {"avx2": "AVX2", "portable": "SSE4_2"}


# What runs inside the virtual environment.
#
# The following was tried, with JAX 0.10.2 on two cores with AVX-512 that other work shared, so that a tenth more or
# less means nothing; in milliseconds per step:
#
# - LeNet-1 scanned, 3.3: images in the last dimension, a scan over the steps of a data batch. A second scan around it,
#   over the data batches, 3.3. Single jitted steps (the plain form), or ten of them unrolled, 14 to 17: XLA compiles
#   convolutions differently outside of loops.
# - Other layers: NCHW 4.2, NHWC 15. The first convolution as a product with patches and the second as a sum of 25
#   shifted images 3.3, even in single steps; both as products 4.3, both as sums 10. jnp.var instead of the mean of the
#   squares, or lax.reduce_window instead of the maximum of slices, a tenth more.
# - Particles: a batch dimension written by hand is no faster than vmap; lax.map and a Python loop are slower.
# - The shallow network, 2.7 in every way tried, of which 2.4 are random numbers.
# - Random numbers: threefry, the default, 3 to 5 ns per normal; rbg and unsafe_rbg 18 to 25; threefry that is not
#   partitionable several times as long as the default; Box-Muller is slower than jax.random.normal.


def pieces(parameters: Any, *shapes: tuple[int, ...]) -> list[Any]:
    """Cuts a parameter vector into arrays."""
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(jnp.split(parameters, ends[:-1]), shapes, strict=True)]


def normalised(z: Any, known: int) -> Any:
    """Batch normalisation, each index of the first dimension by itself, with mean and unbiased variance of the first
    `known` images, which are the last dimension."""
    axes = tuple(range(1, z.ndim))
    sample = z[..., :known]
    count = sample.size // z.shape[0]
    mean = sample.mean(axes, keepdims=True)
    variance = jnp.maximum((sample * sample).mean(axes, keepdims=True) - mean * mean, 0.0) * (count / (count - 1))
    scale = lax.rsqrt(variance + 1e-4)
    return z * scale - mean * scale


def convolution(maps: Any, kernels: Any) -> Any:
    return lax.conv_general_dilated(maps, kernels, (1, 1), "VALID", dimension_numbers=("CHWN", "OIHW", "CHWN"))


def pool(z: Any) -> Any:
    above = jnp.maximum(z[:, ::2, ::2], z[:, ::2, 1::2])
    return jnp.maximum(above, jnp.maximum(z[:, 1::2, ::2], z[:, 1::2, 1::2]))


def lenet1(parameters: Any, images: Any, known: int) -> Any:
    """Logits, a column for each image; `images` are rows x columns x images."""
    shapes = (4, 1, 5, 5), (4, 1, 1, 1), (3, 1, 5, 5), (3, 1, 1, 1), (10, 192), (10, 1)
    w1, b1, w2, b2, w3, b3 = pieces(parameters, *shapes)
    z = normalised(jax.nn.relu(convolution(images[None], w1) + b1), known)
    z = normalised(pool(z), known)
    # The same three kernels for each of the four maps.
    z = (jax.vmap(convolution, (0, None))(z[:, None], w2) + b2).reshape(12, 8, 8, -1)
    z = normalised(jax.nn.relu(z), known)
    z = normalised(pool(z), known)
    return normalised(jax.nn.relu(w3 @ z.reshape(192, -1) + b3), known)


def shallow(parameters: Any, images: Any, known: int) -> Any:
    weights, biases = pieces(parameters, (10, 784), (10, 1))
    return normalised(jax.nn.relu(weights @ images.reshape(784, -1) + biases), known)


def cross_entropy(logits: Any, labels: Any) -> Any:
    return -(jax.nn.log_softmax(logits, 0) * jax.nn.one_hot(labels, 10, axis=0)).sum(0).mean()


def one_step(network: Any, state: Any, chosen: Any, images: Any, labels: Any, alpha: Any, sigma: Any) -> Any:
    """One step on a data batch: it evaluates the particles chosen and moves all."""

    def energy(parameters: Any) -> Any:
        return cross_entropy(network(parameters, images, images.shape[-1]), labels)

    def kicked(positions: Any, key: Any, amplitude: Any) -> Any:
        return positions + amplitude * jax.random.normal(key, positions.shape)

    key, positions, before = state
    key, diffusion_key, kick_key = jax.random.split(key, 3)
    evaluated = positions[chosen]
    energies = jax.vmap(energy)(evaluated)
    weights = jnp.exp(-alpha * (energies - energies.min()))
    consensus = weights @ evaluated / weights.sum()
    amplitude = sigma * math.sqrt(DT)
    factors = 1.0 - LAMBDA * DT + amplitude * jax.random.normal(diffusion_key, positions.shape)
    positions = consensus + factors * (positions - consensus)
    stalled = jnp.abs(consensus - before).max() < KICK
    positions = lax.cond(stalled, kicked, lambda x, *_: x, positions, kick_key, amplitude)
    return key, positions, consensus


def chosen_in_turn(state: Any) -> tuple[Any, Any]:
    """The particles of each step on a data batch: a permutation of all, cut into pieces."""
    key, *rest = state
    key, permutation_key = jax.random.split(key)
    return (key, *rest), jax.random.permutation(permutation_key, PARTICLES).reshape(ROUND, EVALUATED)


def scanned(network: Any, state: Any, *batch: Any) -> Any:
    """All steps on a data batch in one call."""
    state, turns = chosen_in_turn(state)
    return lax.scan(lambda state, chosen: (one_step(network, state, chosen, *batch), None), state, turns)[0]


def plain() -> Any:
    """All steps on a data batch, one call each."""
    step = jax.jit(one_step, static_argnums=0, donate_argnums=1)
    choose = jax.jit(chosen_in_turn)

    def advance(network: Any, state: Any, *batch: Any) -> Any:
        state, turns = choose(state)
        for chosen in turns:
            state = step(network, state, chosen, *batch)
        return state

    return advance


def judged(network: Any, positions: Any, sample: tuple[Any, Any], test: tuple[Any, Any]) -> tuple[float, float]:
    """Of the particle with the least loss on the sample, that loss and the accuracy on the test images."""
    known = len(sample[1])
    pixels, labels = map(jnp.asarray, sample)
    loss = jax.jit(lambda parameters: cross_entropy(network(parameters, pixels, known), labels))
    losses = lax.map(loss, positions)
    least = int(losses.argmin())
    both = jnp.concatenate([pixels, test[0]], axis=-1)
    logits = jax.jit(network, static_argnums=2)(positions[least], both, known)[:, known:]
    return float(losses[least]), float((logits.argmax(0) == test[1]).mean())


def labelled(folder: Path, images: str, labels: str) -> tuple[Any, Any]:
    pixels = np.frombuffer((folder / images).read_bytes(), np.uint8, offset=16).reshape(-1, 28, 28)
    classes = np.frombuffer((folder / labels).read_bytes(), np.uint8, offset=8)
    # Images last, the layout of `lenet1`.
    return np.ascontiguousarray(pixels.transpose(1, 2, 0)).astype(np.float32) / 255, classes.astype(np.int32)


def trained_by_jax(form: str, name: str, place: str, size: int, epochs: int, seed: int) -> dict[str, float]:
    """The seconds of a run, and the loss and test accuracy that it ends with."""
    network = {"lenet1": lenet1, "shallow": shallow}[name]
    images, labels = labelled(Path(place), *FILES[:2])
    firsts = range(0, len(labels), size)
    batches = [(jnp.asarray(images[..., i : i + size]), jnp.asarray(labels[i : i + size])) for i in firsts]

    def beginning() -> Any:
        key, start_key = jax.random.split(jax.random.key(seed))
        positions = jax.random.normal(start_key, (PARTICLES, PARAMETERS[name]))
        # With a type, so that this is of the same type as what a step makes of it, and nothing is compiled twice.
        return jax.block_until_ready((key, positions, jnp.full(PARAMETERS[name], jnp.inf, jnp.float32)))

    advance = plain() if form == "plain" else jax.jit(scanned, static_argnums=0, donate_argnums=1)
    # Compiles it.
    jax.block_until_ready(advance(network, beginning(), *batches[0], ALPHA, SIGMA))
    state = beginning()
    start = time.perf_counter()
    for epoch in range(epochs):
        # f32 ends soon after 50 * 2^99.
        alpha, sigma = ALPHA * 2.0 ** min(epoch, 99), SIGMA / math.log2(epoch + 2)
        for batch in batches:
            state = advance(network, state, *batch, alpha, sigma)
    jax.block_until_ready(state)
    seconds = time.perf_counter() - start
    chosen = np.random.default_rng(seed).permutation(len(labels))[:SAMPLE]
    test = labelled(Path(place), *FILES[2:])
    loss, accuracy = judged(network, state[1], (images[..., chosen], labels[chosen]), test)
    return {"seconds": seconds, "loss": loss, "test_accuracy": accuracy}


# What runs outside.


def output(command: list[str], variables: dict[str, str] | None = None) -> str:
    """What a command prints, or the end of the program with what it complained about."""
    everything = {**os.environ, **(variables or {})}
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=everything)
    except OSError as error:
        sys.exit(f"{command[0]} cannot be started: {error}.")
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:3])} failed:\n{done.stderr}")
    return done.stdout


def environment(folder: Path) -> str:
    """A Python with JAX in it, from the last time if there was one."""
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    whole = folder / "complete"
    if not whole.exists():
        print(f"installing JAX {JAX_VERSION} in {folder}", file=sys.stderr)
        try:
            venv.create(folder, with_pip=True, clear=True)
        except subprocess.CalledProcessError:
            sys.exit("Python cannot create a virtual environment; on Debian and Ubuntu: apt-get install python3-venv.")
        output([str(python), "-m", "pip", "install", "--quiet", f"jax=={JAX_VERSION}"])
        whole.touch()
    return str(python)


def cached_images() -> Path:
    """Where `cbo mnist fetch` puts the images."""
    variables = {name: Path(value) for name, value in os.environ.items() if value}
    home = variables.get("HOME", Path())
    caches = home / ".cache"
    if os.name == "nt":
        caches = variables.get("LOCALAPPDATA", Path())
    elif sys.platform == "darwin":
        caches = home / "Library/Caches"
    elif variables.get("XDG_CACHE_HOME", Path()).is_absolute():
        caches = variables["XDG_CACHE_HOME"]
    return variables.get("CBO_CACHE", caches / "cbo") / "mnist"


def stored(folder: Path, name: str) -> Path | None:
    """A file of the folder, plain or packed."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def content(folder: Path, name: str) -> bytes:
    path = stored(folder, name)
    if path is None:
        sys.exit(f"{folder} has neither {name} nor {name}.gz; --data must be a folder with the four IDX files.")
    data = path.read_bytes()
    try:
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error) as error:
        sys.exit(f"{path} cannot be unpacked: {error}.")
    length = {2051: 28 * 28, 2049: 1}.get(int.from_bytes(data[:4], "big"))
    if length is None or len(data) != (16 if length > 1 else 8) + length * int.from_bytes(data[4:8], "big"):
        sys.exit(f"{path} is not an IDX file of 28 x 28 images or of labels, or it is cut off.")
    return data


def lay_out(source: Path, images: int, to: Path) -> None:
    """Writes the first training images and all test images to a folder."""
    train_images, train_labels, *test = (content(source, name) for name in FILES)
    train_images = struct.pack(">4I", 2051, images, 28, 28) + train_images[16 : 16 + images * 28 * 28]
    train_labels = struct.pack(">2I", 2049, images) + train_labels[8 : 8 + images]
    for name, data in zip(FILES, (train_images, train_labels, *test), strict=True):
        (to / name).write_bytes(data)


def compare(
    network: str, cbo: str, python: str, place: str, size: int, epochs: int, rounds: int
) -> list[dict[str, float]]:
    """The best seconds and the mean loss and test accuracy of JAX in both forms and of cbo."""
    isa = XLA_NAMES.get(os.environ.get("CBO_SIMD", ""))
    flags = os.environ.get("XLA_FLAGS", "") + (f" --xla_cpu_max_isa={isa}" if isa else "")
    turns: list[list[dict[str, float]]] = [[], [], []]
    for seed in range(rounds):
        setting = [f"--network={network}", "--preset=paper", f"--data={place}", f"--batch-data={size}"]
        train = [cbo, "mnist", "train", *setting, f"--epochs={epochs}", f"--seed={seed}", "--json", "--quiet"]
        report = json.loads(output(train))
        turns[2].append({**report, "seconds": report["seconds"] - report["judging_seconds"]})
        for form, times in zip(FORMS, turns, strict=False):
            inside = [python, __file__, "--inside", form, network, place, str(size), str(epochs), str(seed)]
            times.append(json.loads(output(inside, {"XLA_FLAGS": flags.strip(), "JAX_PLATFORMS": "cpu"})))
    return [
        {
            "seconds": min(turn["seconds"] for turn in program),
            "loss": statistics.fmean(turn["loss"] for turn in program),
            "test_accuracy": statistics.fmean(turn["test_accuracy"] for turn in program),
        }
        for program in turns
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, metavar="DIR", help="a folder with the four IDX files, plain or gzip")
    parser.add_argument("--network", choices=[*PARAMETERS, "both"], default="both")
    parser.add_argument("--steps", type=int, default=1000, help="steps of a run, rounded up to whole batches or epochs")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each program")
    parser.add_argument("--threads", type=int, metavar="N", help="cores for both programs (default: all; needs Linux)")
    parser.add_argument("--cbo", metavar="PATH", help="the program cbo (default: built by cargo build --release)")
    args = parser.parse_args()
    if args.steps < 1 or args.rounds < 1:
        sys.exit("--steps and --rounds must be at least 1.")
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        cores = args.threads or len(allowed)
        if not 1 <= cores <= len(allowed):
            sys.exit(f"--threads must be between 1 and {len(allowed)}, the available cores.")
        os.sched_setaffinity(0, allowed[:cores])
    elif args.threads is not None:
        sys.exit("--threads needs Linux: only there can JAX be held to some of the cores.")

    fetched, built_in = cached_images(), ROOT / "crates/cbo-problems/data"
    source = (args.data or (fetched if all(stored(fetched, name) for name in FILES) else built_in)).resolve()
    count = len(content(source, FILES[1])) - 8
    if count == 0:
        sys.exit(f"{source} has no training images.")
    size = next(n for n in range(IMAGES, 0, -1) if count % n == 0)
    epoch_steps = count // size * ROUND
    batches = min(-(-args.steps // ROUND), count // size)
    epochs = -(-args.steps // (batches * ROUND))
    steps = epochs * batches * ROUND

    if args.cbo is None:
        output(["cargo", "build", "--release"])
    cbo = str(Path(args.cbo).resolve() if args.cbo else TARGET / "release" / "cbo")
    python = environment(TARGET / f"compare-jax-{JAX_VERSION}")

    print(f"{count} training images in {source}, {size} per batch; {cores} cores, f32, best of {args.rounds} rounds")
    simd = os.environ.get("CBO_SIMD", "")
    if simd:
        held = f"XLA is held to {XLA_NAMES[simd]}" if simd in XLA_NAMES else "XLA takes what there is"
        print(f"CBO_SIMD={simd} chooses the instruction set of cbo; {held}")
    heads = f"{f's for {steps} steps':>18}{'s per epoch':>12}{'plain / it':>12}{'scanned / it':>14}"
    heads += f"{'loss':>8}{'test accuracy':>15}"
    print(f"\n{'network':<10}{'program':<14}{heads}")
    with tempfile.TemporaryDirectory() as place:
        lay_out(source, batches * size, Path(place))
        for network in PARAMETERS if args.network == "both" else [args.network]:
            runs = compare(network, cbo, python, place, size, epochs, args.rounds)
            for program, run in zip((*(f"JAX, {form}" for form in FORMS), "cbo"), runs, strict=True):
                seconds = run["seconds"]
                faster = f"{runs[0]['seconds'] / seconds:>12.1f}{runs[1]['seconds'] / seconds:>14.1f}"
                times = f"{seconds:>18.3f}{seconds * epoch_steps / steps:>12.2f}{faster}"
                reached = f"{run['loss']:>8.3f}{100 * run['test_accuracy']:>13.1f} %"
                print(f"{network:<10}{program:<14}{times}{reached}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        print(json.dumps(trained_by_jax(*sys.argv[2:5], *map(int, sys.argv[5:]))))
    else:
        main()
