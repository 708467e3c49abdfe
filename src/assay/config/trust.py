"""Trust on first use for risky settings of an `assay.toml`.

A setting is risky when it starts a program, opens a connection, names an environment variable or leaves the repository.
Risky settings are used only after `assay trust`; until then the user's configuration or the default applies. A decision
is bound to the real path of the file and to a hash of its risky settings, so that changing any of them, or the target
of a link in them, revokes it. Each decision is a file of its own, so that concurrent decisions do not conflict.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from assay.config import user
from assay.errors import AssayError
from assay.errors import announce as announce_once
from assay.system.files import atomic_write, read_regular
from assay.text.display import printable

# embedders and rerankers that stay in this process
HARMLESS_SPECS = frozenset({"", "none", "lsa", "words", "wordllama", "features"})

_LIMIT = 1_000_000  # bytes of a decision file
_PLAIN = re.compile(r"[\w./~@+-]+")
_NAMED_ROOT = re.compile(r"([\w.@+-]+)=(.+)", re.DOTALL)


class UntrustedSettings(UserWarning):
    """Settings of a repository are ignored because the user has not trusted them."""


@dataclass(frozen=True, slots=True)
class Risk:
    """A risky setting: its value, its effect, and the path it resolves to, if any."""

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
        """The value on one line, safe for a terminal."""
        return _quoted(self.value)


# value, section, folder → value, effect, path
Judge = Callable[[Any, Mapping[str, Any], Path], Iterator[tuple[Any, str, str]]]


# Risky settings


def risks(table: Mapping[str, Any], folder: Path) -> list[Risk]:
    """Return the risky settings of an `assay.toml`. Unknown settings are risky."""
    risky = []
    for section, rows in table.items():
        if section in _HARMLESS and not _HARMLESS[section]:
            continue
        if not isinstance(rows, dict):
            continue  # reported elsewhere
        for name, value in rows.items():
            if name in _HARMLESS.get(section, ()):
                continue
            judge = _RISKY.get((section, name), _unknown)
            risky += [Risk(section, name, *risk) for risk in judge(value, rows, folder)]
    return risky


def without(table: Mapping[str, Any], ignored: Sequence[Risk]) -> dict[str, Any]:
    """Return the table without ignored settings; for lists, without the ignored entries."""
    remaining: dict[str, Any] = {
        section: dict(rows) if isinstance(rows, dict) else rows for section, rows in table.items()
    }
    for risk in ignored:
        rows = remaining[risk.section]
        current = rows.get(risk.name)
        if isinstance(current, list) and not isinstance(risk.value, list):
            rows[risk.name] = [entry for entry in current if entry != risk.value]
        else:
            rows.pop(risk.name, None)
    return remaining


def split_root(text: str, base: Path) -> tuple[str, Path]:
    """Return label and folder of a root written as `path` or `label=path`; the label may be empty."""
    match = _NAMED_ROOT.fullmatch(text)
    try:
        label, written = (match[1], match[2]) if match and not (base / text).is_dir() else ("", text)
        return label, base / Path(written).expanduser()
    except (OSError, ValueError, RuntimeError):  # too long, NUL bytes, an unknown home
        raise AssayError(f"{printable(text)}: no such folder") from None


def is_harmless_spec(spec: object) -> bool:
    """Return whether an embedder, reranker or model runs in this process and reads only the index."""
    return isinstance(spec, str) and spec.strip() in HARMLESS_SPECS


def _judge_spec(data: str, value: Any, _rows: Mapping[str, Any], folder: Path) -> Iterator[tuple[Any, str, str]]:
    """Yield the risk of an embedder, reranker or model."""
    if is_harmless_spec(value) or not isinstance(value, str):
        return
    kind, _, argument = value.strip().partition(":")
    if kind == "folder":
        path = _resolve(folder, argument)
        place = "inside" if _is_inside(path, folder) else "outside"
        yield value, f"runs the model in {_unspoofable(path)}, {place} the repository", path
    else:
        yield value, f"sends {data} to {_server(value)}", ""


def _judge_key(of: str, value: Any, rows: Mapping[str, Any], _folder: Path) -> Iterator[tuple[Any, str, str]]:
    if value != "":
        server = _server(rows[of]) if isinstance(rows.get(of), str) else f"no server, as {of} is not set beside it"
        yield value, f"reads the environment variable {_unspoofable(str(value))} and sends it to {server}", ""


def _judge_roots(value: Any, _rows: Mapping[str, Any], folder: Path) -> Iterator[tuple[Any, str, str]]:
    """Yield each root that resolves to a place outside the folder."""
    for root in value if isinstance(value, list) else ():
        if not isinstance(root, str):
            continue  # reported elsewhere
        path = _resolve(folder, root, lambda text: split_root(text, folder)[1])
        if not _is_inside(path, folder):
            yield root, f"indexes {_unspoofable(path)} as well, and keeps an index in it", path


def _judge_build(value: Any, _rows: Mapping[str, Any], _folder: Path) -> Iterator[tuple[Any, str, str]]:
    if value is not False:
        yield value, "lets the tools of `assay enrich` run code of the repository: builds, build scripts, macros", ""


def _judge_programs(value: Any, _rows: Mapping[str, Any], folder: Path) -> Iterator[tuple[Any, str, str]]:
    """Yield the programs that `assay enrich` would start, with the paths that they resolve to."""
    programs = value.values() if isinstance(value, dict) else ()
    paths = [_resolve(folder, path) for path in programs if isinstance(path, str)]
    if paths:
        yield value, f"starts {', '.join(map(_unspoofable, paths))} when you run assay enrich", "\n".join(paths)


def _unknown(value: Any, _rows: Mapping[str, Any], _folder: Path) -> Iterator[tuple[Any, str, str]]:
    yield value, "is not known to be harmless", ""


def _resolve(folder: Path, written: str, locate: Callable[[str], Path] | None = None) -> str:
    """Return the real path; empty if no file can have that name."""
    try:
        return os.path.realpath(locate(written) if locate else folder / Path(written).expanduser())
    except (AssayError, OSError, ValueError, RuntimeError):
        return ""


def _is_inside(path: str, folder: Path) -> bool:
    return bool(path) and Path(path).is_relative_to(os.path.realpath(folder))


def _server(spec: str) -> str:
    """Return the origin that a spec names, or the quoted spec."""
    return str(user.origin_of_spec(spec) or _quoted(spec))


def _unspoofable(text: str) -> str:
    """Return a path or name as is, or quoted if it has unusual characters, so that it cannot spoof the message."""
    return text if _PLAIN.fullmatch(text) else _quoted(text)


def _quoted(value: Any) -> str:
    return printable(json.dumps(value, ensure_ascii=False, default=str)).replace("\x7f", "\\u007f")


# All settings that need trust: a new setting that reaches outside the repository needs a row here.
_RISKY: dict[tuple[str, str], Judge] = {
    ("search", "embedder"): partial(_judge_spec, "the text of all passages and every query"),
    ("search", "reranker"): partial(_judge_spec, "every query and the passages found for it"),
    ("search", "embedder_key_variable"): partial(_judge_key, "embedder"),
    ("search", "reranker_key_variable"): partial(_judge_key, "reranker"),
    ("ask", "model"): partial(_judge_spec, "every question and the passages found for it"),
    ("ask", "model_key_variable"): partial(_judge_key, "model"),
    ("workspace", "roots"): _judge_roots,
    ("enrich", "allow_build"): _judge_build,
    ("enrich", "programs"): _judge_programs,
}
# Harmless settings; an empty set means the whole section.
_HARMLESS: dict[str, frozenset[str]] = {
    "flags": frozenset({"patterns"}),
    "context": frozenset(),
    "profile": frozenset(),
    "classes": frozenset(),
    "search": frozenset({"k", "chunker", "vectors"}),
    "ask": frozenset({"threshold", "refuse_below"}),
}


# Decisions


def digest(risky: Sequence[Risk]) -> str:
    """Return the hash of risky settings, independent of their order in the file."""
    rows = sorted(json.dumps([risk.section, risk.name, risk.value, risk.resolved], default=str) for risk in risky)
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def is_trusted(file: Path, risky: Sequence[Risk]) -> bool:
    """Return whether the user trusts exactly these settings of this file. An unreadable decision counts as no."""
    try:
        decision = user.decision(file)
    except user.NoHome:
        return False
    try:
        record = json.loads(read_regular(decision, _LIMIT))
        path, trusted = Path(record["file"]), bytes.fromhex(record["sha256"])
    except FileNotFoundError:
        return False
    except (AssayError, OSError, ValueError, KeyError, TypeError, RecursionError):
        announce(f"{decision}: damaged, so it counts as no trust; run: assay trust")
        return False
    return path == Path(os.path.realpath(file)) and trusted.hex() == digest(risky)


def announce(message: str) -> None:
    """Warn on one line, once per process: servers reload their configuration, and workers load it, too."""
    announce_once(" ".join(printable(message).splitlines()), UntrustedSettings)


def grant(file: Path, risky: Sequence[Risk]) -> None:
    """Trust these settings of this file."""
    decision = user.decision(file)
    record = {"file": os.path.realpath(file), "sha256": digest(risky), "settings": [risk.title for risk in risky]}
    try:
        decision.parent.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        decision.parent.mkdir(exist_ok=True, mode=0o700)
        with atomic_write(decision, sync=True) as out:
            os.chmod(out.fileno() if os.chmod in os.supports_fd else out.name, 0o600)
            out.write(json.dumps(record, indent=1).encode())
    except OSError as error:
        raise AssayError(f"{decision}: cannot be written ({error.strerror or error})") from None


def revoke(file: Path) -> bool:
    """Revoke the trust in a file; False if there was none."""
    try:
        user.decision(file).unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise AssayError(f"{user.decision(file)}: cannot be removed ({error.strerror or error})") from None
    return True
