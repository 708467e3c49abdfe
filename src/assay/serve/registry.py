"""Repositories that are registered with a server: a file of the user's configuration, kept over restarts.

The operator of a server registers any folder by command. A request may register only folders inside those that the
operator allows (`[serve] allow` in the user's configuration). Nothing in a repository can register one.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from assay.config import user
from assay.config.roots import Root, roots
from assay.errors import AssayError
from assay.store.layout import lock_file
from assay.system.files import TooLarge, atomic_write, check_extent, read_regular
from assay.text.suggest import did_you_mean

NAME = "repositories.json"
FORMAT = 1
MOST = 1_000  # each has a thread and watches its files
_MAX_BYTES = 4_000_000
_POLL_SECONDS = 1.0
_LABEL = re.compile(r"[\w.@+-]{1,100}")


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    label: str
    path: str


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: int
    repositories: list[_Entry]


class Registry:
    """The registered repositories in a file, by default `repositories.json` in the user's configuration folder."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or user.directory() / NAME

    def all(self) -> list[Root]:
        """Return the registered repositories by label, also those that are gone. Raises AssayError if damaged."""
        return sorted(_read(self.path), key=lambda root: root.label)

    def usable(self) -> tuple[list[Root], list[str]]:
        """Return the repositories that can be served, and the problems of the others."""
        usable, problems = list[Root](), list[str]()
        for root in self.all():
            # a link in place of a folder would lead out of what was allowed
            if os.path.realpath(root.path) == str(root.path) and root.path.is_dir():
                usable.append(root)
            else:
                problems.append(f"{root.label}: {root.path} is not the folder that was registered; it is left out")
        return usable, problems

    def add(self, folder: str, label: str = "", allowed: Sequence[Path] | None = None) -> Root:
        """Register a folder and return it as it is served; `allowed`: only inside one of these folders."""
        if not os.path.isabs(folder) or "\0" in folder:
            raise AssayError(f"{folder!r}: name the folder by its absolute path on the server")
        if label and not (_LABEL.fullmatch(label) and label.strip(".")):
            raise AssayError(f"{label!r}: a label has 1 to 100 letters, digits and the characters _ . @ + -")
        path = Path(os.path.realpath(folder))
        if allowed is not None and not any(path.is_relative_to(os.path.realpath(outer)) for outer in allowed):
            # the same answer for folders that exist and those that do not
            raise AssayError(
                f"{folder}: not inside a folder that this server allows ([serve] allow in its configuration)"
            )
        [root] = roots([f"{label}={path}" if label else path])
        check_extent(root.path)
        with self._changing() as registered:
            if len(registered) >= MOST:
                raise AssayError(f"{self.path}: {MOST:,} repositories are registered, which is the most")
            others = [other for other in registered if other.path.is_dir()]
            roots([f"{other.label}={other.path}" for other in (*others, root)])  # raises if two clash
            if any(other.label == root.label for other in registered):
                raise AssayError(f"a repository is registered as '{root.label}'; choose another label")
            registered.append(root)
        return root

    def remove(self, label: str) -> Root:
        """Unregister a repository by its label, or its path, and return it. Its index stays."""
        with self._changing() as registered:
            for root in registered:
                if label in (root.label, str(root.path)):
                    registered.remove(root)
                    return root
            hint = did_you_mean(label, [root.label for root in registered])
            raise AssayError(f"no repository is registered as {label!r}.{hint} assay repositories list shows all")

    def stamp(self) -> tuple[int, int, int] | None:
        """Return a value that changes with the file."""
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    @contextlib.contextmanager
    def _changing(self) -> Iterator[list[Root]]:
        """Yield the repositories to be changed, under a lock; they are written if the block succeeds."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with lock_file(self.path.with_name(f".{self.path.name}.lock")):
                registered = _read(self.path)
                yield registered
                content = _File(FORMAT, [_Entry(root.label, str(root.path)) for root in registered])
                with atomic_write(self.path, sync=True) as file:
                    file.write(msgspec.json.format(msgspec.json.encode(content), indent=1))
        except OSError as error:
            raise AssayError(f"{self.path}: cannot be written ({error.strerror})") from None
        except UnicodeEncodeError:
            raise AssayError("the path of a registered folder must be valid UTF-8") from None


class RegistryWatcher:
    """Calls a function whenever the registered repositories may have changed, from a thread of its own."""

    def __init__(self, registry: Registry, changed: Callable[[], None]) -> None:
        self._registry, self._changed = registry, changed
        self._stop = threading.Event()
        self._stamp = registry.stamp()
        self._thread = threading.Thread(target=self._run, name="assay registry", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_POLL_SECONDS):
            before, self._stamp = self._stamp, self._registry.stamp()
            if self._stamp != before:
                self._changed()


def _read(path: Path) -> list[Root]:
    try:
        content = msgspec.json.decode(read_regular(path, _MAX_BYTES), type=_File)
    except FileNotFoundError:
        return []
    except (OSError, TooLarge, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise AssayError(f"{path}: not a file of repositories ({error})") from None
    if content.format != FORMAT:
        raise AssayError(f"{path}: written by another version of assay")
    return [Root(entry.label, Path(entry.path)) for entry in content.repositories]
