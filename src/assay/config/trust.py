"""Trust on first use: the settings of an `assay.toml` that need the user's word, and that word.

A setting is risky when it starts a program, opens a connection, names an environment variable or leaves the repository. Risky
settings count after `assay trust`; until then the user's own configuration or the default is used. A decision is bound to the real
path of the file and to a hash of its risky settings, so changing any of them, or where a link of theirs leads, ends it. Every decision
is a file of its own: two processes that decide at the same time do not meet.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from assay.config import user
from assay.errors import AssayError
from assay.system.files import atomic_write, read_regular
from assay.text.display import printable

# embedders and rerankers that stay in this process
HARMLESS_SPECS = frozenset({"", "none", "lsa", "wordllama", "features"})

_LIMIT = 1_000_000  # bytes of a decision
_ANNOUNCED: set[str] = set()
_PLAIN = re.compile(r"[\w./~@+-]+")
_NAMED_ROOT = re.compile(r"([\w.@+-]+)=(.+)", re.DOTALL)


class UntrustedSettings(UserWarning):
    """Settings of a repository are ignored because the user has not trusted them."""


@dataclass(frozen=True, slots=True)
class Risk:
    """A risky setting: its value, what it would do, and the path that it means where it means one."""

    section: str
    name: str
    value: Any
    effect: str
    resolved: str = ""

    @property
    def title(self) -> str:
        return f"[{self.section}] {self.name}"

    @property
    def shown(self) -> str:
        """The value on one line, fit for a terminal."""
        return _quoted(self.value)


# value, section, folder → value, effect, path
Judge = Callable[[Any, Mapping[str, Any], Path], Iterator[tuple[Any, str, str]]]


# which settings are risky


def risks(table: Mapping[str, Any], folder: Path) -> list[Risk]:
    """Return the risky settings of an `assay.toml` in a folder. A setting that no table below knows is one."""
    found = []
    for section, rows in table.items():
        if section in _HARMLESS and not _HARMLESS[section]:
            continue
        if not isinstance(rows, dict):
            continue  # an error that is reported elsewhere
        for name, value in rows.items():
            if name in _HARMLESS.get(section, ()):
                continue
            judge = _RISKY.get((section, name), _unknown)
            found += [Risk(section, name, *risk) for risk in judge(value, rows, folder)]
    return found


def without(table: Mapping[str, Any], ignored: Sequence[Risk]) -> dict[str, Any]:
    """Return the table without settings that are ignored; of a list, without those of its entries."""
    kept: dict[str, Any] = {section: dict(rows) if isinstance(rows, dict) else rows for section, rows in table.items()}
    for risk in ignored:
        rows = kept[risk.section]
        before = rows.get(risk.name)
        if isinstance(before, list) and not isinstance(risk.value, list):
            rows[risk.name] = [entry for entry in before if entry != risk.value]
        else:
            rows.pop(risk.name, None)
    return kept


def split_root(text: str, base: Path) -> tuple[str, Path]:
    """Return label and folder of a root written as `path` or `label=path`; the label is empty without one."""
    named = _NAMED_ROOT.fullmatch(text)
    try:
        label, written = (named[1], named[2]) if named and not (base / text).is_dir() else ("", text)
        return label, base / Path(written).expanduser()
    except (OSError, ValueError, RuntimeError):  # too long, a NUL, the home of nobody
        raise AssayError(f"{printable(text)}: no such folder") from None


def is_harmless_spec(spec: object) -> bool:
    """Tell whether an embedder, reranker or model stays in this process and reads nothing but the index."""
    return isinstance(spec, str) and spec.strip() in HARMLESS_SPECS


def _judge_spec(what: str, value: Any, _rows: Mapping[str, Any], folder: Path) -> Iterator[tuple[Any, str, str]]:
    """An embedder, a reranker or a model that writes."""
    if is_harmless_spec(value) or not isinstance(value, str):
        return
    kind, _, argument = value.strip().partition(":")
    if kind == "folder":
        path = _resolve(folder, argument)
        place = "inside" if _is_inside(path, folder) else "outside"
        yield value, f"runs the model in {_named(path)}, {place} the repository", path
    else:
        yield value, f"sends {what} to {_server(value)}", ""


def _judge_key(of: str, value: Any, rows: Mapping[str, Any], _folder: Path) -> Iterator[tuple[Any, str, str]]:
    if value != "":
        server = _server(rows[of]) if isinstance(rows.get(of), str) else f"no server, as {of} is not set beside it"
        yield value, f"reads the environment variable {_named(str(value))} and sends it to {server}", ""


def _judge_roots(value: Any, _rows: Mapping[str, Any], folder: Path) -> Iterator[tuple[Any, str, str]]:
    """Each root that is outside of the folder, whatever links it takes."""
    for root in value if isinstance(value, list) else ():
        if not isinstance(root, str):
            continue  # an error that is reported elsewhere
        path = _resolve(folder, root, lambda text: split_root(text, folder)[1])
        if not _is_inside(path, folder):
            yield root, f"indexes {_named(path)} as well, and keeps an index in it", path


def _unknown(value: Any, _rows: Mapping[str, Any], _folder: Path) -> Iterator[tuple[Any, str, str]]:
    yield value, "is not known to be harmless", ""


def _resolve(folder: Path, written: str, locate: Callable[[str], Path] | None = None) -> str:
    """The path that is meant, all links followed; empty for one that no file can have."""
    try:
        return os.path.realpath(locate(written) if locate else folder / Path(written).expanduser())
    except (AssayError, OSError, ValueError, RuntimeError):
        return ""


def _is_inside(path: str, folder: Path) -> bool:
    return bool(path) and Path(path).is_relative_to(os.path.realpath(folder))


def _server(spec: str) -> str:
    """The server that a spec names, as it is looked up; else the spec itself."""
    from assay.config.servers import origin_of_spec  # most repositories name no server

    return str(origin_of_spec(spec) or _quoted(spec))


def _named(text: str) -> str:
    """A path or a name as it is; one with anything unusual in quotes, so that it cannot pose as more than itself."""
    return text if _PLAIN.fullmatch(text) else _quoted(text)


def _quoted(value: Any) -> str:
    return printable(json.dumps(value, ensure_ascii=False, default=str)).replace("\x7f", "\\u007f")


# the one table of what needs trust: a new setting that reaches out of the repository is a row here
_RISKY: dict[tuple[str, str], Judge] = {
    ("search", "embedder"): partial(_judge_spec, "the text of all passages and every query"),
    ("search", "reranker"): partial(_judge_spec, "every query and the passages found for it"),
    ("search", "embedder_key_variable"): partial(_judge_key, "embedder"),
    ("search", "reranker_key_variable"): partial(_judge_key, "reranker"),
    ("ask", "model"): partial(_judge_spec, "every question and the passages found for it"),
    ("ask", "model_key_variable"): partial(_judge_key, "model"),
    ("workspace", "roots"): _judge_roots,
}
# what is known to be harmless; an empty set is a section that is so as a whole
_HARMLESS: dict[str, frozenset[str]] = {
    "context": frozenset(),
    "profile": frozenset(),
    "classes": frozenset(),
    "search": frozenset({"k", "chunker", "vectors"}),
    "ask": frozenset({"threshold"}),
}


# decisions


def digest(found: Sequence[Risk]) -> str:
    """Return the hash of risky settings, whatever their order in the file."""
    rows = sorted(json.dumps([risk.section, risk.name, risk.value, risk.resolved], default=str) for risk in found)
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def is_trusted(file: Path, found: Sequence[Risk]) -> bool:
    """Tell whether the user has trusted exactly these settings of this file. A decision that cannot be read is none, and is reported."""
    try:
        decision = user.decision(file)
    except user.NoHome:
        return False
    try:
        written = json.loads(read_regular(decision, _LIMIT))
        named, trusted = Path(written["file"]), bytes.fromhex(written["sha256"])
    except FileNotFoundError:
        return False
    except (AssayError, OSError, ValueError, KeyError, TypeError, RecursionError):
        announce(f"{decision}: damaged, so it counts as no trust; run: assay trust")
        return False
    return named == Path(os.path.realpath(file)) and trusted.hex() == digest(found)


def announce(message: str) -> None:
    """Warn on one line, once: a server loads its configuration with every change of a file, and workers load it as well."""
    processes = sys.modules.get("multiprocessing.process")
    if message in _ANNOUNCED or (processes and processes.parent_process()):
        return
    _ANNOUNCED.add(message)
    warnings.warn(" ".join(printable(message).splitlines()), UntrustedSettings, stacklevel=1)


def grant(file: Path, found: Sequence[Risk]) -> None:
    """Trust these settings of this file."""
    decision = user.decision(file)
    record = {"file": os.path.realpath(file), "sha256": digest(found), "settings": [risk.title for risk in found]}
    try:
        decision.parent.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        decision.parent.mkdir(exist_ok=True, mode=0o700)
        with atomic_write(decision, sync=True) as out:
            os.chmod(out.fileno() if os.chmod in os.supports_fd else out.name, 0o600)
            out.write(json.dumps(record, indent=1).encode())
    except OSError as error:
        raise AssayError(f"{decision}: cannot be written ({error.strerror or error})") from None


def revoke(file: Path) -> bool:
    """End the trust in a file; False when there was none."""
    try:
        user.decision(file).unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise AssayError(f"{user.decision(file)}: cannot be removed ({error.strerror or error})") from None
    return True
