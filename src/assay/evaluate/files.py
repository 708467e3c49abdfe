"""Files that measuring writes: each in a single step, those of the repository inside of it."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

from assay.errors import AssayError
from assay.system.files import atomic_write


def write_text(path: Path, text: str) -> None:
    """Writes a file so that a reader sees the old one or the whole new one. Gzipped when its name ends in .gz."""
    target = Path(os.path.realpath(path))  # a link stays a link
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        content = text.encode()
        with atomic_write(target, sync=True) as file:
            file.write(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    except UnicodeEncodeError as error:
        raise AssayError(f"{path}: cannot be written as UTF-8 ({error.object[error.start]!r}); remove it") from None
    except OSError as error:
        raise AssayError(f"{path}: cannot be written ({error.strerror or error}); give another place") from None


def file_of(root: Path, name: str) -> Path:
    """Return the path of a repository's own file; raise AssayError when a link there leads out of the repository."""
    path = root / name
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise AssayError(f"{path}: a link leads out of the repository; name another file")
    return path
