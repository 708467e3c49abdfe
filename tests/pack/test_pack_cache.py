"""The pack cache: a cached pack equals a fresh one, and a broken cache never blocks an answer."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assay.store import caches as pack_cache
from assay.store.caches import NAME, Answer, PackCache, key_of
from support.command import COMMAND, ENVIRONMENT, Done, assay
from support.repository import Repository

SHOP = "def total_price(goods):\n    return sum(goods)\n\n\ndef invoice(goods):\n    return total_price(goods)\n"
TASK = "total price of goods"
MARK = b"answered from the cache\n"


LONG_AGO = 1_700_000_000  # answers about files that changed just now are not kept


@pytest.fixture
def shop(repository: Repository) -> Repository:
    write(repository, "shop.py", SHOP)
    write(repository, "other.py", "def other():\n    pass\n")
    repository.commit()
    repository.index()
    return repository


def write(shop: Repository, path: str, text: str, age: int = 0) -> None:
    """Writes a file as if that was long ago; `age` tells one time from another."""
    shop.write(path, text)
    os.utime(shop.root / path, (LONG_AGO + age, LONG_AGO + age))


def context(shop: Repository, *arguments: str | Path) -> Done:
    return assay(shop.root, "context", *(arguments or (TASK,)))


def doctor(shop: Repository) -> None:
    """Replaces every remembered answer by one that no ranking gives, to tell who was asked."""
    import zlib

    with sqlite3.connect(shop.home.folder / NAME) as connection:
        connection.execute("UPDATE packs SET text = ?, code = 0, sum = ?", (MARK, zlib.crc32(MARK)))


def cached(shop: Repository, *arguments: str | Path) -> bool:
    """Whether a question is answered from the cache."""
    return context(shop, *arguments).out == MARK.decode()


def test_the_same_question_is_answered_from_the_cache_with_the_same_bytes_and_code(shop: Repository) -> None:
    first, second = context(shop), context(shop)
    assert (first.out, first.code) == (second.out, second.code)
    missed = context(shop, "qwertyuiop")
    assert (missed.code, context(shop, "qwertyuiop")) == (1, missed)
    doctor(shop)
    assert cached(shop)


def imported(shop: Repository, *arguments: str) -> set[str]:
    """The packages that a command imports."""
    done = subprocess.run(
        [*COMMAND, "context", *arguments],
        cwd=shop.root,
        env={**ENVIRONMENT, "PYTHONPROFILEIMPORTTIME": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}


def test_a_remembered_answer_needs_nothing_that_counts_or_parses(shop: Repository) -> None:
    context(shop)
    assert not imported(shop, TASK) & {"numpy", "msgspec", "tomllib", "tree_sitter", "assay.rank.engine"}
    ranking = imported(shop, TASK, "--no-cache")
    assert {"numpy", "assay.rank.engine"} <= ranking, "the others are what takes time and is not needed"
    assert not ranking & {"numpy.ma", "msgspec", "tomllib", "tree_sitter", "snowballstemmer", "assay.index.parse"}


@pytest.mark.parametrize(
    "other",
    [
        ["another task"],
        [TASK, "--budget", "49999"],
        [TASK, "--format", "json"],
        [TASK, "-k", "49"],
        [TASK, "--profile", "lexical"],
        [TASK, "--files", "shop.py"],
        [TASK.upper()],
        ["--pr", "HEAD"],
    ],
)
def test_another_question_is_another_answer(shop: Repository, other: list[str]) -> None:
    context(shop)
    doctor(shop)
    assert not cached(shop, *other)
    assert cached(shop)


def test_a_changed_file_changes_the_answer_and_its_freshness(shop: Repository) -> None:
    as_it_is = (TASK, "--no-refresh")
    assert "fresh: nothing changed" in context(shop, *as_it_is).out
    doctor(shop)
    write(shop, "other.py", "def other():\n    return 1\n", age=1)
    assert "1 file changed since it was made (other.py)" in context(shop, *as_it_is).out
    doctor(shop)
    assert cached(shop, *as_it_is), "the same state again"
    write(shop, "other.py", "def other():\n    return 2\n", age=2)
    assert not cached(shop, *as_it_is)
    shop.index()
    assert "fresh: nothing changed" in context(shop, *as_it_is).out


def test_an_answer_from_a_stale_index_is_not_given_where_the_index_may_be_updated(shop: Repository) -> None:
    write(shop, "shop.py", SHOP + "\n\ndef total_price_of_goods():\n    pass\n", age=1)
    stale = context(shop, TASK, "--no-refresh")
    assert "total_price_of_goods" not in stale.out
    updated = context(shop)
    assert "total_price_of_goods" in updated.out
    assert "fresh: nothing changed" in updated.out
    doctor(shop)
    assert cached(shop), "the answer from the updated index was kept"
    assert not imported(shop, TASK) & {"numpy", "msgspec", "tomllib", "tree_sitter", "assay.rank.engine"}


def test_while_a_file_is_younger_than_its_timestamp_can_tell_nothing_is_remembered(shop: Repository) -> None:
    context(shop)
    doctor(shop)
    shop.write("other.py", "def other():\n    return 1\n")
    os.utime(shop.root / "other.py", (2**32, 2**32))  # younger than anything
    assert not cached(shop, TASK, "--no-refresh")
    assert not cached(shop)
    assert not cached(shop)
    write(shop, "other.py", "def other():\n    pass\n")
    assert not cached(shop), "the index was brought up to date"
    doctor(shop)
    assert cached(shop)


def test_a_deleted_and_a_new_file_change_the_answer(shop: Repository) -> None:
    context(shop)
    doctor(shop)
    write(shop, "new.py", "x = 1\n")
    assert not cached(shop)
    (shop.root / "new.py").unlink()
    (shop.root / "other.py").unlink()
    assert not cached(shop)


def test_another_generation_another_history_and_other_settings_change_the_answer(shop: Repository) -> None:
    context(shop)
    doctor(shop)
    shop.index(rebuild=True)
    assert not cached(shop)
    doctor(shop)
    shop.commit("an empty commit moves only the history")
    shop.index()
    assert not cached(shop)
    doctor(shop)
    shop.write("assay.toml", "[x]\n")
    assert not cached(shop)


def test_a_diff_is_a_part_of_the_question(shop: Repository) -> None:
    write(shop, "shop.py", SHOP.replace("sum(goods)", "sum(goods, 0)"))
    shop.index()
    assert context(shop, "--pr", "HEAD").code == 0
    doctor(shop)
    assert cached(shop, "--pr", "HEAD")
    write(shop, "README.md", "not indexed, but changed\n")
    assert not cached(shop, "--pr", "HEAD")


def test_other_code_gives_another_key(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    index = shop.open()
    before = key_of(index, "", ["question"])
    assert before == key_of(index, "", ["question"])
    monkeypatch.setattr(pack_cache, "code_fingerprint", lambda: "edited")
    assert before != key_of(index, "", ["question"])


def test_every_file_of_the_package_counts_as_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "retrieve").mkdir()
    (tmp_path / "retrieve" / "engine.py").write_text("a = 1\n")
    monkeypatch.setattr(pack_cache, "_PACKAGE", tmp_path)
    seen = set()
    for text in ("a = 1\n", "a = 12\n"):
        (tmp_path / "retrieve" / "engine.py").write_text(text)
        seen.add(pack_cache.code_fingerprint.__wrapped__())
    (tmp_path / "retrieve" / "classes.json").write_text("")
    seen.add(pack_cache.code_fingerprint.__wrapped__())
    assert len(seen) == 3


def test_no_cache_neither_reads_nor_writes_one(shop: Repository) -> None:
    assert context(shop, TASK, "--no-cache").code == 0
    assert not (shop.home.folder / NAME).exists()
    context(shop)
    doctor(shop)
    assert not cached(shop, TASK, "--no-cache")


def test_an_evaluation_does_not_use_it(shop: Repository) -> None:
    write(
        shop, "golden.jsonl", '{"id": "1", "question": "total price of goods", "expected_symbols": ["total_price"]}\n'
    )
    context(shop)
    doctor(shop)
    before = (shop.home.folder / NAME).read_bytes()
    done = assay(shop.root, "eval", "run", "--golden", "golden.jsonl", "--system", "assay", "--format", "json")
    assert done.code == 0, done.err
    assert MARK.decode().strip() not in done.out
    assert (shop.home.folder / NAME).read_bytes() == before


@pytest.mark.parametrize("damage", ["garbage", "truncated", "empty", "flipped", "other table", "folder"])
def test_a_damaged_cache_is_ignored(shop: Repository, damage: str) -> None:
    expected = context(shop)
    path = shop.home.folder / NAME
    content = path.read_bytes()
    if damage == "folder":
        path.unlink()
        path.mkdir()
    elif damage == "flipped":
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE packs SET text = ?", (MARK,))
    elif damage == "other table":
        path.unlink()
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE packs (x)")
    else:
        path.write_bytes({"garbage": os.urandom(4096), "truncated": content[: len(content) // 2], "empty": b""}[damage])
    assert context(shop) == expected
    assert context(shop) == expected


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_no_error(shop: Repository) -> None:
    shop.home.folder.chmod(0o500)
    try:
        assert context(shop).code == 0
        assert not (shop.home.folder / NAME).exists()
    finally:
        shop.home.folder.chmod(0o700)


def test_a_cache_that_another_process_holds_is_done_without(shop: Repository) -> None:
    expected = context(shop)
    holder = sqlite3.connect(shop.home.folder / NAME, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        assert context(shop) == expected
        assert context(shop, "invoice").code == 0
    finally:
        holder.rollback()
        holder.close()


def test_two_at_once_agree(shop: Repository) -> None:
    def ask(_: int) -> tuple[int, bytes, bytes]:
        done = subprocess.run(
            [*COMMAND, "context", TASK], cwd=shop.root, env=ENVIRONMENT, capture_output=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1


# -- bounds -------------------------------------------------------------------------------------------------------------


def test_it_keeps_what_was_asked_for_last_within_its_bounds(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack_cache, "MOST_ENTRIES", 3)
    cache = PackCache(shop.open())
    for number in range(3):
        cache.put(bytes([number]), Answer(str(number), 0))
    assert cache.get(b"\0") == Answer("0", 0), "used again, so 1 is the oldest"
    cache.put(b"\3", Answer("3", 1))
    assert [cache.get(bytes([number])) for number in range(4)] == [Answer("0", 0), None, Answer("2", 0), Answer("3", 1)]
    cache.close()


def test_it_stays_within_its_bytes(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack_cache, "MOST_BYTES", 800)
    cache = PackCache(shop.open())
    for number in range(20):
        cache.put(bytes([number]), Answer("x" * 100, 0))
    assert len(cache.read("SELECT key FROM packs")) == 8
    cache.put(b"large", Answer("x" * 101, 0))
    assert cache.get(b"large") is None, "one answer may not push out most others"
    assert len(cache.read("SELECT key FROM packs")) == 8
    cache.close()


def test_an_answer_comes_back_as_it_was(shop: Repository) -> None:
    cache = PackCache(shop.open())
    for text in ("", "漢字 🧪\r\n\0", "a" * 100_000):
        cache.put(b"key", Answer(text, 1))
        assert cache.get(b"key") == Answer(text, 1)
    cache.close()
    assert cache.get(b"key") is None, "closed is as good as gone"


def test_an_index_kept_elsewhere_has_its_cache_there(shop: Repository, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(shop.home.folder, elsewhere)
    assert context(shop, TASK, "--index-dir", elsewhere).code == 0
    assert (elsewhere / NAME).exists()
    assert not (shop.home.folder / NAME).exists()
