"""A hostile `.assay/` from a clone: nothing in it escapes the folder, blocks a command or is trusted unchecked."""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import assay as package
from assay.errors import AssayError
from assay.evaluate.runs import RunStore
from assay.feedback import forget_everything
from assay.index.facts import Extracted
from assay.index.parse import ParseCache
from assay.store import arrays, catalogue, edges, history, sections
from assay.store.caches import DiskCache
from assay.store.history import History
from assay.store.index import UnusableIndex
from assay.store.layout import Home
from assay.store.seal import code
from assay.store.sections import Sections
from assay.store.vectors import VectorStore
from assay.system import database
from assay.system.files import UnsafeFolder
from support.command import COMMAND, ENVIRONMENT, Done, assay
from support.cpu import at_most
from support.repository import Repository

CODE = "def sign_session(user):\n    return seal_cookie(user)\n\n\ndef seal_cookie(user):\n    return user\n"
ENDLESS = "WITH RECURSIVE again(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM again) SELECT n FROM again"
DEADLINE = 60  # CPU seconds for what takes three and would never end without a budget

PRECIOUS = "precious: not assay's to touch\n"


@pytest.fixture
def shop(repository: Repository) -> Repository:
    """A repository that is not indexed yet."""
    repository.write("shop.py", CODE)
    repository.write("README.md", "# Shop\n\nSessions are signed with a seal.\n")
    repository.write("golden.jsonl", '{"id": "q1", "query": "sign a session", "expected": ["shop.py::sign_session"]}\n')
    repository.commit()
    return repository


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder outside, with files of every name that assay writes or removes, and generations of its own."""
    place = tmp_path / "photos"
    for name in ("000001/a.jpg", "000002/a.jpg", "000003/a.jpg", "000004/a.jpg", ".new-1/a.jpg", "runs/r/report.md"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(PRECIOUS)
    for name in (
        ".bashrc",
        "learned.db",
        "runs.db",
        "packs.db",
        "current.new",
        ".current.0123456789abcdef.tmp",
        "lock",
    ):
        (place / name).write_text(PRECIOUS)
    (place / "empty").touch()
    with sqlite3.connect(place / "cookies.db") as other:
        other.execute("CREATE TABLE cookies (name TEXT, value TEXT)")
        other.execute("INSERT INTO cookies VALUES ('token', 'secret')")
    other.close()
    return place


def _content(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


def _index(repository: Repository) -> None:
    repository.index()


def _open(repository: Repository) -> None:
    repository.open().close()


def _context(repository: Repository) -> None:
    with package.open(repository.root) as opened:
        opened.context("sign a session")


def _search(repository: Repository) -> None:
    with package.open(repository.root) as opened:
        opened.search("how are sessions signed")


def _learn(repository: Repository) -> None:
    with package.open(repository.root) as opened:
        opened.context("sign a session", session="s")


def _forget(repository: Repository) -> None:
    forget_everything(repository.root, repository.home)


def _runs(repository: Repository) -> None:
    with RunStore.open(repository.home.folder / "runs.db", write=True):
        pass


def _read_runs(repository: Repository) -> None:
    with RunStore.open(repository.home.folder / "runs.db"):
        pass


EVERYTHING = (_index, _open, _context, _search, _learn, _forget, _runs, _read_runs)

LINKS = {
    ".assay": ".",
    ".assay/generations": ".",
    ".assay/current": ".bashrc",
    ".assay/lock": ".bashrc",
    ".assay/.gitignore": "absent",
    ".assay/runs.db": "cookies.db",
    ".assay/runs.db-wal": "empty",
    ".assay/runs.db-journal": ".bashrc",
    ".assay/packs.db": "cookies.db",
    ".assay/parses.db": "empty",
    ".assay/vectors.db": "cookies.db",
    ".assay/learned.db": "cookies.db",
    ".assay/learned.db-shm": "empty",
    ".assay/sections.npz": ".bashrc",
    ".assay/history.npz": ".bashrc",
    ".assay/statements.npz": ".bashrc",
    ".assay/generations/000001": "000001",
    ".assay/generations/000009": "000001",
    ".assay/runs": "runs",
    ".assay/tuning": ".",
}


@pytest.mark.parametrize("indexed", [False, True], ids=["new", "indexed"])
@pytest.mark.parametrize("name", LINKS)
def test_a_link_in_the_index_folder_is_refused_and_what_it_leads_to_stays(
    shop: Repository, photos: Path, name: str, indexed: bool
) -> None:
    if indexed:
        shop.index()
    link = shop.root / name
    if link.is_dir():
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(os.path.relpath(photos / LINKS[name], link.parent))
    before, own = _content(photos), _content(shop.home.folder) if name != ".assay" else {}
    for command in EVERYTHING if "generations/" not in name else (_index, _open, _context, _search, _learn, _forget):
        with pytest.raises(AssayError) as refused:
            command(shop)
        assert str(link) in str(refused.value), command.__name__
        assert "a symbolic link, which is not followed here. Remove it, or " in str(refused.value)
        assert "\n" not in str(refused.value)
        assert _content(photos) == before, command.__name__
    assert (_content(shop.home.folder) if name != ".assay" else {}) == own


@pytest.mark.parametrize("name", [".current.new", "current.new", "sections.npz.new", "history.npz.new", "absent.tmp"])
def test_the_names_of_former_temporaries_lead_nowhere(shop: Repository, photos: Path, name: str) -> None:
    folder = shop.home.folder
    folder.mkdir()
    (folder / name).symlink_to(photos / ".bashrc")
    before = _content(photos)
    with pytest.raises(UnsafeFolder, match=f"{name}: a symbolic link"):
        shop.index()
    assert _content(photos) == before
    assert [path.name for path in folder.iterdir()] == [name]


@pytest.mark.parametrize("name", [catalogue.NAME, "edges.npy", "seal.json", "dependencies.npz"])
def test_a_link_inside_a_generation_makes_it_unusable_and_indexing_replaces_it(
    shop: Repository, photos: Path, name: str
) -> None:
    shop.index()
    generation = shop.home.current()
    assert generation is not None
    shutil.copy(generation / name, photos / name)
    (generation / name).unlink()
    (generation / name).symlink_to(photos / name)
    before = _content(photos)
    with pytest.raises(UnusableIndex, match=f"{name}: a symbolic link"):
        shop.open()
    shop.index()
    assert shop.symbols() >= {"shop.py::sign_session"}
    for _ in range(3):  # until that generation is swept away
        shop.index(rebuild=True)
    assert not generation.exists()
    assert _content(photos) == before


def test_every_command_says_so_in_a_line_and_exits_with_2(shop: Repository, photos: Path) -> None:
    (shop.root / ".assay").symlink_to(photos)
    before = _content(photos)
    for arguments in (
        ("index",),
        ("context", "sign a session"),
        ("search", "signed"),
        ("status",),
        ("feedback", "forget", "--all"),
        ("eval", "run", "--golden", "golden.jsonl", "--system", "cmd:echo {query}"),
        ("eval", "list"),
    ):
        done = assay(shop.root, *arguments)
        _assert_refused(done, shop.root / ".assay", "a symbolic link")
        assert _content(photos) == before, arguments


def _assert_refused(done: Done, path: Path, problem: str) -> None:
    assert done.code == 2
    assert done.err.startswith(f"assay: {path}: {problem}")
    assert len(done.err.splitlines()) == 1


def test_watching_says_so_and_touches_nothing(shop: Repository, photos: Path) -> None:
    (shop.root / ".assay").symlink_to(photos)
    before = _content(photos)
    watching = subprocess.Popen(
        [*COMMAND, "watch", "--poll", "0.2"], cwd=shop.root, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    )
    try:
        assert watching.stderr is not None
        lines = [watching.stderr.readline(), watching.stderr.readline()]
    finally:
        watching.kill()
        watching.communicate()
    assert f"failed: {shop.root / '.assay'}: a symbolic link" in lines[1]
    assert _content(photos) == before


def test_reports_of_runs_are_written_through_no_link(shop: Repository, photos: Path) -> None:
    """The folder of a run has a name that can be guessed."""
    from assay.system.files import place_in

    (shop.home.folder / "runs" / "r").mkdir(parents=True)
    (shop.home.folder / "runs" / "r" / "report.md").symlink_to(photos / ".bashrc")
    with pytest.raises(UnsafeFolder, match=r"report\.md: a symbolic link"):
        place_in(shop.home.folder, "runs", "r")
    shutil.rmtree(shop.home.folder / "runs")
    (shop.home.folder / "runs").mkdir()
    (shop.home.folder / "runs" / "r").symlink_to(photos / "runs")
    with pytest.raises(UnsafeFolder, match="r: a symbolic link"):
        place_in(shop.home.folder, "runs", "r")


@pytest.mark.parametrize("name", ["parses.db", "parses.db-wal", "commits.db", ""])
def test_caches_in_the_git_folder_are_not_reached_through_links(shop: Repository, photos: Path, name: str) -> None:
    cache = shop.root / ".git" / "assay"
    if name:
        cache.mkdir()
        (cache / name).symlink_to(photos / "cookies.db")
    else:
        cache.symlink_to(photos)
    before = _content(photos)
    shop.index()
    assert _content(photos) == before
    assert shop.symbols() >= {"shop.py::sign_session"}


def test_a_folder_given_with_an_option_may_be_reached_through_a_link_but_has_none_in_it(
    shop: Repository, photos: Path, tmp_path: Path
) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    assert assay(shop.root, "index", "--index-dir", tmp_path / "link").code == 0
    assert assay(shop.root, "symbols", "sign_session", "--index-dir", tmp_path / "link").code == 0
    (tmp_path / "disk" / "packs.db").unlink(missing_ok=True)
    (tmp_path / "disk" / "packs.db").symlink_to(photos / "cookies.db")
    done = assay(shop.root, "context", "sign a session", "--index-dir", tmp_path / "link")
    _assert_refused(done, tmp_path / "disk" / "packs.db", "a symbolic link")


def test_naming_the_own_folder_with_the_option_is_no_way_around(shop: Repository, photos: Path) -> None:
    (shop.root / ".assay").symlink_to(photos)
    home = Home.of(shop.root, shop.root / "." / ".assay")
    with pytest.raises(UnsafeFolder):
        home.check()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("name", ["", "generations", "current", "learned.db", "generations/000001"])
def test_what_belongs_to_another_user_is_refused(shop: Repository, name: str) -> None:
    shop.index()
    path = shop.home.folder / name
    if not path.exists():
        path.touch()
    os.chown(path, 12345, -1)
    for command in (_index, _open):
        with pytest.raises(AssayError, match=r"belongs to another user \(uid 12345\)"):
            command(shop)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_given_folder_may_be_its_owners(shop: Repository, tmp_path: Path) -> None:
    """A server reads an index that another account built, when it is told to."""
    place = tmp_path / "built"
    assert assay(shop.root, "index", "--index-dir", place).code == 0
    for path in (place, *place.rglob("*")):
        os.chown(path, 12345, -1)
    assert assay(shop.root, "symbols", "sign_session", "--index-dir", place).code == 0
    os.chown(place / "current", 54321, -1)
    _assert_refused(
        assay(shop.root, "symbols", "sign_session", "--index-dir", place), place / "current", "belongs to another user"
    )


def test_a_pipe_in_the_index_folder_is_refused(shop: Repository) -> None:
    shop.index()
    (shop.home.folder / "learned.db").unlink(missing_ok=True)
    os.mkfifo(shop.home.folder / "learned.db")
    with pytest.raises(UnsafeFolder, match=r"learned\.db: not a regular file"):
        shop.open()


# -- an index that somebody else made -----------------------------------------------------------------------------------


def _cloned(shop: Repository, tmp_path: Path) -> Repository:
    """A clone of a repository that carries its index."""
    shop.index()
    shop.git("add", "--force", ".assay")
    shop.commit("index")
    subprocess.run(["git", "clone", "-q", str(shop.root), str(tmp_path / "clone")], check=True)
    return Repository(tmp_path / "clone")


def test_an_index_that_came_with_a_clone_is_refused(shop: Repository, tmp_path: Path) -> None:
    clone = _cloned(shop, tmp_path)
    before = _content(clone.home.folder)
    for arguments in (("context", "sign a session"), ("status",), ("index",), ("eval", "list")):
        done = assay(clone.root, *arguments)
        _assert_refused(done, clone.home.folder, "tracked by git, so it came with the repository")
        assert "git rm -r .assay" in done.err
    assert _content(clone.home.folder) == before
    clone.git("rm", "-r", "-q", ".assay")
    clone.index()
    assert clone.symbols() >= {"shop.py::sign_session"}


def test_an_index_that_a_pull_brings_over_the_own_is_refused(shop: Repository, tmp_path: Path) -> None:
    """Git overwrites what is ignored, and `.assay/` ignores itself."""
    subprocess.run(["git", "clone", "-q", str(shop.root), str(tmp_path / "clone")], check=True)
    clone = Repository(tmp_path / "clone")
    clone.index()
    clone.open().close()
    shop.index()
    shop.git("add", "--force", ".assay")
    shop.commit("index")
    clone.git("pull", "-q")
    for command in (_open, _index):
        with pytest.raises(UnsafeFolder, match="tracked by git"):
            command(clone)


def test_an_index_restored_from_a_cache_is_used_and_sealed_again(
    shop: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.index()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another machine"))
    opened = shop.open()
    assert not opened.generation.sealed
    opened.close()
    assert shop.index().mode == "fresh"
    opened = shop.open()
    assert opened.generation.sealed
    opened.close()


def test_without_a_place_for_the_key_an_index_is_looked_at_in_full_each_time(
    shop: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/no/such/place")
    shop.index()
    opened = shop.open()
    assert not opened.generation.sealed
    opened.close()
    assert shop.index().mode == "fresh"


def test_the_key_is_for_its_user_alone(shop: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shop.index()
    (key,) = (tmp_path / "state" / "assay").iterdir()
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_bytes()) == 32


@pytest.mark.parametrize("change", ["size", "time", "more", "less", "code"])
def test_a_seal_fits_nothing_but_what_was_sealed(shop: Repository, change: str) -> None:
    shop.index()
    folder = shop.home.current()
    assert folder is not None
    path = folder / "dependencies.npz"
    if change == "size":
        info = path.stat()
        path.write_bytes(path.read_bytes() + b"\0")
        os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    elif change == "time":
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    elif change == "more":
        (folder / "more").touch()
    elif change == "less":
        path.unlink()
    else:
        seal = (folder / "seal.json").read_bytes()
        flipped = b"0" if seal[-2:-1] != b"0" else b"1"
        (folder / "seal.json").write_bytes(seal[:-2] + flipped + b"\n")
    opened = shop.open()
    assert not opened.generation.sealed
    opened.close()


# -- databases ------------------------------------------------------------------------------------------------------------


def _catalogue(repository: Repository) -> Path:
    folder = repository.home.current()
    assert folder is not None
    return folder / catalogue.NAME


def _with_view(path: Path, table: str) -> None:
    """Puts an endless view in place of a table, and makes the rest fit."""
    connection = sqlite3.connect(path, isolation_level=None)
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    connection.execute(f"DROP TABLE {table}")
    connection.execute(f"CREATE VIEW {table} AS SELECT {', '.join(f'n AS {one}' for one in columns)} FROM ({ENDLESS})")
    if table != "meta" and path.name == catalogue.NAME:
        for _ in range(2):
            size = f"{path.stat().st_size:012d}"
            connection.execute("UPDATE meta SET value = ? WHERE key = 'catalogue_bytes'", (size,))
    connection.close()


@pytest.mark.parametrize("table", ["symbols", "meta", "files", "texts"])
def test_an_endless_view_in_the_catalogue_stops_no_command(shop: Repository, table: str) -> None:
    shop.index()
    _with_view(_catalogue(shop), table)
    with at_most(DEADLINE):
        done = assay(shop.root, "context", "sign a session")
    assert done.code == 2
    assert "the index is damaged (unexpected schema). Rebuild it with: " in done.err
    assert len(done.err.splitlines()) == 1
    with at_most(DEADLINE):
        assert shop.index().mode == "full"
    assert shop.symbols() >= {"shop.py::sign_session"}


def test_a_trigger_in_the_catalogue_never_runs(shop: Repository) -> None:
    shop.index()
    with sqlite3.connect(_catalogue(shop)) as connection:
        connection.execute("CREATE TRIGGER t AFTER INSERT ON files BEGIN DELETE FROM symbols; END")
    connection.close()
    with pytest.raises(UnusableIndex, match="unexpected schema"):
        shop.open()
    assert shop.index().mode == "full"


@pytest.mark.parametrize(
    "change",
    [
        "CREATE VIEW more AS SELECT 1",
        "CREATE TABLE more (a)",
        "CREATE INDEX more ON symbols (length(name))",
        "DROP INDEX symbols_name",
        "ALTER TABLE files ADD COLUMN more INTEGER AS (number * 2)",
    ],
)
def test_only_the_expected_schema_is_opened(shop: Repository, change: str) -> None:
    shop.index()
    with sqlite3.connect(_catalogue(shop)) as connection:
        connection.execute(change)
    connection.close()
    with pytest.raises(UnusableIndex, match="unexpected schema"):
        shop.open()


def test_a_statement_that_takes_too_many_steps_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_MAX_STEPS", 5_000_000)
    connection = database.connect(tmp_path / "a.db", "rwc")
    with pytest.raises(sqlite3.OperationalError) as ended:
        connection.execute(f"SELECT count(*) FROM ({ENDLESS})").fetchall()
    assert database.was_interrupted(ended.value)
    for _ in range(20):  # each has a budget of its own
        assert connection.execute("SELECT count(*) FROM (WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a LIMIT 100000) SELECT n FROM a)").fetchone() == (100_000,)  # fmt: skip  # noqa: E501
    connection.close()


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("parsed", lambda path: ParseCache(path)),
        ("vectors", lambda path: VectorStore(path)),
        (
            "packs",
            lambda path: DiskCache(path, ("CREATE TABLE IF NOT EXISTS packs (key BLOB PRIMARY KEY, text BLOB)",)),
        ),
    ],
)
def test_a_cache_with_other_tables_is_thrown_away(tmp_path: Path, name: str, make: Callable[[Path], DiskCache]) -> None:
    path = tmp_path / "cache.db"
    make(path).close()
    _with_view(path, name)
    cache = make(path)
    assert cache.read("SELECT count(*) FROM sqlite_master WHERE type = 'view'") == [(0,)]
    assert cache.read(f"SELECT count(*) FROM {name}") == [(0,)]
    cache.close()


def test_parses_and_commits_that_somebody_else_put_into_a_cache_are_not_believed(
    shop: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever made them has another key: a checksum alone anybody can make."""
    shop.write("shop.py", CODE + "\n\ndef break_seal(cookie): ...\n")
    shop.commit("break the seal")  # the first commit is not read
    shop.index()
    before = shop.open().export()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another user"))
    for name, tables in (("parses.db", ["parsed"]), ("commits.db", ["commits", "names"])):
        with sqlite3.connect(shop.root / ".git" / "assay" / name) as connection:
            for table in tables:
                assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() != (0,)
                value = "facts" if table == "parsed" else "value"
                for key, *rest in connection.execute(f"SELECT * FROM {table}").fetchall():
                    forged = code(key, b"\xc1", *rest[1:3]) if table == "parsed" else code(key, b"\xc1")
                    query = f"UPDATE {table} SET {value} = ?, sum = ? WHERE key = ?"
                    connection.execute(query, (b"\xc1", forged, key))
        connection.close()
    monkeypatch.undo()
    shop.write("more.py", "def more(): ...\n")
    shop.commit("more")
    shop.index()
    shop.index(rebuild=True)
    (shop.root / "more.py").unlink()
    shop.index()
    opened = shop.open()
    assert opened.export() == before
    assert len(History.open(opened)) == 2


@pytest.mark.parametrize("value", [None, 7, "text", 1.5])
def test_a_cached_parse_of_another_type_is_no_parse(tmp_path: Path, value: object) -> None:
    cache = ParseCache(tmp_path / "parses.db")
    cache.put_all([(b"d" * 16, "python", Extracted(b"facts", b"texts", 3))])
    assert cache.get(b"d" * 16, "python") == Extracted(b"facts", b"texts", 3)
    for column in ("facts", "texts", "lines"):
        cache.put_all([(b"d" * 16, "python", Extracted(b"facts", b"texts", 3))])
        cache.write(f"UPDATE parsed SET {column} = ?", [(value,)])
        assert cache.get(b"d" * 16, "python") is None
    cache.close()


def test_runs_and_what_was_learned_are_read_from_the_expected_tables_only(shop: Repository) -> None:
    shop.index()
    _runs(shop)
    _with_view(shop.home.folder / "runs.db", "eval_runs")
    with pytest.raises(AssayError, match=r"the run file cannot be used \(unexpected schema"):
        _read_runs(shop)
    _learn(shop)
    _with_view(shop.home.folder / "learned.db", "symbols")
    with pytest.warns(
        UserWarning, match=r"what was learned is damaged \(unexpected schema.*assay feedback forget --all"
    ):
        _context(shop)
    forget_everything(shop.root, shop.home)
    _learn(shop)


# -- arrays ---------------------------------------------------------------------------------------------------------------


def _header(shape: tuple[int, ...], kind: str = "<i4") -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"shape": shape, "fortran_order": False, "descr": kind})
    return file.getvalue()


HUGE = {
    "many": _header((10**12,)),
    "many columns of nothing": _header((10**12, 0)),
    "columns of nothing": _header((0, 10**12)),
    "product too large": _header((2**40, 2**40)),
    "of nothing": _header((10**12,), "|V0"),
    "negative": _header((-1,)),
    "unfinished": b"\x93NUMPY\x01\x00\x40\x00" + b"{'descr': ('<i4', [(".ljust(63) + b"\n",
    "objects": _header((1,), "|O") + bytes(8),
}


@pytest.mark.parametrize("what", HUGE)
def test_an_array_that_claims_to_be_larger_than_its_file_is_refused(what: str) -> None:
    with pytest.raises(ValueError, match=r"an array larger than its file|objects in an array|a damaged header"):
        arrays.array_in(memoryview(HUGE[what] + bytes(64)))


@pytest.mark.parametrize("what", HUGE)
def test_huge_arrays_in_the_index_are_damage(shop: Repository, what: str) -> None:
    shop.index()
    folder = shop.home.current()
    assert folder is not None
    (folder / edges.NAME).write_bytes(HUGE[what] + bytes(64))
    with pytest.raises(UnusableIndex, match="the index is damaged"):
        shop.open()


def _archive(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)


def _saved(array: arrays.Array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize("what", [*HUGE, "bomb", "pickle"])
@pytest.mark.parametrize("name", [history.NAME, sections.NAME])
def test_huge_arrays_beside_the_index_are_damage(shop: Repository, what: str, name: str) -> None:
    shop.index()
    path = shop.home.folder / name
    members = {one: _saved(array) for one, array in arrays.members(path).items()}
    some = next(one for one in members if one != "key")
    if what == "bomb":
        members[some] = _saved(np.zeros(5_000_000, "<i4"))
    elif what == "pickle":
        file = io.BytesIO()
        np.save(file, np.array([{}], object), allow_pickle=True)
        members[some] = file.getvalue()
    else:
        members[some] = HUGE[what] + bytes(64)
    _archive(path, members, zipfile.ZIP_DEFLATED if what == "bomb" else zipfile.ZIP_STORED)
    opened = shop.open()
    with pytest.raises(UnusableIndex, match="cannot be used"):
        History.open(opened) if name == history.NAME else Sections.open(opened)
    opened.close()
    shop.index()
    opened = shop.open()
    History.open(opened)
    Sections.open(opened)
    opened.close()


def test_arrays_of_another_type_are_refused(shop: Repository) -> None:
    shop.index()
    path = shop.home.folder / sections.NAME
    members = {one: _saved(array) for one, array in arrays.members(path).items()}
    _archive(path, members | {"lines": _saved(np.zeros((1, 2), "<f8"))})
    opened = shop.open()
    with pytest.raises(UnusableIndex, match="not the arrays that are written there"):
        Sections.open(opened)
    opened.close()


def test_numbers_that_lead_nowhere_are_noticed_even_with_the_right_digest(shop: Repository) -> None:
    shop.index()
    folder = shop.home.current()
    assert folder is not None
    opened = shop.open()
    rows = opened.edges.all.copy()
    opened.close()
    rows["target"][0] = 1 << 30
    digest = edges.write(folder, rows)
    with sqlite3.connect(_catalogue(shop)) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'edges'", (digest,))
    connection.close()
    with pytest.raises(UnusableIndex, match="numbers out of range"):
        shop.open()


def test_the_pointer_is_read_within_bounds(shop: Repository) -> None:
    shop.index()
    (shop.home.folder / "current").write_bytes(b"0" * 10_000_000)
    with pytest.raises(UnusableIndex):
        shop.open()
    shop.index()
    assert shop.symbols()


@pytest.mark.parametrize("name", ["²", "٣", "9" * 30, "-1", "1e3"])
def test_strange_names_among_the_generations_stop_nobody(shop: Repository, name: str) -> None:
    (shop.home.generations / name).mkdir(parents=True)
    shop.index()
    shop.index(rebuild=True)
    assert shop.home.named() == "000002"
    assert (shop.home.generations / name).is_dir()


def test_temporaries_have_names_that_cannot_be_guessed(shop: Repository) -> None:
    names: set[str] = set()
    with shop.home.writing():
        for _ in range(2):
            with shop.home.new_generation() as folder:
                names.add(folder.name)
    assert len(names) == 2
    assert all(len(name) == len(f".new-{os.getpid()}-") + 16 for name in names)


def test_a_repository_that_was_deleted_is_not_created_again(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    with pytest.raises(AssayError, match="gone"):
        Home.of(gone).prepare()
    ParseCache(gone / ".assay" / "parses.db").put_all([])
    assert not gone.exists()


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("passages", lambda array: array + 2**30),  # as row numbers, these would ask for gigabytes
        ("passages", lambda array: array - 2**30),
        ("passages", lambda array: array[:-1]),
        ("term_starts", lambda array: array[::-1].copy()),
        ("term_starts", lambda array: array * 2**30),
        ("term_starts", lambda array: array[:-1]),
        ("counts", lambda array: array[:-1]),
        ("counts", lambda array: array[:, :1].copy()),
    ],
)
def test_damaged_postings_of_passages_are_an_error_that_says_what_to_do(
    shop: Repository, name: str, damage: Callable[[arrays.Array], arrays.Array]
) -> None:
    shop.index()
    with package.open(shop.root) as repo:
        repo.search("session")
    folder = shop.root / ".assay"
    (path,) = folder.glob("passages-*.npz")
    content = {key: array.copy() for key, array in arrays.members(path).items()}
    arrays.write(path, content | {name: damage(content[name])})
    for vectors in (*folder.glob("vectors-*.npz"), folder / "vectors.db"):
        vectors.unlink()
    with package.open(shop.root) as repo, pytest.raises(UnusableIndex, match="index of passages is damaged"):
        repo.search("session")
