"""Commit history beside the index: messages, files and definitions of each commit, read from `git log` when HEAD moved."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple, TypeVar

import msgspec

from assay.core.progress import Progress
from assay.errors import AssayError
from assay.git import Git, unquote
from assay.git.diff import OPTIONS, read_hunk
from assay.index.parse import cache_path
from assay.index.scan import MAX_BYTES
from assay.index.version import history_version
from assay.store import history
from assay.store.caches import DiskCache
from assay.store.history import Commit, Touch
from assay.store.layout import Home
from assay.store.seal import code
from assay.text.prose import searchable
from assay.text.terms import terms

_WORD = "[A-Za-z_$][A-Za-z0-9_$]*"
_KEYWORDS = "def|class|func|fn|fun|function|interface|trait|struct|enum|type|module|mod|object|record|protocol|macro_rules!|namespace|union"
_MODIFIERS = (
    "export|default|declare|public|private|protected|internal|static|abstract|final|sealed|open|override|partial"
    "|async|pub|pub[(][a-z]+[)]|unsafe|const|data|inline|local"
)
_KEYWORD_LINE = rf"^([ \t]*(({_MODIFIERS})[ \t]+)*({_KEYWORDS})[ \t*].*)$"
_ASSIGNMENT = (
    rf"^((export[ \t]+)?(pub([(][a-z]+[)])?[ \t]+)?((const|let|var|val|static)[ \t]+)?{_WORD}[ \t]*(:[^=]*)?=[^=].*)$"
)
_TYPED = r"^([ \t]*([A-Za-z_@<\[][^ \t(=;]*[ \t]+)+[*&]*[A-Za-z_~][A-Za-z0-9_:~]*[ \t]*[(][^;]*)$"
_BRACED = rf"^([ \t]+([a-z]+[ \t]+)*[*#]?{_WORD}[ \t]*[(][^;]*[)][^;=]*[{{][ \t]*)$"
# lines of this shape that are no definitions
_STATEMENTS = "if|else|elif|for|foreach|while|switch|catch|return|throw|throws|raise|new|await|yield|do|case|using|lock|delete|goto|assert"
_NO_STATEMENT = rf"!^[ \t]*({_STATEMENTS})([^A-Za-z0-9_]|$)"


class Family(NamedTuple):
    """Languages that write definitions alike: how their files end, how git calls them, and what a definition looks like."""

    suffixes: tuple[str, ...]
    drivers: tuple[str, ...]  # git's names, the first our own: a repository's attributes may ask for the others
    patterns: tuple[str, ...]  # as git takes them: the first that matches decides, and refuses when it begins with !


_FAMILIES = (
    Family(
        (".py", ".pyi", ".rb", ".rake", ".go", ".rs", ".kt", ".kts", ".scala", ".swift", ".php", ".lua", ".sh"),
        ("assay-words", "python", "ruby", "golang", "rust", "kotlin", "php", "scala", "swift", "lua", "bash"),
        (_KEYWORD_LINE, _ASSIGNMENT),
    ),
    Family(
        (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"),
        ("assay-braces", "javascript", "typescript"),
        (_KEYWORD_LINE, _ASSIGNMENT, _NO_STATEMENT, _BRACED),
    ),
    Family(
        (".java", ".cs", ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"),
        ("assay-types", "java", "csharp", "cpp", "objc"),
        (_KEYWORD_LINE, _NO_STATEMENT, _TYPED),
    ),
)
_BY_SUFFIX = {
    suffix: tuple((not pattern.startswith("!"), re.compile(pattern.lstrip("!"))) for pattern in family.patterns)
    for family in _FAMILIES
    for suffix in family.suffixes
}
_PREFACE = re.compile(r"\s*(?:$|@|#|//|/\*|\*|--|\[)")  # decorators and comments stand above what they belong to
_ASSIGNED = re.compile(rf"(?:[a-z()]+[ \t]+)*({_WORD})[ \t]*(?::[^=]*)?=[^=]")
_NAMED = re.compile(rf"(?:^|\s)(?:{_KEYWORDS})\*?\s+(?:\([^)]*\)\s*)?([\w$:.]+[?!]?)")
_CALLED = re.compile(r"([\w$~]+)\s*\(")
_LONGEST = 300  # characters looked at: a longer line is data


def attributes() -> str:
    """What tells git the family of a file."""
    return "".join(f"*{suffix} diff={family.drivers[0]}\n" for family in _FAMILIES for suffix in family.suffixes)


def hunk_settings() -> list[str]:
    """What tells git how definitions of each family look."""
    return [f"diff.{name}.xfuncname=" + "\n".join(family.patterns) for family in _FAMILIES for name in family.drivers]


def changed_names(path: str, context: str, lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The names that the removed or the added lines of a hunk touch, each with its place among them: the definition above
    that they reach into, and those they hold."""
    patterns = _BY_SUFFIX.get(PurePosixPath(path).suffix.lower())
    if patterns is None:
        return
    defined = [(name, place) for place, line in enumerate(lines) if (name := _defines(line[:_LONGEST], patterns))]
    first = defined[0][1] if defined else len(lines)
    if context and _reaches(context, lines[:first], bool(defined)):
        yield _name(context), 0
    yield from defined


def _defines(line: str, patterns: Iterable[tuple[bool, re.Pattern[str]]]) -> str:
    """The name a line defines; empty when it defines none."""
    return _name(line) if next((accepts for accepts, pattern in patterns if pattern.match(line)), False) else ""


def _name(line: str) -> str:
    found = _ASSIGNED.match(line) or _NAMED.search(line) or _CALLED.search(line)
    return re.split(r"[.:]+", found.group(1).rstrip(".:"))[-1] if found else ""


def _reaches(context: str, lines: Sequence[str], definition_follows: bool) -> bool:
    """Whether lines are a part of the definition above: deeper than it, and no preface of the next one."""
    own = list(lines)
    while definition_follows and own and _PREFACE.match(own[-1]):
        own.pop()
    return any(_depth(line) > _depth(context) for line in own if line.strip())


def _depth(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


# Commits read from `git log`: first their messages and files, then, for those it is worth it, the names in their
# patches.

MOST_COMMITS = 12_000  # looked at, the newest first: older ones speak of other code
MOST_FILES = 25  # a commit that touches more speaks of none of them
MOST_GAPS = 100  # times that git is started again after a commit it cannot show

_FIELDS = ("%H", "%ct", "%an <%ae>", "%B")
_COMMON = (
    "--no-walk=unsorted", "--stdin", "--encoding=UTF-8", "--find-renames=50%", "-l400", "--no-relative",
    "--no-color", "--submodule=short", "--no-notes", "--no-mailmap", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
# a line that starts with NUL opens a commit; nothing else in a log can
_FILES = ("--format=" + "".join("%x00" + one for one in _FIELDS) + "%x00", "--raw", "--no-abbrev")
_PATCHES = ("--format=%x00%H", *OPTIONS)
_BOT = re.compile(r"\[bot\]|\b(?:dependabot|renovate|greenkeeper|pre-commit-ci|github-actions|bors)\b|-bot\b", re.I)
_FILE = "100"  # how the modes of regular files begin
_LONGEST_MESSAGE = 10_000  # characters: what is longer quotes logs or lists of changes

Read = TypeVar("Read")
Names = dict[str, list[tuple[str, int]]]  # of definitions, by path, each with a line where it was touched


class CommitFacts(msgspec.Struct, array_like=True, gc=False):
    """A commit's message and files. One that is left out, because a program or too much is behind it, has no files."""

    id: str
    time: int
    subject: str
    terms: dict[str, int]
    files: list[tuple[str, str]]  # path, and the path before when it moved; from the top of the repository


@dataclass(frozen=True, slots=True)
class Place:
    """Where a folder stands in its repository."""

    head: str
    prefix: str  # of the folder below the top, "" or ending in /


def history_place(git: Git) -> Place | None:
    """Where the folder stands; None outside of repositories and in those without a commit."""
    head = git.revision("HEAD")
    return Place(head, git.prefix) if head else None


def newest(git: Git, place: Place) -> list[str]:
    """The newest commits that lead up to HEAD; no merges, which say nothing of their own, and none without a parent, to which all files look new."""
    if git.partial:
        return []  # most of the files to compare are not there
    only = ("--", ".") if place.prefix else ("--",)
    bounds = (f"--max-count={MOST_COMMITS}", "--min-parents=1", "--max-parents=1")
    return (git.ask("rev-list", *bounds, place.head, *only) or "").split()


def read_commits(git: Git, ids: Sequence[str]) -> Iterator[CommitFacts]:
    """The messages and files of commits."""
    yield from _resumed(_read_commits, git, ids, lambda one: CommitFacts(one, 0, "", {}, []))


def read_names(git: Git, ids: Sequence[str]) -> Iterator[tuple[str, Names]]:
    """The names whose definitions commits touched."""
    yield from _resumed(_read_names, git, ids, lambda one: (one, {}))


def _resumed(
    read: Callable[[Git, Sequence[str]], Iterator[Read]], git: Git, ids: Sequence[str], nothing: Callable[[str], Read]
) -> Iterator[Read]:
    """What can be read, one for every commit: of those that git cannot show, as one of their objects is missing, nothing."""
    left = list(ids)
    for _ in range(MOST_GAPS):
        done = 0
        try:
            for found in read(git, left) if left else ():
                yield found
                done += 1
            return
        except AssayError:  # because of this commit, or of the next if git had nothing to say of that one yet
            try:
                yield next(read(git, left[done : done + 1]))
            except AssayError:
                yield nothing(left[done])
            left = left[done + 1 :]


def _read_commits(git: Git, ids: Sequence[str]) -> Iterator[CommitFacts]:
    head: list[str] = []
    files: list[tuple[str, str]] = []
    with git.lines("log", *_COMMON, *_FILES, told="\n".join(ids).encode()) as output:
        lines = iter(output)
        for line in lines:
            if line.startswith(b"\0"):
                if head:
                    yield _facts(head, files)
                head, files = _head(line, lines), []
            elif line.startswith(b":"):
                files += _touched(line)
    if head:  # which is whole only if git came to its end
        yield _facts(head, files)


def _head(line: bytes, lines: Iterator[bytes]) -> list[str]:
    """The fields of a commit, from their first line on."""
    pieces, ends = [line], line.count(b"\0")
    while ends <= len(_FIELDS) and (line := next(lines, b"")):
        pieces.append(line)
        ends += line.count(b"\0")
    return b"".join(pieces).decode("utf-8", "replace").split("\0")[1:-1]


def _read_names(git: Git, ids: Sequence[str]) -> Iterator[tuple[str, Names]]:
    with tempfile.NamedTemporaryFile("w", suffix=".attributes") as file:
        file.write(attributes())
        file.flush()
        options = [f"core.attributesFile={file.name}", f"core.bigFileThreshold={MAX_BYTES}", *hunk_settings()]
        with git.lines("log", *_COMMON, *_PATCHES, told="\n".join(ids).encode(), settings=options) as output:
            last = yield from _names(iter(output))
    if last:  # which is whole only if git came to its end
        yield last


def _facts(head: list[str], files: list[tuple[str, str]]) -> CommitFacts:
    one, time, author, message = head
    if len(files) > MOST_FILES or _BOT.search(author):
        return CommitFacts(one, int(time), "", {}, [])
    subject = message.strip().partition("\n")[0].strip()
    return CommitFacts(one, int(time), subject, dict(Counter(terms(searchable(message[:_LONGEST_MESSAGE])))), files)


def _touched(line: bytes) -> Iterator[tuple[str, str]]:
    """The regular file one row of --raw is about."""
    described, *paths = line.rstrip(b"\n").split(b"\t")
    old_mode, new_mode, _, _, status = described[1:].decode().split(" ")
    if _FILE in (old_mode[:3], new_mode[:3]):
        yield unquote(paths[-1]), unquote(paths[0]) if status.startswith("R") else ""


def _names(lines: Iterator[bytes]) -> Generator[tuple[str, Names], None, tuple[str, Names] | None]:
    """The names of each commit in patches; those of the last are returned."""
    commit, path = "", ""
    found: dict[str, set[tuple[str, int]]] = {}
    for line in lines:
        if line.startswith(b"\0"):
            if commit:
                yield commit, {path: sorted(names) for path, names in found.items() if names}
            commit, found = line[1:].decode().strip(), {}
        elif line.startswith((b"--- a/", b"+++ b/", b'--- "a/', b'+++ "b/')):
            path = unquote(line[4:].rstrip(b"\t\n"))[2:]
        elif (hunk := read_hunk(line, lines)) is not None:
            for start, changed in ((hunk.start, hunk.removed), (hunk.new_start, hunk.added)):
                texts = [text.decode("utf-8", "replace").rstrip("\r\n") for text in changed]
                found.setdefault(path, set()).update(
                    (name, start + line) for name, line in changed_names(path, hunk.context, texts)
                )
    return (commit, {path: sorted(names) for path, names in found.items() if names}) if commit else None


# Commits remembered by id: what one says and touches never changes, on any branch or in any worktree.

_TABLES = ("commits", "names")  # messages and files of commits; names in their patches
_AT_ONCE = 500  # ids in one question: SQLite allows a thousand

_commit_decoder = msgspec.msgpack.Decoder(CommitFacts)
_names_decoder = msgspec.msgpack.Decoder(Names)


class CommitCache(DiskCache):
    """Two dictionaries on disk, from the id of a commit to its facts and to the names it touched."""

    def __init__(self, path: Path) -> None:
        tables = (
            f"CREATE TABLE IF NOT EXISTS {one} (key BLOB PRIMARY KEY, value BLOB, sum INTEGER) WITHOUT ROWID"
            for one in _TABLES
        )
        super().__init__(path, tuple(tables))

    def commits(self, ids: Sequence[str]) -> dict[str, CommitFacts]:
        return {one: _commit_decoder.decode(value) for one, value in self._values("commits", ids)}

    def names(self, ids: Sequence[str]) -> dict[str, Names]:
        return {one: _names_decoder.decode(value) for one, value in self._values("names", ids)}

    def put_commits(self, commits: Iterable[CommitFacts]) -> None:
        self._put("commits", {commit.id: commit for commit in commits})

    def put_names(self, names: Mapping[str, Names]) -> None:
        self._put("names", names)

    def _values(self, table: str, ids: Sequence[str]) -> Iterable[tuple[str, bytes]]:
        for start in range(0, len(ids), _AT_ONCE):
            keys = {_key(one): one for one in ids[start : start + _AT_ONCE]}
            marks = ",".join("?" * len(keys))
            for key, value, total in self.read(f"SELECT * FROM {table} WHERE key IN ({marks})", tuple(keys)):
                if total == code(key, value):
                    yield keys[key], value

    def _put(self, table: str, values: Mapping[str, object]) -> None:
        """Adds values; those of other versions go."""
        if not values:
            return
        version = history_version().encode()
        self.write(f"DELETE FROM {table} WHERE substr(key, 1, ?) != ?", [(len(version), version)])
        encoded = [(_key(one), msgspec.msgpack.encode(value)) for one, value in values.items()]
        rows = [(key, value, code(key, value)) for key, value in encoded]
        self.write(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", rows)


def _key(one: str) -> bytes:
    return history_version().encode() + bytes.fromhex(one)


# The history beside an index: brought up to date when HEAD moved. `remember` is the whole story.

MOST_PATCHES = 2_000  # newest commits whose patches are read: patches cost ten times what the names of files do


def remember(root: Path, home: Home, progress: Progress) -> list[str]:
    """Bring the history up to HEAD and return why that failed. Where there is no history to read, there is none, and that is no failure."""
    path = home.folder / history.NAME
    try:
        git = Git(root)
        place = history_place(git)
        if place is None:
            path.unlink(missing_ok=True)
            return []
        key = f"{place.head} {history_version()} {place.prefix}"
        if history.key_of(path) == key:
            return []
        commits = _commits(git, place, home, progress)
    except AssayError as error:  # git is not there, does not trust the folder, or cannot read its own repository
        return [str(error)]
    history.write(path, key, commits)
    return []


def _commits(git: Git, place: Place, home: Home, progress: Progress) -> list[Commit]:
    ids = newest(git, place)
    cache = CommitCache(cache_path(git.root, home.folder, "commits.db"))
    try:
        known = cache.commits(ids)
        missing = [one for one in ids if one not in known]
        progress.start("reading history", len(missing))
        fresh = []
        for facts in read_commits(git, missing):
            fresh.append(facts)
            progress.advance()
        known |= {facts.id: facts for facts in fresh}
        cache.put_commits(fresh)
        worth = [one for one in ids[:MOST_PATCHES] if one in known and known[one].files]
        names = cache.names(worth)
        read = dict(read_names(git, [one for one in worth if one not in names]))
        cache.put_names(read)
    finally:
        cache.close()
    names |= read
    found = (_commit(known[one], names.get(one, {}), place.prefix) for one in ids if one in known)
    return [commit for commit in found if commit.touched]


def _commit(facts: CommitFacts, names: Names, prefix: str) -> Commit:
    """A commit as the folder at `prefix` sees it."""
    touched = [
        Touch(
            path.removeprefix(prefix),
            before.removeprefix(prefix) if before.startswith(prefix) else "",
            tuple(names.get(path, ())),
        )
        for path, before in facts.files
        if path.startswith(prefix)
    ]
    return Commit(facts.id, facts.time, facts.subject, facts.terms, touched, len(facts.files))
