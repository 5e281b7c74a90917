"""Exact checkpoints: a pytree of arrays as one file that proves its own integrity.

The file is an ordinary `.npz` (a zip of `.npy` members, readable with `numpy.load`), so it holds
arrays and nothing that could run. Each leaf is named by its path in the tree. One member more,
`manifest.json`, says each leaf's dtype and the caller's own facts (`extra`). Typed random keys are
stored as their key data with the name of their generator; dtypes that the npy format does not know
(bfloat16) are stored as unsigned integers of the same width and named in the manifest.

The zip's comment, the last 64 bytes of the file, is the SHA-256 of all bytes before it, in
hexadecimal: a file cut short or with one changed bit is refused. A file appears under its name
only when it is whole: it is written beside, synced, and renamed. The bytes depend on the state
alone (no clock), so equal states make equal files.
"""

import contextlib
import hashlib
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from coemarl.refusal import Refusal

MANIFEST = "manifest.json"
FORMAT = 1
DIGEST_BYTES = 64
NATIVE_KINDS = "biufc"


class CheckpointError(Refusal):
    """A checkpoint cannot be used; the message says why."""


class Leaf(NamedTuple):
    """One array of a checkpoint as the manifest describes it."""

    dtype: str
    """The array's dtype, by name; of typed random keys with their generator, as key<fry>."""
    shape: tuple[int, ...]


def save(path: Path, state: Any, extra: Mapping[str, Any]) -> None:
    """Write `state` and the JSON-able `extra` to `path`, all or nothing."""
    names, leaves = named_leaves(state)
    arrays = [host_array(leaf) for leaf in leaves]
    entries = {
        name: {**describe(leaf)._asdict(), "generator": generator_of(leaf)}
        for name, leaf in zip(names, leaves, strict=True)
    }
    manifest = {"format": FORMAT, "leaves": entries, "extra": dict(extra)}
    with replacing(path) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.comment = b"0" * DIGEST_BYTES
            archive.writestr(zipfile.ZipInfo(MANIFEST), json.dumps(manifest, indent=1))
            for name, array in zip(names, arrays, strict=True):
                with archive.open(zipfile.ZipInfo(name + ".npy"), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
        size = file.tell() - DIGEST_BYTES
        digest = digest_of(file, size)
        file.seek(size)
        file.write(digest.encode())


def load(path: Path, like: Any) -> tuple[Any, dict[str, Any]]:
    """The state and `extra` that `save` wrote; CheckpointError if the file is not whole.

    `like` has the state's structure: arrays, or the shapes of `jax.eval_shape`. A leaf that is
    missing, left over, or of another dtype or shape is refused.
    """
    with opened(path) as (archive, manifest):
        names, wanted = named_leaves(like)
        entries = manifest["leaves"]
        stored = {name: Leaf(e["dtype"], tuple(e["shape"])) for name, e in entries.items()}
        check_structure(path, dict(zip(names, map(describe, wanted), strict=True)), stored)
        leaves = [read_array(archive, name, entries[name]) for name in names]
        state = jax.tree.unflatten(jax.tree.structure(like), leaves)
        return state, manifest["extra"]


def read_extra(path: Path) -> dict[str, Any]:
    """Only the caller's facts of a checkpoint, its checksum verified."""
    with opened(path) as (_, manifest):
        return manifest["extra"]


def write_text(path: Path, text: str) -> None:
    """Write a small text file, all or nothing."""
    with replacing(path) as file:
        file.write(text.encode())


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the name `path` once the block ended well; without a trace otherwise."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a loss of power, where the system can."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def digest_of(file: BinaryIO, size: int) -> str:
    """SHA-256 of a file's first `size` bytes, in hexadecimal."""
    file.seek(0)
    digest = hashlib.sha256()
    while size > 0 and (block := file.read(min(size, 1 << 22))):
        digest.update(block)
        size -= len(block)
    return digest.hexdigest()


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any]]]:
    """The archive and the manifest of a checkpoint whose checksum holds."""
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(open(path, "rb"))
        except OSError as error:
            raise CheckpointError(f"cannot read {path}: {error.strerror}") from None
        size = os.fstat(file.fileno()).st_size - DIGEST_BYTES
        digest = digest_of(file, size)
        if size < 0 or file.read(DIGEST_BYTES) != digest.encode():
            raise CheckpointError(f"{path} is damaged: its checksum does not hold")
        try:
            archive = stack.enter_context(zipfile.ZipFile(file))
            manifest = json.loads(archive.read(MANIFEST))
            known = manifest["format"] == FORMAT
        except (zipfile.BadZipFile, KeyError, TypeError, ValueError):
            raise CheckpointError(f"{path} is not a checkpoint of coemarl") from None
        if not known:
            raise CheckpointError(
                f"{path} has format {manifest['format']}; this version reads format {FORMAT}"
            )
        yield archive, manifest


def named_leaves(tree: Any) -> tuple[list[str], list[Any]]:
    """Leaves of a tree with a name for each, made of the keys on the way to it."""
    pairs, _ = jax.tree_util.tree_flatten_with_path(tree)
    names = [jax.tree_util.keystr(path, simple=True, separator="/") or "root" for path, _ in pairs]
    if len(set(names)) != len(names) or MANIFEST in names:
        raise CheckpointError("two leaves of the state have the same name")
    return names, [leaf for _, leaf in pairs]


def is_keys(leaf: Any) -> bool:
    """Whether a leaf (an array or its shape) is an array of typed random keys."""
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def describe(leaf: Any) -> Leaf:
    """What an array is, or what stands for one (shape and dtype)."""
    if not hasattr(leaf, "dtype"):
        leaf = np.asarray(leaf)
    return Leaf(str(leaf.dtype), tuple(leaf.shape))


def generator_of(leaf: Any) -> str:
    """The name by which the keys' generator is found again; empty if the leaf is no keys."""
    return str(jax.random.key_impl(leaf)) if is_keys(leaf) else ""


def host_array(leaf: Any) -> np.ndarray:
    """The array that stands for a leaf in the file."""
    array = np.asarray(jax.random.key_data(leaf) if is_keys(leaf) else leaf)
    if array.dtype.kind not in NATIVE_KINDS or array.dtype.isbuiltin != 1:
        array = array.view(f"u{array.dtype.itemsize}")
    return np.asarray(array, order="C")


def read_array(archive: zipfile.ZipFile, name: str, entry: Mapping[str, Any]) -> jax.Array:
    """One leaf, on the device, with the dtype it was saved with."""
    with archive.open(name + ".npy") as member:
        array = np.lib.format.read_array(member, allow_pickle=False)
    if entry["generator"]:
        return jax.random.wrap_key_data(jnp.array(array), impl=entry["generator"])
    # A copy, because a compiled step takes its argument's memory over.
    return jnp.array(array.view(jnp.dtype(entry["dtype"])), copy=True)


def check_structure(path: Path, wanted: dict[str, Leaf], stored: dict[str, Leaf]) -> None:
    """CheckpointError in one sentence at the first leaf that is not as wanted."""
    for name in sorted(wanted.keys() | stored.keys()):
        if wanted.get(name) != stored.get(name):
            raise CheckpointError(
                f"{path} is of another kind of run: {name} is {say(stored.get(name))} "
                f"in the file and {say(wanted.get(name))} in this run"
            )


def say(leaf: Leaf | None) -> str:
    """A leaf in words."""
    if leaf is None:
        return "missing"
    return f"{leaf.dtype} of shape {leaf.shape}"
