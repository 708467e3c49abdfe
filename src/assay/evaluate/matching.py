"""Matchers: decide whether a hit satisfies an expectation. The matcher's name is stored with a run.

By construction `exact` implies `strict`, `strict` implies `dotted`, and `exact` implies `symbol`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from assay.core.golden import Expected, GoldenSet, Hit
from assay.errors import AssayError
from assay.text.suggest import did_you_mean

_MIN_OVERLAP = 0.5  # share of the shorter span: seed 001's rule for chunks of different chunkers


@dataclass(frozen=True, slots=True)
class Matcher:
    """Matches hits to expectations of one level.

    `once`: an expectation is consumed by the first hit that matches it; otherwise several hits may be relevant for it.
    """

    name: str
    meaning: str
    level: str  # empty: the finest level the golden set has
    matches: Callable[[Hit, Expected], bool]
    once: bool = True

    def level_for(self, golden: GoldenSet) -> str:
        return self.level or default_level(golden, golden.levels)


_PASSAGE_LEVELS = ("chunk", "span")  # finest first; where a set has passages, they are what it is about
_NAME_LEVELS = ("symbol", "doc", "file")  # finest first; a query may have one of them as an extra
_LEVEL_BY_FORMAT = {"queries": "file"}  # seed 004 judges files; its symbols are optional
_DEFAULT_BY_LEVEL = {"chunk": "chunk", "symbol": "strict", "span": "span", "doc": "doc", "file": "file"}


def default_level(golden: GoldenSet, levels: Sequence[str]) -> str:
    """Return which of these levels to judge: the format's own, passages, else names that most queries expect."""
    by_format = _LEVEL_BY_FORMAT.get(golden.format, "")
    if by_format in levels:
        return by_format
    passages = [level for level in _PASSAGE_LEVELS if level in levels]
    if passages:
        return passages[0]
    covered = {level: sum(bool(query.at(level)) for query in golden.queries) for level in _NAME_LEVELS}
    return max((level for level in _NAME_LEVELS if level in levels), key=covered.__getitem__, default="symbol")


def default_for(golden: GoldenSet, levels: Sequence[str] = ()) -> Matcher:
    """Return the matcher of the level to judge by default, among these levels or all that the set has."""
    return MATCHERS[_DEFAULT_BY_LEVEL[default_level(golden, levels or golden.levels)]]


def matcher(name: str) -> Matcher:
    """Return the matcher of that name; raise AssayError with the nearest name when there is none."""
    match_by = MATCHERS.get(name)
    if match_by is None:
        raise AssayError(f"unknown matching '{name}'.{did_you_mean(name, MATCHERS)} Known: {', '.join(MATCHERS)}")
    return match_by


def matcher_for(golden: GoldenSet, name: str | None) -> Matcher:
    """Return the named matcher, or the set's default; raise AssayError when the set has no such level."""
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


# by equality


def exact(hit: Hit, expected: Expected) -> bool:
    return bool(expected.name) and expected.name in (hit.id, hit.symbol, hit.path, hit.doc)


def chunk(hit: Hit, expected: Expected) -> bool:
    return hit.id == expected.name


def doc(hit: Hit, expected: Expected) -> bool:
    return expected.name in (hit.document, hit.id, hit.path)


def file(hit: Hit, expected: Expected) -> bool:
    return same_path(hit.path or path_in(hit.id) or hit.document, expected.name)


def span(hit: Hit, expected: Expected) -> bool:
    """Match the same document and the expected page, or at least half of the shorter span."""
    where = expected.doc or expected.name
    if not (where == hit.document or same_path(hit.path or hit.document, where)):
        return False
    if expected.page:
        return hit.page == expected.page
    if not (hit.end and expected.end):
        return False
    shared = min(hit.end, expected.end) - max(hit.start, expected.start) + 1
    shorter = min(hit.end - hit.start, expected.end - expected.start) + 1
    return shared > 0 and shared >= _MIN_OVERLAP * shorter


def same_path(path: str, suffix: str) -> bool:
    """Return True when `path` is `suffix` or ends with it at a folder border."""
    path, suffix = _normalize_path(path), _normalize_path(suffix)
    return bool(suffix) and (path == suffix or path.endswith("/" + suffix))


@lru_cache(maxsize=1 << 17)
def _normalize_path(path: str) -> str:
    path = path.replace("\\", "/")
    while path.startswith("./"):
        path = path[2:]
    return path


# symbols, by seed 000's rule


def symbol(hit: Hit, expected: Expected) -> bool:
    """Match the expected name anywhere in the hit's full name, or `package.Symbol` for `package.Type.Symbol`."""
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
    """Return the hit's id and name, and `folder/module.Type.method` and `folder.Type.method` from its path."""
    path, dots = path or path_in(identity), symbol.replace("::", ".")
    names = [identity, symbol, dots, path, doc]
    if path and symbol:
        folder, _, stem = path.rpartition("/")
        names += [f"{folder}/{stem.rpartition('.')[0] or stem}.{dots}", f"/{folder}.{dots}"]
    return tuple(name for name in dict.fromkeys(names) if name)


# symbols, by the cross-repository benchmark's rules

_SOURCE_SUFFIXES = (".go", ".py", ".ts", ".tsx", ".js", ".jsx", ".rs", ".java", ".cs", ".rb")
_DECLARATION = re.compile(r"(?:func|type|var|const|def|class|interface|struct) ")
_GENERIC = re.compile(r"<[^<>]*>")
# a path ends in an extension, which unlike a type starts in lower case, or in a name without dots under a folder
_LONGEST_NAME = 5_000  # characters: paths are shorter
_PATH_AND_LOCATION = re.compile(
    r"(?P<path>(?:[A-Z]:)?[^:]*?(?:\.(?:[a-z]\w{0,6}|R)|/[^:/.#]+))(?:::.+|(?:#[^:]*)?(?::\d+(?:-\d+)?)+)"
)


def strict(hit: Hit, expected: Expected) -> bool:
    """Match when one name is a whole-component suffix of the other.

    A hit's name shorter than the expectation needs at least two components.
    """
    if exact(hit, expected):
        return True
    expected_path, path = path_in(expected.name), hit.path or path_in(hit.id)
    if expected_path and path and not same_path(path, expected_path):
        return False
    actual, expected_parts = components(hit.symbol or hit.id), components(expected.name)
    if not actual or not expected_parts:
        return False
    if len(actual) >= len(expected_parts):
        return actual[-len(expected_parts) :] == expected_parts
    return len(actual) >= 2 and expected_parts[-len(actual) :] == actual


def dotted(hit: Hit, expected: Expected) -> bool:
    """Match like `strict`, or ignoring case.

    Then a suffix either way, a last part with a shared qualifier, or containment at dots is enough.
    """
    return strict(hit, expected) or _is_alike(bare_name(hit.symbol or hit.id), bare_name(expected.name))


@lru_cache(maxsize=1 << 20)
def _is_alike(actual: str, expected: str) -> bool:
    if not actual or not expected:
        return False
    actual_lower, expected_lower = actual.lower(), expected.lower()
    if (
        actual_lower == expected_lower
        or actual_lower.endswith("." + expected_lower)
        or expected_lower.endswith("." + actual_lower)
    ):
        return True
    actual_parts, expected_parts = actual_lower.split("."), expected_lower.split(".")
    if actual_parts[-1] and actual_parts[-1] == expected_parts[-1]:
        shared = len(actual_parts) == 1 or len(expected_parts) == 1 or set(actual_parts[:-1]) & set(expected_parts[:-1])
        if shared:
            return True
    return _contains(actual, expected) or _contains(expected, actual)


def _contains(outer: str, inner: str) -> bool:
    """Return True when the first occurrence of `inner` in `outer` lies between component borders."""
    outer, inner = outer.replace("::", "."), inner.replace("::", ".")
    start = outer.find(inner)
    end = start + len(inner)
    return start >= 0 and (start == 0 or outer[start - 1] == ".") and (end == len(outer) or outer[end] == ".")


@lru_cache(maxsize=1 << 17)
def components(name: str) -> tuple[str, ...]:
    """Return the parts of a name without path, generics and repeated neighbours: `a.rs::Map<K>::get` → Map, get."""
    text, previous = bare_name(name), None
    while previous != text:
        previous, text = text, _GENERIC.sub("", text)
    parts: list[str] = []
    for piece in re.split(r"::|[.#]", text):
        part = piece.strip("*&() ")
        if part and (not parts or parts[-1] != part):
            parts.append(part)
    return tuple(parts)


@lru_cache(maxsize=1 << 17)
def bare_name(raw: str) -> str:
    """Return the symbol in a name of any notation.

    `path/file.py::A.b`, `file.go:12:func Run() {`, `host/pkg/path.Type.Method`, `A.b`.
    """
    text = raw.strip().rstrip(".").rstrip("(")
    path = path_in(text)
    if path:
        return text[len(path) + 2 :] if text.startswith(path + "::") else ""
    pieces = text.split(":", 2)
    if len(pieces) == 3 and pieces[0].endswith(_SOURCE_SUFFIXES):
        content = (
            _DECLARATION.sub("", pieces[2].strip(), count=1)
            if _DECLARATION.match(pieces[2].strip())
            else pieces[2].strip()
        )
        opening = re.search(r"[( {\[<]", content)
        return content[: opening.start()] if opening and opening.start() > 0 else content
    if len(pieces) >= 2 and pieces[0].endswith(_SOURCE_SUFFIXES):
        return text.split(":", 1)[1].strip()
    text = _strip_host(_strip_path(text.partition("://")[2] or text))
    return text[text.rfind("/") + 1 :]


def _strip_path(text: str) -> str:
    """Drop the file or package path in front of a symbol."""
    for suffix in _SOURCE_SUFFIXES:  # the first that occurs decides, at its last occurrence
        index = text.rfind(suffix + ".")
        if index >= 0:
            return text[index + len(suffix) + 1 :]
    if "/" in text:
        tail = text[text.rfind("/") + 1 :]
        return tail.partition(".")[2] if "." in tail else tail
    parts = text.split(".")
    for index, part in enumerate(parts):
        if "A" <= part.lstrip("_")[:1] <= "Z":  # types start here; the parts before are packages
            return ".".join(parts[index:])
    return parts[-1]


def _strip_host(text: str) -> str:
    parts = text.split("/")
    if len(parts) >= 3 and "." in parts[0] and not re.search("[A-Z]", parts[0]):
        return "/".join(parts[3:])
    return text


_FILE_SUFFIX = re.compile(r"[^\s:]*[^\s:/.]\.(?:[a-z]\w{0,6}|R)")


def has_file_suffix(name: str) -> bool:
    """Return True for a path below a folder, or one that ends like a source file: `docs/api.md`, `app.py`."""
    return bool(_FILE_SUFFIX.fullmatch(name)) and ("/" in name or name.endswith(_SOURCE_SUFFIXES))


@lru_cache(maxsize=1 << 17)
def path_in(name: str) -> str:
    """Return the path in a located name; "" when there is none.

    `path/file.ext::symbol`, `path/file.ext:12` or `path/file.ext#section:12-30`.
    """
    match = _PATH_AND_LOCATION.fullmatch(name) if len(name) <= _LONGEST_NAME else None
    return match["path"] if match else ""


MATCHERS: dict[str, Matcher] = {
    entry.name: entry
    for entry in (
        Matcher("exact", "equal to the id, symbol, path or document", "", exact),
        Matcher("symbol", "seed 000: substring of the full name, or package.Symbol for package.Type.Symbol", "symbol", symbol, once=False),
        Matcher("dotted", "generous: suffix, shared qualifier or containment at dots; a class counts for its methods", "symbol", dotted, once=False),
        Matcher("strict", "qualified suffix, each expectation once", "symbol", strict),
        Matcher("file", "the file, anywhere in it", "file", file),
        Matcher("doc", "the document, anywhere in it", "doc", doc),
        Matcher("chunk", "the chunk id", "chunk", chunk),
        Matcher("span", "the same document and at least half of the shorter span in common", "span", span),
    )
}  # fmt: skip
