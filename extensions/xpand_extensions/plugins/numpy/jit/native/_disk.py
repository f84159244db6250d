"""Compiled objects on disk, in the folder that the variable `XPAND_CACHE_DIR` of the environment names, if it is set.

The name of a file is the hash of everything that the machine code depends on. The file starts with a hash of this name
and of the code. A file that doesn't match is compiled again, and never executed. Anyone who can write to the folder can
execute code.
"""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

import llvmlite
from llvmlite import binding as llvm

VARIABLE: Final = "XPAND_CACHE_DIR"
_DIGEST: Final = 32


def path_of(text: str) -> Path | None:
    """Return the path of a program's object; None if nothing is written to disk."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return None
    machine = llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    versions = llvmlite.__version__, str(llvm.llvm_version_info)
    key = sha256("\0".join((*machine, *versions, text)).encode()).hexdigest()
    return Path(folder) / "native" / f"{key}.o"


def read(path: Path) -> bytes | None:
    """Return the object in a file; None if there is none, or if the file was changed."""
    try:
        found = path.read_bytes()
    except OSError:
        return None
    digest, code = found[:_DIGEST], found[_DIGEST:]
    return code if digest == _digest(path, code) else None


def write(path: Path, code: bytes) -> None:
    """Write an object to a file atomically. Errors are ignored, for example if the folder can't be written to."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(_digest(path, code) + code)
        Path(file.name).replace(path)


def _digest(path: Path, code: bytes) -> bytes:
    return sha256(path.name.encode() + code).digest()
