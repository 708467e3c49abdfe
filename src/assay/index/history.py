"""Commit history stored next to the index: messages, files and definitions of each commit.

`update_history` updates it if HEAD moved: `git log` yields messages and files of new commits, their patches the names of
changed definitions. Both are cached by commit id.
"""

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
from assay.git.diff import OPTIONS, Change, read_hunk
from assay.index.facts import SymbolFact
from assay.index.parse import TextParser, cache_path, outline
from assay.index.scan import MAX_BYTES, read_source
from assay.index.version import history_version
from assay.store import history
from assay.store.caches import DiskCache
from assay.store.history import Commit, Touch
from assay.store.layout import Home
from assay.store.seal import code
from assay.system.database import SIBLINGS
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
_PROTOBUF = r"^([ \t]*(message|service|enum|rpc)[ \t]+[A-Za-z_].*)$"
# statements that look like definitions
_STATEMENTS = "if|else|elif|for|foreach|while|switch|catch|return|throw|throws|raise|new|await|yield|do|case|using|lock|delete|goto|assert"
_NO_STATEMENT = rf"!^[ \t]*({_STATEMENTS})([^A-Za-z0-9_]|$)"


class Family(NamedTuple):
    """Languages with the same shape of definitions: file suffixes, git diff drivers and definition patterns."""

    suffixes: tuple[str, ...]
    drivers: tuple[str, ...]  # the first is assay's own; a repository's attributes may select the others
    patterns: tuple[str, ...]  # git xfuncname syntax: the first match decides, a leading ! rejects


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
    Family((".proto",), ("assay-protobuf",), (_PROTOBUF,)),
)
_BY_SUFFIX = {
    suffix: tuple((not pattern.startswith("!"), re.compile(pattern.lstrip("!"))) for pattern in family.patterns)
    for family in _FAMILIES
    for suffix in family.suffixes
}
_PREFACE = re.compile(r"\s*(?:$|@|#|//|/\*|\*|--|\[)")  # decorators and comments precede their definition
_ASSIGNED = re.compile(rf"(?:[a-z()]+[ \t]+)*({_WORD})[ \t]*(?::[^=]*)?=[^=]")
_NAMED = re.compile(rf"(?:(?:^|\s)(?:{_KEYWORDS})\*?|^\s*(?:message|service|rpc))\s+(?:\([^)]*\)\s*)?([\w$:.]+[?!]?)")
_CALLED = re.compile(r"([\w$~]+)\s*\(")
_MAX_LINE = 300  # characters matched; longer lines are data


def attributes() -> str:
    """Return git attributes that assign files to language families."""
    return "".join(f"*{suffix} diff={family.drivers[0]}\n" for family in _FAMILIES for suffix in family.suffixes)


def hunk_settings() -> list[str]:
    """Return git settings with the definition patterns of each family."""
    return [f"diff.{name}.xfuncname=" + "\n".join(family.patterns) for family in _FAMILIES for name in family.drivers]


def changed_names(path: str, context: str, lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield the names that the removed or added lines of a hunk touch, each with its line offset.

    These are the definition above that the lines reach into, and those the lines contain.
    """
    patterns = _BY_SUFFIX.get(PurePosixPath(path).suffix.lower())
    if patterns is None:
        return
    defined = [
        (name, offset) for offset, line in enumerate(lines) if (name := _defined_name(line[:_MAX_LINE], patterns))
    ]
    first = defined[0][1] if defined else len(lines)
    if context and _belongs_to(context, lines[:first], bool(defined)):
        yield _name_in(context), 0
    yield from defined


def _defined_name(line: str, patterns: Iterable[tuple[bool, re.Pattern[str]]]) -> str:
    """Return the name a line defines; empty if it defines none."""
    return _name_in(line) if next((accepts for accepts, pattern in patterns if pattern.match(line)), False) else ""


def _name_in(line: str) -> str:
    match = _ASSIGNED.match(line) or _NAMED.search(line) or _CALLED.search(line)
    return re.split(r"[.:]+", match.group(1).rstrip(".:"))[-1] if match else ""


def _belongs_to(context: str, lines: Sequence[str], definition_follows: bool) -> bool:
    """Return whether lines belong to the definition above: indented deeper, and not a preface of the next one."""
    body = list(lines)
    while definition_follows and body and _PREFACE.match(body[-1]):
        body.pop()
    return any(_depth(line) > _depth(context) for line in body if line.strip())


def _depth(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


# Reading commits from `git log`

MOST_COMMITS = 12_000  # newest commits read; older ones describe code that has changed since
MOST_FILES = 25  # per commit; larger ones are not specific to any file
MOST_GAPS = 100  # restarts of git after commits it cannot show

_FIELDS = ("%H", "%ct", "%an <%ae>", "%B")
_COMMON = (
    "--no-walk=unsorted", "--stdin", "--encoding=UTF-8", "--find-renames=50%", "-l400", "--no-relative",
    "--no-color", "--submodule=short", "--no-notes", "--no-mailmap", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
# only the first line of a commit starts with NUL
_FILES = ("--format=" + "".join("%x00" + field for field in _FIELDS) + "%x00", "--raw", "--no-abbrev")
_PATCHES = ("--format=%x00%H", *OPTIONS)
_BOT = re.compile(r"\[bot\]|\b(?:dependabot|renovate|greenkeeper|pre-commit-ci|github-actions|bors)\b|-bot\b", re.I)
_FILE = "100"  # mode prefix of regular files
_MAX_AUTHOR = 100  # characters
_MAX_MESSAGE = 10_000  # characters; longer messages quote logs or lists of changes

Read = TypeVar("Read")
Names = dict[str, list[tuple[str, int]]]  # path → changed definitions with a changed line of each


class CommitFacts(msgspec.Struct, array_like=True, gc=False):
    """A commit's message and files. No files if it is ignored: made by a bot, or too large."""

    id: str
    time: int
    subject: str
    terms: dict[str, int]
    files: list[tuple[str, str]]  # path and previous path if moved, relative to the repository
    author: str = ""  # name, or the address if there is no name


@dataclass(frozen=True, slots=True)
class Place:
    """HEAD and a folder's path in its repository."""

    head: str
    prefix: str  # folder relative to the top, "" or ending in /


def history_place(git: Git) -> Place | None:
    """Return the folder's position; None outside repositories and without commits."""
    head = git.revision("HEAD")
    return Place(head, git.prefix) if head else None


def newest_commits(git: Git, place: Place) -> list[str]:
    """Return the newest ancestors of HEAD.

    Without merges, which have no changes of their own, and root commits, in which all files look new.
    """
    if git.partial:
        return []  # blobs to compare are missing
    only = ("--", ".") if place.prefix else ("--",)
    bounds = (f"--max-count={MOST_COMMITS}", "--min-parents=1", "--max-parents=1")
    return (git.ask("rev-list", *bounds, place.head, *only) or "").split()


def read_commits(git: Git, ids: Sequence[str]) -> Iterator[CommitFacts]:
    """Yield the messages and files of commits."""
    yield from _read_resuming(_read_commits, git, ids, lambda commit: CommitFacts(commit, 0, "", {}, []))


def read_names(git: Git, ids: Sequence[str]) -> Iterator[tuple[str, Names]]:
    """Yield the names of definitions that each commit changed."""
    yield from _read_resuming(_read_names, git, ids, lambda commit: (commit, {}))


def _read_resuming(
    read: Callable[[Git, Sequence[str]], Iterator[Read]], git: Git, ids: Sequence[str], empty: Callable[[str], Read]
) -> Iterator[Read]:
    """Yield one result per commit, an empty one for commits that git cannot show because an object is missing."""
    remaining = list(ids)
    for _ in range(MOST_GAPS):
        finished = 0
        try:
            for result in read(git, remaining) if remaining else ():
                yield result
                finished += 1
            return
        except AssayError:  # caused by this commit, or by the next if this one had no output yet
            try:
                yield next(read(git, remaining[finished : finished + 1]))
            except AssayError:
                yield empty(remaining[finished])
            remaining = remaining[finished + 1 :]


def _read_commits(git: Git, ids: Sequence[str]) -> Iterator[CommitFacts]:
    head: list[str] = []
    files: list[tuple[str, str]] = []
    with git.lines("log", *_COMMON, *_FILES, told="\n".join(ids).encode()) as output:
        lines = iter(output)
        for line in lines:
            if line.startswith(b"\0"):
                if head:
                    yield _commit_facts(head, files)
                head, files = _read_fields(line, lines), []
            elif line.startswith(b":"):
                files += _changed_files(line)
    if head:  # complete only if git finished
        yield _commit_facts(head, files)


def _read_fields(line: bytes, lines: Iterator[bytes]) -> list[str]:
    """Read the fields of a commit, starting with their first line."""
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
            last = yield from _read_patches(iter(output))
    if last:  # complete only if git finished
        yield last


def _commit_facts(head: list[str], files: list[tuple[str, str]]) -> CommitFacts:
    commit, time, author, message = head
    if len(files) > MOST_FILES or _BOT.search(author):
        return CommitFacts(commit, int(time), "", {}, [])
    subject = message.strip().partition("\n")[0].strip()
    words = dict(Counter(terms(searchable(message[:_MAX_MESSAGE]))))
    return CommitFacts(commit, int(time), subject, words, files, _author_name(author))


def _author_name(author: str) -> str:
    """Return the name of `Name <address>`; the address, which is more private, only if there is no name."""
    name, _, address = author.rpartition(" <")
    return " ".join(name.split())[:_MAX_AUTHOR] or address.removesuffix(">")[:_MAX_AUTHOR]


def _changed_files(line: bytes) -> Iterator[tuple[str, str]]:
    """Yield the regular file of a --raw row with its previous path if renamed."""
    attributes, *paths = line.rstrip(b"\n").split(b"\t")
    old_mode, new_mode, _, _, status = attributes[1:].decode().split(" ")
    if _FILE in (old_mode[:3], new_mode[:3]):
        yield unquote(paths[-1]), unquote(paths[0]) if status.startswith("R") else ""


def _read_patches(lines: Iterator[bytes]) -> Generator[tuple[str, Names], None, tuple[str, Names] | None]:
    """Yield the names of each commit in a stream of patches; those of the last are returned."""
    commit, path = "", ""
    by_path: dict[str, set[tuple[str, int]]] = {}
    for line in lines:
        if line.startswith(b"\0"):
            if commit:
                yield commit, {path: sorted(names) for path, names in by_path.items() if names}
            commit, by_path = line[1:].decode().strip(), {}
        elif line.startswith((b"--- a/", b"+++ b/", b'--- "a/', b'+++ "b/')):
            path = unquote(line[4:].rstrip(b"\t\n"))[2:]
        elif (hunk := read_hunk(line, lines)) is not None:
            for start, changed in ((hunk.start, hunk.removed), (hunk.new_start, hunk.added)):
                texts = [text.decode("utf-8", "replace").rstrip("\r\n") for text in changed]
                by_path.setdefault(path, set()).update(
                    (name, start + line) for name, line in changed_names(path, hunk.context, texts)
                )
    return (commit, {path: sorted(names) for path, names in by_path.items() if names}) if commit else None


# Commit cache by id, shared by all branches and worktrees

_CACHE = "commits.db"
_TABLES = ("commits", "names")  # messages and files; names in patches
_QUERY_IDS = 500  # ids per query; SQLite allows a thousand

_commit_decoder = msgspec.msgpack.Decoder(CommitFacts)
_names_decoder = msgspec.msgpack.Decoder(Names)


class CommitCache(DiskCache):
    """On-disk cache from commit id to its facts, and to the names it changed."""

    def __init__(self, path: Path) -> None:
        tables = (
            f"CREATE TABLE IF NOT EXISTS {table} (key BLOB PRIMARY KEY, value BLOB, sum INTEGER) WITHOUT ROWID"
            for table in _TABLES
        )
        super().__init__(path, tuple(tables))

    def commits(self, ids: Sequence[str]) -> dict[str, CommitFacts]:
        return {commit: _commit_decoder.decode(value) for commit, value in self._values("commits", ids)}

    def names(self, ids: Sequence[str]) -> dict[str, Names]:
        return {commit: _names_decoder.decode(value) for commit, value in self._values("names", ids)}

    def put_commits(self, commits: Iterable[CommitFacts]) -> None:
        self._put("commits", {commit.id: commit for commit in commits})

    def put_names(self, names: Mapping[str, Names]) -> None:
        self._put("names", names)

    def _values(self, table: str, ids: Sequence[str]) -> Iterable[tuple[str, bytes]]:
        for start in range(0, len(ids), _QUERY_IDS):
            keys = {_key(commit): commit for commit in ids[start : start + _QUERY_IDS]}
            marks = ",".join("?" * len(keys))
            for key, value, checksum in self.read(f"SELECT * FROM {table} WHERE key IN ({marks})", tuple(keys)):
                if checksum == code(key, value):
                    yield keys[key], value

    def _put(self, table: str, values: Mapping[str, object]) -> None:
        """Add values and delete those of other versions."""
        if not values:
            return
        version = history_version().encode()
        self.write(f"DELETE FROM {table} WHERE substr(key, 1, ?) != ?", [(len(version), version)])
        encoded = [(_key(commit), msgspec.msgpack.encode(value)) for commit, value in values.items()]
        rows = [(key, value, code(key, value)) for key, value in encoded]
        self.write(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", rows)


def _key(commit: str) -> bytes:
    return history_version().encode() + bytes.fromhex(commit)


# Updating the stored history

MOST_PATCHES = 2_000  # newest commits whose patches are read; a patch costs ten times as much as the list of files


def update_history(root: Path, home: Home, progress: Progress) -> list[str]:
    """Update the history to HEAD and return warnings. A folder without history is not a failure."""
    path = home.folder / history.NAME
    try:
        git = Git(root)
        place = history_place(git)
        if place is None:
            path.unlink(missing_ok=True)
            forget_foreign_history(git, home)
            return []
        kind = f"{history_version()} {place.prefix}"  # of commits in the file
        stored = history.read(path) or {}
        head, _, stored_kind = ((stored and history.key(stored)) or "").partition(" ")
        if (head, stored_kind) == (place.head, kind):
            return []
        new = _commits_since(git, place, head, int(stored["times"].max(initial=0))) if stored_kind == kind else None
        older = None if new is None else history.shifted(stored, len(new), MOST_COMMITS, MOST_PATCHES)
        commits = _read_history(git, place, newest_commits(git, place) if new is None else new, home, progress)
    except AssayError as error:  # git is missing, does not trust the folder, or cannot read the repository
        return [str(error)]
    history.write(path, f"{place.head} {kind}", commits, older)
    return []


def _commits_since(git: Git, place: Place, head: str, newest: int) -> list[str] | None:
    """Return the commits between an earlier HEAD and this one, newest first, if all of those before it follow them.

    None if it is no ancestor, or times disagree with the order of commits: then all are walked again.
    """
    if git.partial or place.prefix or not head.isalnum():
        return None
    listed = git.ask("rev-list", "--left-right", "--timestamp", "--parents", f"{head}...{place.head}", "--")
    if listed is None:  # the commit is gone
        return None
    rows = [line.split() for line in listed.splitlines()]
    if len(rows) >= MOST_COMMITS or any(commit[0] != ">" or int(time) <= newest for time, commit, *_ in rows):
        return None
    return [commit[1:] for _, commit, *parents in rows if len(parents) == 1]


def forget_foreign_history(git: Git, home: Home) -> None:
    """Delete the history of an index if it is that of another repository, as an earlier version may have read it."""
    if git.trouble:
        for name in (history.NAME, _CACHE, *(_CACHE + suffix for suffix in SIBLINGS)):
            (home.folder / name).unlink(missing_ok=True)


def _read_history(git: Git, place: Place, ids: Sequence[str], home: Home, progress: Progress) -> list[Commit]:
    """Return the commits with these ids, newest first, that touched files."""
    cache = CommitCache(cache_path(git.root, home.folder, _CACHE))
    try:
        facts_by_id = cache.commits(ids)
        missing = [commit for commit in ids if commit not in facts_by_id]
        progress.start("reading history", len(missing))
        fresh = []
        for facts in read_commits(git, missing):
            fresh.append(facts)
            progress.advance()
        facts_by_id |= {facts.id: facts for facts in fresh}
        cache.put_commits(fresh)
        with_files = [commit for commit in ids[:MOST_PATCHES] if commit in facts_by_id and facts_by_id[commit].files]
        names = cache.names(with_files)
        new_names = dict(read_names(git, [commit for commit in with_files if commit not in names]))
        cache.put_names(new_names)
    finally:
        cache.close()
    names |= new_names
    commits = (
        _commit(number, facts_by_id[id_], names.get(id_, {}), place.prefix)
        for number, id_ in enumerate(ids)
        if id_ in facts_by_id
    )
    return [commit for commit in commits if commit.touched]


def _commit(number: int, facts: CommitFacts, names: Names, prefix: str) -> Commit:
    """Convert a commit to paths relative to the folder at `prefix`."""
    touched = [
        Touch(
            path.removeprefix(prefix),
            before.removeprefix(prefix) if before.startswith(prefix) else "",
            tuple(names.get(path, ())),
        )
        for path, before in facts.files
        if path.startswith(prefix)
    ]
    return Commit(facts.id, facts.time, facts.subject, facts.terms, touched, len(facts.files), facts.author, number)


# Definitions removed by a change


def removed(git: Git, root: Path, changes: list[Change]) -> dict[str, list[SymbolFact]]:
    """Return the definitions that a change removed from each file, by its current path."""
    candidates = [change for change in changes if change.old_blob and _removes_definitions(change)]
    if not candidates:
        return {}
    out: dict[str, list[SymbolFact]] = {}
    with git.blobs() as blobs, TextParser() as parser:
        for change in candidates:
            source = read_source(root, change.path, whole=True)
            current = {fact.symbol for fact, _ in outline(parser, change.path, source.data.decode())}
            old = outline(parser, change.before or change.path, blobs.text(change.old_blob))
            out[change.path] = [fact for fact, _ in old if fact.symbol not in current]
    return {path: facts for path, facts in out.items() if facts}


def _removes_definitions(change: Change) -> bool:
    """Return whether a removed line looks like a definition: only then are both texts parsed."""
    path = change.before or change.path
    return any(
        True
        for hunk in change.hunks
        for _ in changed_names(path, "", [line.decode("utf-8", "replace") for line in hunk.removed])
    )
