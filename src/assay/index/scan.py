"""Select the files to index, with a reason for each skipped one.

Reads names and stats, and the start of files whose names say too little; `read_source` reads one file. In a git
repository: tracked and untracked, not ignored files. Elsewhere: all files that `.gitignore` allows. `.assayignore` (same
syntax) excludes more. Symlinks are never followed, so nothing outside the root is ever read.
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

from assay.core.endpoints import OPENAPI_NAME
from assay.errors import AssayError
from assay.git import Listing
from assay.index.documents.formats import HEAD_BYTES, Format, format_of
from assay.index.enrich.formats import is_project_file
from assay.index.flag_patterns import read_patterns
from assay.languages import language_of
from assay.store.layout import decode, read_bytes
from assay.system.files import open_regular, read_regular
from assay.text.display import printable

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_MAX_RULES_BYTES = 300_000
_MAX_PATTERNS = 5_000  # every path is matched against all of them
# pathspec's regexes for `*`, `/**/` and a leading `**/`
_STAR, _ANY_FOLDERS, _ANYWHERE = "[^/]*", "(?:/.+)?/", "^(?:.+/)?"
_GROUP = "(?P<ps_d>"  # pathspec's group name; a name may occur only once per regex
_NEGATED = re.compile(r"(?<!\\)\[\^(?!/\])")  # negated character class; as in git it never matches a slash
_STARS = re.compile(r"(?:\[\^/\]\*){2,}")
# a star and the text after it, followed by another star in the same path segment
_STAR_AND_TEXT = re.compile(r"\[\^/\]\*((?:\\.|\[(?!\^/\]\*)\^?\]?[^\]]*\]|[^\\\[\]/()*+?])+)(?=\[\^/\]\*)", re.S)


class Rules:
    """Patterns of an ignore file. One combined regex rejects the paths that match none of them, which are most."""

    def __init__(self, spec: GitIgnoreSpec) -> None:
        self._spec = spec
        expressions = (pattern.regex for pattern in spec.patterns)
        alternatives = "|".join(f"(?:{expression.pattern})" for expression in expressions if expression)
        self._any = re.compile(alternatives.replace(_GROUP, "(?:"))

    def verdict(self, path: str) -> bool | None:
        """Return whether a path is ignored, or None if no pattern matches it. A folder's path ends with a slash."""
        return self._spec.check_file(path).include if self._any.search(path) else None


def read_rules(root: Path, path: str, problems: dict[str, str]) -> Rules | None:
    """Return the rules of an ignore file; None if it has none. Errors are added to `problems`.

    Like git, does not follow symlinks.
    """
    try:
        text = read_regular(root / path, _MAX_RULES_BYTES, follow=False).decode("utf-8", "replace")
    except AssayError:
        problems[path] = f"larger than {_MAX_RULES_BYTES / 1e3:.0f} kB, so its patterns are ignored"
        return None
    except (OSError, ValueError):
        return None
    lines = text.splitlines()
    if len(lines) > _MAX_PATTERNS:
        problems[path] = f"only the first {_MAX_PATTERNS:,} lines are used"
        del lines[_MAX_PATTERNS:]
    spec = _compile(lines, path, problems)
    return Rules(spec) if any(pattern.include is not None for pattern in spec.patterns) else None


def _compile(lines: list[str], path: str, problems: dict[str, str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    try:
        spec = GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error, OverflowError, RecursionError):
        valid = [_is_valid(line) for line in lines]
        problems[path] = f"line {valid.index(False) + 1} is not a valid pattern and is ignored"
        spec = GitIgnoreSpec.from_lines(line for line, is_valid in zip(lines, valid, strict=True) if is_valid)
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
    """Rewrite a regex of pathspec so that matching does not backtrack from one wildcard into an earlier one.

    The first match of the text after a wildcard is sufficient if another wildcard follows.
    """
    if regex.count("*") + regex.count("+") < 2:
        return regex
    regex = _NEGATED.sub("[^/", regex)
    regex = _STAR_AND_TEXT.sub(r"(?>[^/]*?\1)", _STARS.sub(_STAR, regex))
    first, *segments = regex.split(_ANY_FOLDERS)
    if not segments or not all(segments):
        return regex
    if first.startswith(_ANYWHERE) and first != _ANYWHERE:
        first = f"^(?>(?:.+?/)??{first.removeprefix(_ANYWHERE)}(?=/))"
    return first + "".join(f"(?>(?:/.+?)??/{text}(?=/))" for text in segments[:-1]) + _ANY_FOLDERS + segments[-1]


# Scanning

MAX_BYTES = 2_000_000  # larger source files are data or generated
MINIFIED_LINE = 1_000  # mean bytes per line above which a file counts as minified
_HEAD = 2_000  # bytes searched for a "generated" marker

CONFIG_NAMES = frozenset({"go.mod", "tsconfig.json", "jsconfig.json", "package.json", "Cargo.toml"})  # see `modules`
_MAX_CONFIG_BYTES = 500_000  # per manifest; hand-written ones have a few thousand
_TOTAL_CONFIG_BYTES = 50_000_000  # of all manifests, which are held in memory
_MOST_PROJECT_FILES = 5_000  # manifests, deployment and ownership files; the largest monorepos have some thousands
IGNORE_FILE = ".assayignore"
_RULES = (".gitignore", IGNORE_FILE)
OWN_FOLDER = ".assay"
SECRET = "secret"  # reason for skipping a file

_BREAK = re.compile(r"[\n\t]")  # the control characters that `printable` keeps
_SECRET = re.compile(
    r"(^|/)(\.env(\..+)?|\.netrc|\.pgpass|\.npmrc|\.pypirc|id_(rsa|dsa|ecdsa|ed25519)|credentials(\.(ya?ml|json|toml|ini|env|csv|xml|txt))?|secrets?(\.(ya?ml|json|toml|ini|env))"
    r"|.*\.(pem|key|p12|pfx|jks|keystore|kdbx))$"
)
_VENDORED = frozenset((
    "node_modules", "vendor", "third_party", "third-party", "bower_components", "site-packages",
    "__pycache__", ".venv", "venv", ".tox", ".git", ".hg", ".svn",
))  # fmt: skip
# rarely used patterns, compiled on first use
_MINIFIED = r"\.(min|bundle)\.(js|css|mjs|cjs)$"
_GENERATED_NAME = r"(_pb2(_grpc)?\.pyi?|\.pb\.go|\.pb\.(cc|h)|\.g\.(cs|dart)|\.designer\.cs|\.generated\.\w+|_generated\.\w+|\.gen\.\w+)$"
# union of the name patterns: rejects most names with one search
_SUSPECT_NAME = re.compile(f"{_SECRET.pattern}|{_MINIFIED}|{_GENERATED_NAME}", re.I)
_GENERATED_MARK = rb"(?i)code generated by|@generated|do not edit|autogenerated|auto-generated by"
_GENERATED_LINE = rb"(?m)^\s*(//|#|/?\*+|--|<!--|;|\"\"\")"


class ScannedFile(NamedTuple):
    """A source file with the stat values that tell whether it changed."""

    path: str
    size: int
    mtime: int


@dataclass(slots=True)
class Scan:
    """Result of a scan: source files, manifests, documents, and skipped files."""

    files: dict[str, ScannedFile] = field(default_factory=dict)
    configs: dict[str, ScannedFile] = field(default_factory=dict)
    documents: dict[str, ScannedFile] = field(default_factory=dict)
    project_files: dict[str, ScannedFile] = field(
        default_factory=dict
    )  # manifests, deployments, owners; may be sources too
    skipped: dict[str, str] = field(default_factory=dict)  # path → reason
    problems: dict[str, str] = field(default_factory=dict)  # path → what went wrong
    warnings: list[str] = field(default_factory=list)  # such as why git did not list the files
    others: int = 0  # number of other files
    folders: set[str] = field(default_factory=set)  # folders scanned, "" for the root
    rules: list[str] = field(default_factory=list)  # paths of ignore files
    flags: tuple[str, ...] = ()  # names of the repository's own flag calls


@dataclass(frozen=True, slots=True)
class Source:
    """A file's text as UTF-8 bytes, with a note if it was converted. `skip` is the reason if it is skipped."""

    data: bytes
    note: str = ""
    skip: str = ""
    problem: str = ""


def is_vendored(path: str) -> bool:
    """Return whether a path is, or is in, a folder of third-party code."""
    return not _VENDORED.isdisjoint(path.split("/"))


def check_root(root: Path) -> None:
    """Raise AssayError if `root` is not a folder."""
    if not root.exists():
        raise AssayError(f"{root}: no such folder")
    if not root.is_dir():
        raise AssayError(f"{root}: not a folder; give the folder that contains it")


def scan(root: Path, listing: Listing | None = None) -> Scan:
    """Scan the tree below `root`, using a listing that was started earlier if there is one."""
    check_root(root)
    out = Scan(flags=read_patterns(root))
    rules = read_rules(root, IGNORE_FILE, out.problems)
    base = os.path.join(root, "")
    listing = listing or Listing(root)
    listed = listing.paths()
    out.warnings += filter(None, [listing.trouble])
    is_real = _real_folders(base) if listed is not None else _accept_any
    out.folders |= _with_parents(listed or ())
    for path in listed if listed is not None else _walk(root, out):
        if path.endswith(_RULES):
            out.rules.append(path)
        if rules is None or not rules.verdict(path):
            _consider(base, path, out, is_real)
    return out


def _accept_any(_folder: str) -> bool:
    return True


def _with_parents(paths: Iterable[str]) -> set[str]:
    """Return the folders of some paths and all their ancestors, the root included."""
    folders = {"", *(path.rpartition("/")[0] for path in paths)}
    parents = folders
    while parents := {folder.rpartition("/")[0] for folder in parents} - folders:
        folders |= parents
    return folders


def _real_folders(base: str) -> Callable[[str], bool]:
    """Return a function that tells whether a listed folder is real: it may have become a symlink since."""
    real = {"": True}

    def is_real(folder: str) -> bool:
        if folder not in real:
            real[folder] = is_real(folder.rpartition("/")[0]) and not os.path.islink(base + folder)
        return real[folder]

    return is_real


def _walk(root: Path, out: Scan) -> Iterator[str]:
    """Yield every path below a folder outside git that .gitignore files allow; the deepest matching rule decides."""
    pending: list[tuple[str, list[tuple[str, Rules]]]] = [("", [])]  # folders, with the rules that apply in them
    base = os.path.join(root, "")
    while pending:
        prefix, rules = pending.pop()
        out.folders.add(prefix)
        try:
            with os.scandir(base + prefix) as iterator:
                entries = sorted(iterator, key=attrgetter("name"))
        except OSError as error:
            out.problems[prefix.rstrip("/") or "."] = f"cannot be read: {error.strerror or error}"
            continue
        if ".gitignore" in [entry.name for entry in entries]:
            folder_rules = read_rules(root, f"{prefix}.gitignore", out.problems)
            rules = [(prefix, folder_rules), *rules] if folder_rules is not None else rules
        folders = []
        for entry in entries:
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in (".git", OWN_FOLDER) and not (rules and _ignored(path + "/", rules)):
                    folders.append((path + "/", rules))
            elif not (rules and _ignored(path, rules)):
                yield path
        pending += reversed(folders)


def _ignored(path: str, rules: list[tuple[str, Rules]]) -> bool:
    """Return the verdict of the deepest rules that match; `path` ends with a slash for a folder."""
    for base, folder_rules in rules:
        verdict = folder_rules.verdict(path[len(base) :])
        if verdict is not None:
            return verdict
    return False


class _NameClass(NamedTuple):
    """Classification of a file by its name, with a reason if it is skipped."""

    config: bool
    form: Format | None  # document format
    source: bool
    reason: str


@lru_cache(maxsize=1 << 14)  # file names repeat within and between scans
def _classify_name(name: str) -> _NameClass:
    config = name in CONFIG_NAMES or OPENAPI_NAME.fullmatch(name) is not None
    source = not config and language_of(name) is not None
    form = None if config or source else format_of(name)
    suspect = _SUSPECT_NAME.search(name)
    reason = (
        SECRET if suspect and _SECRET.search(name)
        else "minified" if suspect and re.search(_MINIFIED, name)
        else "generated" if suspect and re.search(_GENERATED_NAME, name, re.I)
        else ""
    )  # fmt: skip
    return _NameClass(config, form, source, reason)


def _consider(base: str, path: str, out: Scan, is_real: Callable[[str], bool]) -> None:
    """Add one path to its category in `out`. `base` is the root with a trailing separator: joining paths is slow."""
    if path.startswith(OWN_FOLDER + "/"):
        return
    folder, _, name = path.rpartition("/")
    named = _classify_name(name)
    if is_project_file(path):
        _add_project_file(base, path, out, is_real)
    if not path.isprintable() and (problem := _name_problem(path)):
        if named.source or (named.form and problem.is_text):
            out.problems[problem.shown] = problem.reason
    elif not (named.config or named.source or named.form):
        out.others += 1
        if named.reason == SECRET:
            out.skipped[path] = SECRET
    elif not is_real(folder):
        if named.source:
            out.skipped[path] = "symlink"
    elif reason := _skip_reason(folder, named):
        out.skipped[path] = reason
    else:
        _add_file(base, path, named, out)


class _NameProblem(NamedTuple):
    """Reason why a path cannot be indexed under its name, with a printable form of it."""

    shown: str
    reason: str
    is_text: bool  # valid UTF-8


def _name_problem(path: str) -> _NameProblem | None:
    if path != (shown := os.fsencode(path).decode("utf-8", "replace")):
        return _NameProblem(shown, "its name is not valid UTF-8", False)
    if path != (shown := printable(_BREAK.sub("\ufffd", path))):
        return _NameProblem(shown, "its name contains control characters; rename it", True)
    return None


def _skip_reason(folder: str, named: _NameClass) -> str:
    """Return why a file is skipped by its name and folder; empty if it is not."""
    if named.reason != SECRET and not _VENDORED.isdisjoint(folder.split("/")):
        return "vendored"
    return named.reason or (named.form.missing if named.form else "")


def _add_file(base: str, path: str, named: _NameClass, out: Scan) -> None:
    """Add a file by its status: regular, not too large, readable."""
    try:
        info = os.lstat(base + path)
    except (FileNotFoundError, NotADirectoryError):
        return  # deleted, though still listed by git
    except (OSError, ValueError) as error:
        out.problems[path] = f"cannot be read: {error}"
        return
    if stat.S_ISLNK(info.st_mode):
        out.skipped[path] = "symlink"
    elif not stat.S_ISREG(info.st_mode):
        if not stat.S_ISDIR(info.st_mode):
            out.skipped[path] = "not a regular file"
    elif info.st_size > (named.form.most_bytes if named.form else MAX_BYTES):
        out.skipped[path] = f"large ({info.st_size / 1e6:.1f} MB)"
    elif named.form and named.form.accepts and not named.form.accepts(_head(base + path)):
        out.others += 1
    else:
        entry = ScannedFile(path, info.st_size, info.st_mtime_ns)
        (out.configs if named.config else out.documents if named.form else out.files)[path] = entry


def _add_project_file(base: str, path: str, out: Scan, is_real: Callable[[str], bool]) -> None:
    """Add a manifest, deployment or ownership file if it is a regular file of the project's own."""
    folder = path.rpartition("/")[0]
    if (
        len(out.project_files) == _MOST_PROJECT_FILES
        or not path.isprintable()
        or is_vendored(path)
        or not is_real(folder)
    ):
        return
    try:
        info = os.lstat(base + path)
    except (OSError, ValueError):
        return
    if stat.S_ISREG(info.st_mode) and info.st_size <= _MAX_CONFIG_BYTES:
        out.project_files[path] = ScannedFile(path, info.st_size, info.st_mtime_ns)


def _head(path: str) -> bytes:
    """Return the first bytes of a file; empty if it cannot be read."""
    try:
        with open_regular(path) as file:
            return file.read(HEAD_BYTES)
    except (OSError, ValueError):
        return b""


def read_source(root: Path, path: str, whole: bool = False) -> Source:
    """Return a file's text, or why there is none. Never raises for a bad file.

    `whole`: accept minified and generated files.
    """
    source = _read(root, path, MAX_BYTES)
    return source if source.skip or source.problem else _decode_source(source.data, whole)


def read_document(root: Path, path: str, form: Format) -> Source:
    """Return a document's text, or the bytes of a binary format. Minified and generated files are accepted."""
    source = _read(root, path, form.most_bytes)
    return source if source.skip or source.problem or form.binary else _decode_source(source.data, whole=True)


def _read(root: Path, path: str, max_bytes: int) -> Source:
    try:
        data = read_bytes(root, path, max_bytes + 1)
    except (FileNotFoundError, NotADirectoryError):
        return Source(b"", skip="vanished")
    except OSError as error:
        return Source(b"", problem=f"cannot be read: {error.strerror or error}")
    return Source(data) if len(data) <= max_bytes else Source(b"", skip="large")


def read_configs(root: Path, scanned: Scan) -> dict[str, str]:
    """Return the texts of manifests; empty for those that cannot be read or are over the size limits."""
    out, budget = dict[str, str](), _TOTAL_CONFIG_BYTES
    for path, file in scanned.configs.items():
        fits = file.size <= min(_MAX_CONFIG_BYTES, budget)
        out[path] = read_source(root, path, whole=True).data.decode() if fits else ""
        budget -= len(out[path])
    return out


def _decode_source(data: bytes, whole: bool) -> Source:
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
