"""Files of named arrays (`*.npz`), read without pickle."""

import zipfile
import zlib
from pathlib import Path

import numpy as np


def read_arrays(file: Path, called: str) -> dict[str, np.ndarray]:
    """The arrays of a file, by name; ValueError, beginning with `called`, if it cannot be read
    whole."""
    try:
        with file.open("rb") as stream:
            stored = np.load(stream, allow_pickle=False)
            if not isinstance(stored, np.lib.npyio.NpzFile):
                raise ValueError("it holds one array without a name")
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{called}: damaged, or no file of arrays: {reason}") from None
