"""Which files are considered, and why the others are not. Reads names and stats only; `read_source` looks inside one file.

Inside git: what it tracks, and what it neither tracks nor ignores. Elsewhere: everything that `.gitignore` files allow. `.assayignore`
(same syntax) leaves out more. Symlinks are never followed, so nothing outside the root is ever read.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from assay.errors import AssayError
from assay.git import Listing
from assay.index.documents.formats import Format, format_of
from assay.languages import language_of
from assay.store.layout import decode, read_bytes
from assay.system.files import read_regular
from assay.text.display import printable

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_MOST_BYTES = 300_000
_MOST_PATTERNS = 5_000  # each path is compared with each
_STAR, _ANY_FOLDERS, _ANYWHERE = "[^/]*", "(?:/.+)?/", "^(?:.+/)?"  # as pathspec writes `*`, `/**/` and a leading `**/`
_GROUP = "(?P<ps_d>"  # the name pathspec gives a group; a name may stand in an expression once
_NEGATED = re.compile(r"(?<!\\)\[\^(?!/\])")  # a class of characters; as in git it never has the slash
_STARS = re.compile(r"(?:\[\^/\]\*){2,}")
# a star and what follows it, before another star of the same name
_STAR_AND_TEXT = re.compile(r"\[\^/\]\*((?:\\.|\[(?!\^/\]\*)\^?\]?[^\]]*\]|[^\\\[\]/()*+?])+)(?=\[\^/\]\*)", re.S)


class Rules:
    """The patterns of an ignore file. Most paths match none of them, which a single expression for all of them finds out."""

    def __init__(self, spec: GitIgnoreSpec) -> None:
        self._spec = spec
        expressions = (pattern.regex for pattern in spec.patterns)
        alternatives = "|".join(f"(?:{expression.pattern})" for expression in expressions if expression)
        self._any = re.compile(alternatives.replace(_GROUP, "(?:"))

    def verdict(self, path: str) -> bool | None:
        """Return whether a path is left out, or None when no pattern matches it. A folder's path ends with a slash."""
        return self._spec.check_file(path).include if self._any.search(path) else None


def read_rules(root: Path, path: str, problems: dict[str, str]) -> Rules | None:
    """Return the rules of an ignore file; None when there are none. Put what is wrong with it into `problems`.

    A symbolic link is not followed, as git does not.
    """
    try:
        text = read_regular(root / path, _MOST_BYTES, follow=False).decode("utf-8", "replace")
    except AssayError:
        problems[path] = f"larger than {_MOST_BYTES / 1e3:.0f} kB: its patterns are not applied"
        return None
    except (OSError, ValueError):
        return None
    lines = text.splitlines()
    if len(lines) > _MOST_PATTERNS:
        problems[path] = f"only its first {_MOST_PATTERNS:,} lines are applied"
        del lines[_MOST_PATTERNS:]
    spec = _compile(lines, path, problems)
    return Rules(spec) if any(pattern.include is not None for pattern in spec.patterns) else None


def _compile(lines: list[str], path: str, problems: dict[str, str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    try:
        spec = GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error, OverflowError, RecursionError):
        valid = [_is_valid(line) for line in lines]
        problems[path] = f"line {valid.index(False) + 1} is no pattern and not applied"
        spec = GitIgnoreSpec.from_lines(line for line, good in zip(lines, valid, strict=True) if good)
    for pattern in spec.patterns:
        regex = getattr(pattern, "regex", None)
        if regex is not None and (linear := linear_time(regex.pattern)) != regex.pattern:
            pattern.regex = re.compile(linear)
    return spec


def _is_valid(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error, OverflowError, RecursionError):
        return False
    return True


def linear_time(regex: str) -> str:
    """Rewrite a regular expression of pathspec so that matching does not backtrack from a wildcard into an earlier one.

    The first place where the text behind a wildcard fits is as good as any other, as long as another wildcard follows.
    """
    if regex.count("*") + regex.count("+") < 2:
        return regex
    regex = _NEGATED.sub("[^/", regex)
    regex = _STAR_AND_TEXT.sub(r"(?>[^/]*?\1)", _STARS.sub(_STAR, regex))
    first, *rest = regex.split(_ANY_FOLDERS)
    if not rest or not all(rest):
        return regex
    if first.startswith(_ANYWHERE) and first != _ANYWHERE:
        first = f"^(?>(?:.+?/)??{first.removeprefix(_ANYWHERE)}(?=/))"
    return first + "".join(f"(?>(?:/.+?)??/{text}(?=/))" for text in rest[:-1]) + _ANY_FOLDERS + rest[-1]


# Which files are considered, and why the others are not. Reads names and stats only; `read_source` looks inside one
# file.

MAX_BYTES = 2_000_000  # larger source files are data or generated
MINIFIED_LINE = 1_000  # mean bytes per line above which a file is taken for minified
_HEAD = 2_000  # bytes searched for a "generated" marker

CONFIG_NAMES = frozenset({"go.mod", "tsconfig.json", "jsconfig.json", "package.json", "Cargo.toml"})  # see `modules`
IGNORE_FILE = ".assayignore"
_RULES = (".gitignore", IGNORE_FILE)
OWN_FOLDER = ".assay"

_BREAK = re.compile(r"[\n\t]")  # all that `printable` keeps although it is no letter
_SECRET = re.compile(
    r"(^|/)(\.env(\..+)?|\.netrc|\.pgpass|\.npmrc|\.pypirc|id_(rsa|dsa|ecdsa|ed25519)|credentials(\.(ya?ml|json|toml|ini|env|csv|xml|txt))?|secrets?(\.(ya?ml|json|toml|ini|env))"
    r"|.*\.(pem|key|p12|pfx|jks|keystore|kdbx))$"
)
_VENDORED = frozenset((
    "node_modules", "vendor", "third_party", "third-party", "bower_components", "site-packages",
    "__pycache__", ".venv", "venv", ".tox", ".git", ".hg", ".svn",
))  # fmt: skip
# patterns that few files are compared with are compiled when one is
_MINIFIED = r"\.(min|bundle)\.(js|css|mjs|cjs)$"
_GENERATED_NAME = r"(_pb2(_grpc)?\.pyi?|\.pb\.go|\.pb\.(cc|h)|\.g\.(cs|dart)|\.designer\.cs|\.generated\.\w+|_generated\.\w+|\.gen\.\w+)$"
# all that a name tells, and what looks like it: most names are done with after one look
_PASSED_OVER = re.compile(f"{_SECRET.pattern}|{_MINIFIED}|{_GENERATED_NAME}", re.I)
_GENERATED_MARK = rb"(?i)code generated by|@generated|do not edit|autogenerated|auto-generated by"
_GENERATED_LINE = rb"(?m)^\s*(//|#|/?\*+|--|<!--|;|\"\"\")"
_TEST_PATH = (
    r"(^|/)(tests?|specs?|testing|testdata|__tests__|__mocks__|[\w.-]*\.?(Unit|Acceptance|Integration|Functional)?Tests?)/"
    r"|(^|/)(test_[^/]*|conftest|[^/]*(_test|_spec|\.test|\.spec|[a-z]Tests?|[a-z]TestCase|_tests))\.\w+$|(^|/)tests?\.py$"
)


class Found(NamedTuple):
    """A source file and its stat, which tells whether it changed without reading it."""

    path: str
    size: int
    mtime: int


@dataclass(slots=True)
class Scan:
    """The result of a walk: source files, manifests, documents, and what was passed over."""

    files: dict[str, Found] = field(default_factory=dict)
    configs: dict[str, Found] = field(default_factory=dict)
    documents: dict[str, Found] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)  # path → reason
    problems: dict[str, str] = field(default_factory=dict)  # path → what went wrong
    warnings: list[str] = field(default_factory=list)  # about all of them: why git did not list the files
    others: int = 0  # files that are none of these
    folders: set[str] = field(default_factory=set)  # those looked into, "" for the root
    rules: list[str] = field(default_factory=list)  # files that say what to ignore


@dataclass(frozen=True, slots=True)
class Source:
    """A file's text as UTF-8 bytes, with a note when it had to be converted. `skip` says why it is left out instead."""

    data: bytes
    note: str = ""
    skip: str = ""
    problem: str = ""


def is_test_path(path: str) -> bool:
    return re.search(_TEST_PATH, path) is not None


def is_vendored(path: str) -> bool:
    """Whether a path is, or is in, a folder of what others wrote."""
    return not _VENDORED.isdisjoint(path.split("/"))


def check_root(root: Path) -> None:
    """Refuses what is not a folder."""
    if not root.exists():
        raise AssayError(f"{root}: no such folder")
    if not root.is_dir():
        raise AssayError(f"{root}: not a folder; give the folder that contains it")


def scan(root: Path, listing: Listing | None = None) -> Scan:
    """Walks the tree below `root`. A listing of it that was begun before need not be begun now."""
    check_root(root)
    out = Scan()
    rules = read_rules(root, IGNORE_FILE, out.problems)
    base = os.path.join(root, "")
    listing = listing or Listing(root)
    listed = listing.paths()
    out.warnings += filter(None, [listing.trouble])
    is_real = _real_folders(base) if listed is not None else _every_one
    out.folders |= _folders(listed or ())
    for path in listed if listed is not None else _walk(root, out):
        if path.endswith(_RULES):
            out.rules.append(path)
        if rules is None or not rules.verdict(path):
            _consider(base, path, out, is_real)
    return out


def _every_one(_folder: str) -> bool:
    return True


def _folders(paths: Iterable[str]) -> set[str]:
    """The folders that hold some paths, and those that hold them, up to the root."""
    found = {"", *(path.rpartition("/")[0] for path in paths)}
    above = found
    while above := {folder.rpartition("/")[0] for folder in above} - found:
        found |= above
    return found


def _real_folders(base: str) -> Callable[[str], bool]:
    """Whether a folder that git lists is one. Git still lists what was tracked in a folder that has since become a symlink."""
    real = {"": True}

    def is_real(folder: str) -> bool:
        if folder not in real:
            real[folder] = is_real(folder.rpartition("/")[0]) and not os.path.islink(base + folder)
        return real[folder]

    return is_real


def _walk(root: Path, out: Scan) -> Iterator[str]:
    """Everything below a folder that is not under git, as its .gitignore files allow: the deepest that has an opinion decides."""
    waiting: list[tuple[str, list[tuple[str, Rules]]]] = [("", [])]  # folders, with the rules that apply in them
    base = os.path.join(root, "")
    while waiting:
        here, rules = waiting.pop()
        out.folders.add(here)
        try:
            with os.scandir(base + here) as found:
                entries = sorted(found, key=attrgetter("name"))
        except OSError as error:
            out.problems[here.rstrip("/") or "."] = f"cannot be read: {error.strerror or error}"
            continue
        if ".gitignore" in [entry.name for entry in entries]:
            own = read_rules(root, f"{here}.gitignore", out.problems)
            rules = [(here, own), *rules] if own is not None else rules
        folders = []
        for entry in entries:
            path = here + entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in (".git", OWN_FOLDER) and not (rules and _ignored(path + "/", rules)):
                    folders.append((path + "/", rules))
            elif not (rules and _ignored(path, rules)):
                yield path
        waiting += reversed(folders)


def _ignored(path: str, rules: list[tuple[str, Rules]]) -> bool:
    """The verdict of the deepest rules that have one; `path` ends with a slash for a folder."""
    for base, own in rules:
        verdict = own.verdict(path[len(base) :])
        if verdict is not None:
            return verdict
    return False


class _Named(NamedTuple):
    """What the name of a file tells: what it is, and why it is passed over."""

    config: bool
    form: Format | None  # of a document
    source: bool
    reason: str


@lru_cache(maxsize=1 << 14)  # names come again, and so do scans
def _named(name: str) -> _Named:
    config = name in CONFIG_NAMES
    source = not config and language_of(name) is not None
    form = None if config or source else format_of(name)
    suspect = _PASSED_OVER.search(name)
    reason = (
        "secret" if suspect and _SECRET.search(name)
        else "minified" if suspect and re.search(_MINIFIED, name)
        else "generated" if suspect and re.search(_GENERATED_NAME, name, re.I)
        else ""
    )  # fmt: skip
    return _Named(config, form, source, reason)


def _consider(base: str, path: str, out: Scan, is_real: Callable[[str], bool]) -> None:
    """Files one path under what it is. `base` is the root with a separator at its end: joining paths properly is slow."""
    if path.startswith(OWN_FOLDER + "/"):
        return
    folder, _, name = path.rpartition("/")
    config, form, source, reason = _named(name)
    if not path.isprintable() and path != (shown := os.fsencode(path).decode("utf-8", "replace")):
        if language_of(name) is not None:
            out.problems[shown] = "its name is not valid UTF-8"
        return
    if not path.isprintable() and (shown := printable(_BREAK.sub("\ufffd", path))) != path:
        if source or form:
            out.problems[shown] = "its name has control characters, which could pass for something else; rename it"
        return
    if not (config or source or form):
        out.others += 1
        if reason == "secret":
            out.skipped[path] = reason
        return
    if not is_real(folder):
        if source:
            out.skipped[path] = "symlink"
        return
    if reason != "secret" and not _VENDORED.isdisjoint(folder.split("/")):
        reason = "vendored"
    reason = reason or (form.missing if form else "")
    if reason:
        out.skipped[path] = reason
        return
    try:
        info = os.lstat(base + path)
    except (FileNotFoundError, NotADirectoryError):
        return  # deleted but still in git's list, or gone since: nothing to index
    except (OSError, ValueError) as error:
        out.problems[path] = f"cannot be read: {error}"
        return
    if stat.S_ISLNK(info.st_mode):
        out.skipped[path] = "symlink"
    elif not stat.S_ISREG(info.st_mode):
        if not stat.S_ISDIR(info.st_mode):
            out.skipped[path] = "not a regular file"
    elif info.st_size > (form.most_bytes if form else MAX_BYTES):
        out.skipped[path] = f"large ({info.st_size / 1e6:.1f} MB)"
    else:
        found = Found(path, info.st_size, info.st_mtime_ns)
        (out.configs if config else out.documents if form else out.files)[path] = found


def read_source(root: Path, path: str, whole: bool = False) -> Source:
    """A file's text, or why there is none. Never raises for a bad file. `whole`: also what looks minified or generated."""
    found = _read(root, path, MAX_BYTES)
    return found if found.skip or found.problem else _decoded(found.data, whole)


def read_document(root: Path, path: str, form: Format) -> Source:
    """A document's text, however it came about; of formats that are no text its bytes."""
    found = _read(root, path, form.most_bytes)
    return found if found.skip or found.problem or form.binary else _decoded(found.data, whole=True)


def _read(root: Path, path: str, most: int) -> Source:
    try:
        data = read_bytes(root, path, most + 1)
    except (FileNotFoundError, NotADirectoryError):
        return Source(b"", skip="vanished")
    except OSError as error:
        return Source(b"", problem=f"cannot be read: {error.strerror or error}")
    return Source(data) if len(data) <= most else Source(b"", skip="large")


def read_config(root: Path, path: str) -> str:
    """A manifest's text, however it came about; empty when there is none to read."""
    source = read_source(root, path, whole=True)
    return source.data.decode()


def _decoded(data: bytes, whole: bool) -> Source:
    data, note, problem = decode(data)
    if problem:
        return Source(b"", problem=problem)
    if whole:
        return Source(data, note=note)
    if len(data) > 5_000 and len(data) / (data.count(b"\n") + 1) > MINIFIED_LINE:
        return Source(b"", skip="minified")
    head = data[:_HEAD]
    mark = re.search(_GENERATED_MARK, head)
    if mark and re.match(_GENERATED_LINE, head[head.rfind(b"\n", 0, mark.start()) + 1 :]):
        return Source(b"", skip="generated")
    return Source(data, note=note)
