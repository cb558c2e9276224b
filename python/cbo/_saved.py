"""The file of a saved optimizer: settings and arrays in one NumPy archive, written whole or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FORMAT = "cbo optimizer"
_VERSION = 2

# Before the archive: what it is, its version, and the SHA-256 of all the rest. Files of version 1 are the archive alone.
_MAGIC = b"cbo optimizer\r\n"
_VERSION_BYTES = 4
_HEAD = len(_MAGIC) + _VERSION_BYTES + hashlib.sha256().digest_size

DAMAGED = "this is not a saved optimizer, or it is damaged"


def pack(dim: int, settings: dict[str, Any], arrays: dict[str, NDArray[Any]], error: str | None) -> bytes:
    """The bytes of the file."""
    if settings.get("surface") is not None:
        raise TypeError("surface is a function, which a file cannot hold: this optimizer cannot be saved")
    plain = {key: value for key, value in settings.items() if not isinstance(value, np.ndarray)}
    large = {f"settings.{key}": value for key, value in settings.items() if isinstance(value, np.ndarray)}
    head = {"format": _FORMAT, "version": _VERSION, "dim": dim, "settings": plain, "error": error}
    buffer = io.BytesIO()
    members: dict[str, Any] = {"head": np.array(json.dumps(head, default=_plain)), **large, **arrays}
    np.savez(buffer, **members)
    begin = _MAGIC + _VERSION.to_bytes(_VERSION_BYTES, "little")
    archive = buffer.getvalue()
    return begin + hashlib.sha256(begin + archive).digest() + archive


def _archive(data: bytes) -> bytes:
    """The archive in the bytes of the file, of which no bit has changed."""
    if not data.startswith(_MAGIC):
        return data
    digest_at = len(_MAGIC) + _VERSION_BYTES
    begin, digest, archive = data[:digest_at], data[digest_at:_HEAD], data[_HEAD:]
    version = int.from_bytes(begin[len(_MAGIC) :], "little")
    if version > _VERSION:
        raise ValueError(
            f"it has version {version}, or is damaged; this package reads up to {_VERSION}, use a newer one"
        )
    if hashlib.sha256(begin + archive).digest() != digest:
        raise ValueError(f"{DAMAGED}: its checksum is wrong")
    return archive


def _plain(value: Any) -> Any:
    """Numbers of NumPy as numbers of Python, for JSON."""
    return value.item()


Saved = tuple[int, dict[str, Any], dict[str, NDArray[Any]], "str | None"]


def unpack(data: bytes) -> Saved:
    """Dimension, settings, arrays and error from the bytes of the file."""
    data = _archive(data)
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = dict(archive)
        head = json.loads(str(arrays.pop("head")))
        settings = head["settings"] | {
            key.removeprefix("settings."): arrays.pop(key) for key in list(arrays) if key.startswith("settings.")
        }
        found, version, dim, error = head["format"], int(head["version"]), int(head["dim"]), head["error"]
    except Exception:  # other bytes can go wrong in any way that NumPy, zip and JSON know
        found, version = "", 0
    if found != _FORMAT:
        raise ValueError(DAMAGED)
    if version > _VERSION:
        raise ValueError(f"it has version {version}; this package reads up to {_VERSION}, use a newer one")
    return dim, settings, arrays, error


def write(path: Path, data: bytes) -> None:
    """Writes a file beside the old one and then replaces it: a reader finds one or the other, whole."""
    handle, name = tempfile.mkstemp(prefix=path.name + ".", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    if os.name == "posix":
        # The new name is safe only when the folder is written too.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
