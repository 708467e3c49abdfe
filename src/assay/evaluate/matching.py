"""What counts as found: matchers between a hit and an expectation. The matcher's name is part of a run.

Inclusions that hold by construction: what is `exact` is `strict`, what is `strict` is `dotted`, what is `exact` is `symbol`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from assay.core.golden import Expected, GoldenSet, Hit
from assay.errors import AssayError
from assay.text.terms import nearest

_OVERLAP = 0.5  # of the shorter span: seed 001's rule for chunks of different chunkers


@dataclass(frozen=True, slots=True)
class Matcher:
    """How hits are held against expectations of one level.

    `once`: an expected thing is used up by the first hit that matches it; otherwise several hits may be relevant for the same one.
    """

    name: str
    meaning: str
    level: str  # empty: the finest level the golden set has
    matches: Callable[[Hit, Expected], bool]
    once: bool = True

    def level_for(self, golden: GoldenSet) -> str:
        return self.level or next((level for level in _FINEST_FIRST if level in golden.levels), "symbol")


_FINEST_FIRST = ("chunk", "span", "symbol", "doc", "file")
_DEFAULT = {"chunk": "chunk", "symbol": "strict", "span": "span", "doc": "doc", "file": "file"}


def default_for(golden: GoldenSet) -> Matcher:
    """The matcher of the finest level the golden set has expectations at."""
    return MATCHERS[_DEFAULT[MATCHERS["exact"].level_for(golden)]]


def matcher(name: str) -> Matcher:
    """A matcher by name; an unknown name is an error that offers the nearest."""
    found = MATCHERS.get(name)
    if found is None:
        near = nearest(name, MATCHERS, 1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise AssayError(f"unknown matching '{name}'.{hint} Known: {', '.join(MATCHERS)}")
    return found


def matcher_for(golden: GoldenSet, name: str | None) -> Matcher:
    """The matcher named, if the set has anything for it to judge; else the one that fits the set."""
    if not name:
        return default_for(golden)
    chosen = matcher(name)
    level = chosen.level_for(golden)
    if golden.levels and level not in golden.levels:
        raise AssayError(
            f"{golden.path}: matching '{name}' judges {level} expectations, but the set has only {', '.join(golden.levels)}; "
            f"try --matching {default_for(golden).name}"
        )
    return chosen


# equality


def exact(hit: Hit, expected: Expected) -> bool:
    return bool(expected.name) and expected.name in (hit.id, hit.symbol, hit.path, hit.doc)


def chunk(hit: Hit, expected: Expected) -> bool:
    return hit.id == expected.name


def doc(hit: Hit, expected: Expected) -> bool:
    return expected.name in (hit.document, hit.id, hit.path)


def file(hit: Hit, expected: Expected) -> bool:
    return same_path(hit.path or path_in(hit.id) or hit.document, expected.name)


def span(hit: Hit, expected: Expected) -> bool:
    """The same document, and the expected page, else at least half of the shorter of the two spans in common."""
    where = expected.doc or expected.name
    if not (where == hit.document or same_path(hit.path or hit.document, where)):
        return False
    if expected.page:
        return hit.page == expected.page
    if not (hit.end and expected.end):
        return False
    shared = min(hit.end, expected.end) - max(hit.start, expected.start) + 1
    shorter = min(hit.end - hit.start, expected.end - expected.start) + 1
    return shared > 0 and shared >= _OVERLAP * shorter


def same_path(found: str, wanted: str) -> bool:
    """Whether a path is the wanted one, perhaps with folders in front of it."""
    found, wanted = _plain(found), _plain(wanted)
    return bool(wanted) and (found == wanted or found.endswith("/" + wanted))


@lru_cache(maxsize=1 << 17)
def _plain(path: str) -> str:
    path = path.replace("\\", "/")
    while path.startswith("./"):
        path = path[2:]
    return path


# symbols, as seed 000 counts them


def symbol(hit: Hit, expected: Expected) -> bool:
    """The expected name stands anywhere in the hit's full name, or is `package.Symbol` where that has `package.Type.Symbol`."""
    names = _full_names(hit.id, hit.symbol, hit.path, hit.doc)
    if any(expected.name in name for name in names):
        return bool(expected.name)
    package, dot, last = expected.name.partition(".")
    if not dot:
        return False
    return any(
        name.endswith("." + last)
        and (f"/{package}." in name or f"/{package}/" in name or name.startswith(f"{package}."))
        for name in names
    )


@lru_cache(maxsize=1 << 17)
def _full_names(identity: str, symbol: str, path: str, doc: str) -> tuple[str, ...]:
    """The hit's id and name, and `folder/module.Type.method`, `folder.Type.method` made from its path."""
    path, dots = path or path_in(identity), symbol.replace("::", ".")
    names = [identity, symbol, dots, path, doc]
    if path and symbol:
        folder, _, stem = path.rpartition("/")
        names += [f"{folder}/{stem.rpartition('.')[0] or stem}.{dots}", f"/{folder}.{dots}"]
    return tuple(name for name in dict.fromkeys(names) if name)


# symbols, as the cross-repository benchmark counts them

_SOURCE = (".go", ".py", ".ts", ".tsx", ".js", ".jsx", ".rs", ".java", ".cs", ".rb")
_DECLARATION = re.compile(r"(?:func|type|var|const|def|class|interface|struct) ")
_GENERIC = re.compile(r"<[^<>]*>")
# a path ends in an extension, which unlike a type begins small, or in a name without dots under a folder
_LOCATED = re.compile(
    r"(?P<path>(?:[A-Z]:)?[^:]*?(?:\.(?:[a-z]\w{0,6}|R)|/[^:/.#]+))(?:::.+|(?:#[^:]*)?(?::\d+(?:-\d+)?)+)"
)


def strict(hit: Hit, expected: Expected) -> bool:
    """One name is a whole-component suffix of the other; a qualified expectation needs two components in common."""
    if exact(hit, expected):
        return True
    wanted_path, path = path_in(expected.name), hit.path or path_in(hit.id)
    if wanted_path and path and not same_path(path, wanted_path):
        return False
    found, wanted = components(hit.symbol or hit.id), components(expected.name)
    if not found or not wanted:
        return False
    if len(found) >= len(wanted):
        return found[-len(wanted) :] == wanted
    return len(found) >= 2 and wanted[-len(found) :] == found


def dotted(hit: Hit, expected: Expected) -> bool:
    """`strict`, or alike whatever the case: suffix either way, last part with a shared qualifier, one contained in the other at dots."""
    return strict(hit, expected) or _alike(bare_name(hit.symbol or hit.id), bare_name(expected.name))


@lru_cache(maxsize=1 << 20)
def _alike(found: str, wanted: str) -> bool:
    if not found or not wanted:
        return False
    low, goal = found.lower(), wanted.lower()
    if low == goal or low.endswith("." + goal) or goal.endswith("." + low):
        return True
    parts, goals = low.split("."), goal.split(".")
    if parts[-1] and parts[-1] == goals[-1]:
        shared = len(parts) == 1 or len(goals) == 1 or set(parts[:-1]) & set(goals[:-1])
        if shared:
            return True
    return _contains(found, wanted) or _contains(wanted, found)


def _contains(outer: str, inner: str) -> bool:
    """Whether one name stands in the other, first occurrence, between component borders."""
    outer, inner = outer.replace("::", "."), inner.replace("::", ".")
    at = outer.find(inner)
    end = at + len(inner)
    return at >= 0 and (at == 0 or outer[at - 1] == ".") and (end == len(outer) or outer[end] == ".")


@lru_cache(maxsize=1 << 17)
def components(name: str) -> tuple[str, ...]:
    """The parts of a name without path, generics and doubled neighbours: `a.rs::Map<K>::get` → Map, get."""
    text, before = bare_name(name), None
    while before != text:
        before, text = text, _GENERIC.sub("", text)
    parts: list[str] = []
    for piece in re.split(r"::|[.#]", text):
        part = piece.strip("*&() ")
        if part and (not parts or parts[-1] != part):
            parts.append(part)
    return tuple(parts)


@lru_cache(maxsize=1 << 17)
def bare_name(raw: str) -> str:
    """The symbol in a name of any notation: `path/file.py::A.b`, `file.go:12:func Run() {`, `host/pkg/path.Type.Method`, `A.b`."""
    text = raw.strip().rstrip(".").rstrip("(")
    path = path_in(text)
    if path:
        return text[len(path) + 2 :] if text.startswith(path + "::") else ""
    pieces = text.split(":", 2)
    if len(pieces) == 3 and pieces[0].endswith(_SOURCE):
        content = (
            _DECLARATION.sub("", pieces[2].strip(), count=1)
            if _DECLARATION.match(pieces[2].strip())
            else pieces[2].strip()
        )
        opening = re.search(r"[( {\[<]", content)
        return content[: opening.start()] if opening and opening.start() > 0 else content
    if len(pieces) >= 2 and pieces[0].endswith(_SOURCE):
        return text.split(":", 1)[1].strip()
    text = _without_host(_after_path(text.partition("://")[2] or text))
    return text[text.rfind("/") + 1 :]


def _after_path(text: str) -> str:
    """Drops the file or package path in front of a symbol."""
    for suffix in _SOURCE:  # the first that occurs decides, at its last occurrence
        at = text.rfind(suffix + ".")
        if at >= 0:
            return text[at + len(suffix) + 1 :]
    if "/" in text:
        tail = text[text.rfind("/") + 1 :]
        return tail.partition(".")[2] if "." in tail else tail
    parts = text.split(".")
    for at, part in enumerate(parts):
        if "A" <= part.lstrip("_")[:1] <= "Z":  # where the types begin: what stands before is a package
            return ".".join(parts[at:])
    return parts[-1]


def _without_host(text: str) -> str:
    parts = text.split("/")
    if len(parts) >= 3 and "." in parts[0] and not re.search("[A-Z]", parts[0]):
        return "/".join(parts[3:])
    return text


@lru_cache(maxsize=1 << 17)
def path_in(name: str) -> str:
    """The path of `path/file.ext::symbol`, `path/file.ext:12` or `path/file.ext#section:12-30`; empty when there is none."""
    found = _LOCATED.fullmatch(name)
    return found["path"] if found else ""


MATCHERS: dict[str, Matcher] = {
    one.name: one
    for one in (
        Matcher("exact", "the very name: id, symbol, path or document", "", exact),
        Matcher("symbol", "seed 000: substring of the full name, or package.Symbol for package.Type.Symbol", "symbol", symbol, once=False),
        Matcher("dotted", "generous: suffix, shared qualifier or containment at dots; a class counts for its methods", "symbol", dotted, once=False),
        Matcher("strict", "qualified suffix, each expectation once", "symbol", strict),
        Matcher("file", "the file, whatever in it", "file", file),
        Matcher("doc", "the document, whatever in it", "doc", doc),
        Matcher("chunk", "the chunk id", "chunk", chunk),
        Matcher("span", "the same document and at least half of the shorter span in common", "span", span),
    )
}  # fmt: skip
