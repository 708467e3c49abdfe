"""`assay feedback`, its database under failures, and its isolation from evaluation."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.core.packs import Learned
from assay.feedback import CannotWrite, Unusable, forget_everything, learned_signals, learning, record_returned
from assay.feedback import file as database
from assay.store.source import WorkingTree
from support.command import COMMAND, ENVIRONMENT, Done, assay
from support.paths import ROOT
from support.repository import Repository
from support.waiting import PATIENCE
from support.workbench import timeless

TASK = "charge the customer for the basket"
SHOP = """\
class Cart:
    def total(self):
        return sum(self.prices)


class Order:
    def total(self):
        return 0


def checkout(cart):
    return cart.total() * 2


def ship_parcel(cart):
    return cart
"""


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("shop.py", SHOP)
    repository.commit()
    repository.index()
    return repository


def _feedback(shop: Repository, *arguments: str | Path, code: int = 0, **options: Any) -> Done:
    done = assay(shop.root, "feedback", *arguments, **options)
    assert done.code == code, done.err
    return done


def _file(shop: Repository) -> Path:
    return database.path_in(shop.home)


def _returned(shop: Repository, *names: str, task: str = TASK) -> None:
    """What `assay context --session s` does after an answer."""
    index = shop.open()
    items = [item for name in names for item in index.items("s.symbol = ?", (name,))]
    record_returned(index, shop.home, WorkingTree(index), items, task, "s")
    index.close()


def _used(shop: Repository, text: str) -> None:
    index = shop.open()
    with learning(index, shop.home, WorkingTree(index)) as told:
        told.used(text, "s")
    index.close()


def _learned(shop: Repository) -> Learned:
    index = shop.open()
    try:
        return learned_signals(index, shop.home, WorkingTree(index), TASK, "s")
    finally:
        index.close()


# -- the commands ------------------------------------------------------------------------------------------------------


def test_what_is_said_is_listed_with_what_it_is_worth(shop: Repository) -> None:
    assert "no feedback yet" in _feedback(shop, "list").out
    assert not _file(shop).exists()
    done = _feedback(shop, "useful", "checkout", "Cart.total", "--task", TASK)
    assert done.lines == ["useful: shop.py::checkout, shop.py::Cart.total"]
    assert _feedback(shop, "not-useful", "ship_parcel", "Cart.total").lines == [
        "not useful: shop.py::ship_parcel, shop.py::Cart.total"
    ]
    assert _feedback(shop, "list").lines == [
        "+0.100  shop.py::checkout  1 useful, 0 not  (basket 1, charge 1, customer 1)",
        "+0.000  shop.py::Cart.total  1 useful, 1 not  (basket 1, charge 1, customer 1)",
        "-0.100  shop.py::ship_parcel  0 useful, 1 not",
    ]


def test_the_same_in_json(shop: Repository) -> None:
    done = _feedback(shop, "useful", "checkout", "checkout", "--task", TASK, "--format", "json")
    assert done.json == {"useful": True, "task": TASK, "symbols": ["shop.py::checkout"]}
    assert _feedback(shop, "list", "--format", "json").json == {
        "symbols": [
            {
                "id": "shop.py::checkout", "useful": 1, "not_useful": 0, "score": 1.0, "adjustment": 0.1,
                "words": {"basket": 1, "charge": 1, "customer": 1},
            }
        ],
        "expired": 0,
    }  # fmt: skip
    assert _feedback(shop, "forget", "checkout", "ship_parcel", "--format", "json").json == {"forgotten": 1}
    assert _feedback(shop, "list", "--format", "json").json == {"symbols": [], "expired": 0}


@pytest.mark.parametrize("verb", ["useful", "not-useful", "forget"])
@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("chekout", "no symbol called 'chekout'. Nearest: checkout"),
        ("total", "'total' could be any of 2 symbols; name one of them: shop.py::Cart.total, shop.py::Order.total"),
        ("", "no symbol called ''."),
    ],
)
def test_an_unknown_or_ambiguous_name_records_nothing(shop: Repository, verb: str, name: str, complaint: str) -> None:
    done = _feedback(shop, verb, "ship_parcel", name, code=2)
    assert done.out == ""
    assert done.err.startswith(f"assay: {complaint}")
    assert not _file(shop).exists()


@pytest.mark.parametrize("arguments", [["useful"], ["forget"], ["forget", "checkout", "--all"], ["used"], ["sed"]])
def test_feedback_that_makes_no_sense_is_refused(shop: Repository, arguments: list[str]) -> None:
    assert _feedback(shop, *arguments, code=2).err


def test_without_an_index_the_command_to_make_one_is_named(repository: Repository) -> None:
    for arguments in (["useful", "x"], ["list"], ["forget", "x"], ["used", "--session", "s", "--file", "x"]):
        assert "Make one with: assay index" in _feedback(repository, *arguments, code=2).err
    assert _feedback(repository, "forget", "--all").out
    assert not (repository.root / ".assay").exists()


def test_what_a_hook_reports_is_useful(shop: Repository) -> None:
    _returned(shop, "checkout", "ship_parcel", "Cart.total", "Cart")
    done = _feedback(shop, "used", "--session", "s", "--file", "shop.py:15-16")
    assert done.lines == ["useful: shop.py::ship_parcel"]
    done = _feedback(shop, "used", "--session", "s", "--format", "json", input="assert checkout(cart) == 4")
    assert done.json == {"session": "s", "used": ["shop.py::checkout"]}
    assert _feedback(shop, "used", "--session", "s", "--file", shop.root / "shop.py:1-3").lines == [
        "useful: shop.py::Cart.total"
    ]
    assert "last shown in session 'other'" in _feedback(shop, "used", "--session", "other", input="checkout()").out
    _returned(shop, "checkout")
    assert _feedback(shop, "used", "--session", "s", "--file", "shop.py").lines == ["useful: shop.py::checkout"]


@pytest.mark.parametrize(
    ("place", "complaint"),
    [
        ("gone.py", "gone.py: cannot be read (No such file or directory)"),
        ("shop.py:9-3", "--file shop.py:9-3: lines start at 1"),
        ("shop.py:0", "--file shop.py:0: lines start at 1"),
        ("../../etc/passwd", "../../etc/passwd: outside "),
        (".", ".: cannot be read"),
        ("shop.py:" + "9" * 20, "shop.py:999"),
    ],
)
def test_a_place_that_cannot_be_read_is_one_line(shop: Repository, place: str, complaint: str) -> None:
    done = _feedback(shop, "used", "--session", "s", "--file", place, code=2)
    assert done.err.startswith(f"assay: {complaint}")


def test_bytes_that_are_no_text_are_read_as_far_as_they_go(shop: Repository) -> None:
    _returned(shop, "checkout")
    done = subprocess.run(
        [*COMMAND, "feedback", "used", "--session", "s"],
        cwd=shop.root, env=ENVIRONMENT, input=b"\xff\0checkout(\n", capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout == b"useful: shop.py::checkout\n"


@pytest.mark.parametrize(
    "arguments", [["useful", b"\xff"], ["forget", b"\xff"], ["used", "--session", b"\xff", "--file", "shop.py"]]
)
def test_names_that_are_no_text_are_refused(shop: Repository, arguments: list[str | bytes]) -> None:
    done = subprocess.run(
        [*COMMAND, "feedback", *arguments], cwd=shop.root, env=ENVIRONMENT, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, b"assay: the command line is not valid UTF-8\n")


def test_a_task_may_be_any_text(shop: Repository) -> None:
    _feedback(shop, "useful", "checkout", "--task", "漢字 🎉 \u202e '; DROP TABLE symbols; -- %s " + "x" * 100_000)
    assert "漢字" in _feedback(shop, "list").out


def test_code_that_changed_is_said_not_to_count(shop: Repository) -> None:
    _feedback(shop, "useful", "checkout", "ship_parcel")
    shop.write("shop.py", SHOP.replace("* 2", "* 3"))
    shop.index()
    assert _feedback(shop, "list").lines == [
        "+0.100  shop.py::ship_parcel  1 useful, 0 not",
        "expired, because the code changed: 1 symbol",
    ]


def test_another_place_for_the_index_is_another_memory(shop: Repository, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    assert assay(shop.root, "index", "--index-dir", elsewhere).code == 0
    _feedback(shop, "useful", "checkout", "--index-dir", elsewhere)
    assert (elsewhere / "learned.db").exists()
    assert not _file(shop).exists()


# -- the file ----------------------------------------------------------------------------------------------------------


def _garbage(path: Path) -> None:
    path.write_bytes(b"not a database, " * 500)


def _torn(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)


def _foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()


def _of_the_future(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()


@pytest.mark.parametrize("damage", [_garbage, _torn, _foreign, _of_the_future], ids=lambda damage: damage.__name__)
def test_a_file_that_cannot_be_used_is_one_line_that_says_how_to_get_rid_of_it(
    shop: Repository, damage: object
) -> None:
    _feedback(shop, "useful", "checkout", "--task", TASK)
    assert callable(damage)
    damage(_file(shop))
    for arguments in (["useful", "checkout"], ["list"], ["forget", "checkout"]):
        done = _feedback(shop, *arguments, code=2)
        assert done.err.startswith(f"assay: {_file(shop)}: what was learned is ")
        assert done.err.count("\n") == 1
        assert "assay feedback forget --all" in done.err
    with pytest.raises(Unusable):
        _learned(shop)
    _returned(shop, "checkout")
    assert _feedback(shop, "forget", "--all").lines == ["forgotten: everything that was learned"]
    _feedback(shop, "useful", "checkout")
    assert len(_feedback(shop, "list").lines) == 1


def test_an_index_that_is_damaged_is_not_blamed_on_what_was_learned(shop: Repository) -> None:
    _feedback(shop, "useful", "checkout")
    index = shop.open()
    with (
        pytest.raises(sqlite3.DatabaseError, match="as the index says"),
        learning(index, shop.home, WorkingTree(index)),
    ):
        raise sqlite3.DatabaseError("as the index says")
    assert len(_feedback(shop, "list").lines) == 1


def test_an_empty_file_is_as_good_as_none(shop: Repository) -> None:
    _file(shop).touch()
    _feedback(shop, "useful", "checkout")
    assert len(_feedback(shop, "list").lines) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_place_that_cannot_be_written_is_read_and_said_once(shop: Repository) -> None:
    _feedback(shop, "useful", "checkout")
    _file(shop).chmod(0o444)
    shop.home.folder.chmod(0o555)
    try:
        done = _feedback(shop, "useful", "ship_parcel", code=2)
        assert "cannot be opened or written" in done.err
        assert len(_feedback(shop, "list").lines) == 1
        assert len(_learned(shop).feedback) == 1
        _returned(shop, "checkout")
    finally:
        shop.home.folder.chmod(0o755)


def test_a_folder_where_the_file_should_be_is_one_line(shop: Repository) -> None:
    _file(shop).mkdir()
    assert "cannot be opened or written" in _feedback(shop, "useful", "checkout", code=2).err
    assert _learned(shop) == Learned()
    _returned(shop, "checkout")
    assert "cannot be opened or written" in _feedback(shop, "forget", "--all", code=2).err


def test_a_writer_that_does_not_let_go_is_waited_for_and_then_named(
    shop: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WAIT", 0.05)
    index = shop.open()
    tree = WorkingTree(index)
    with learning(index, shop.home, tree) as told:
        told.judge(index.items("s.symbol = 'checkout'"), True)
        with pytest.raises(CannotWrite, match="locked"), learning(index, shop.home, tree):
            pass
        assert learned_signals(index, shop.home, tree, TASK) == Learned()
    assert len(learned_signals(index, shop.home, tree, TASK).feedback) == 1


def test_two_at_once_lose_nothing(shop: Repository) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom assay.feedback import learning\nfrom assay.store.source import WorkingTree\n"
        "from assay.store.index import Index\nfrom assay.store.layout import Home\n"
        f"root = Path({str(shop.root)!r})\nhome = Home.of(root)\nindex = Index.open(root, home)\nitem = index.by_id('shop.py::checkout')\n"
        "for _ in range(25):\n    with learning(index, home, WorkingTree(index)) as told:\n        told.judge([item], True, 'basket')\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code], env=ENVIRONMENT) for _ in range(3)]
    assert [writer.wait(PATIENCE) for writer in writers] == [0, 0, 0]
    (row,) = _feedback(shop, "list", "--format", "json").json["symbols"]
    assert (row["useful"], row["words"]) == (75, {"basket": 75})


def test_a_killed_writer_leaves_whole_records(shop: Repository) -> None:
    code = (
        "from pathlib import Path\nfrom assay.feedback import learning\nfrom assay.store.source import WorkingTree\n"
        "from assay.store.index import Index\nfrom assay.store.layout import Home\n"
        f"root = Path({str(shop.root)!r})\nhome = Home.of(root)\nindex = Index.open(root, home)\n"
        "items = index.items(\"s.symbol IN ('checkout', 'ship_parcel')\")\n"
        "while True:\n    with learning(index, home, WorkingTree(index)) as told:\n        told.judge(items, True, 'basket')\n"
        "        print('told', flush=True)\n"
    )
    for _ in range(3):
        writer = subprocess.Popen([sys.executable, "-c", code], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        for _ in range(5):
            writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
    first, second = _feedback(shop, "list", "--format", "json").json["symbols"]
    assert first["useful"] == second["useful"] == first["words"]["basket"] >= 12
    assert forget_everything(shop.root, shop.home) == 2


# -- evaluation --------------------------------------------------------------------------------------------------------


def _run(shop: Repository) -> tuple[object, list[tuple[object, ...]]]:
    """A run of our engine: what it prints but for the clock, and every stored answer as it is on disk."""
    done = assay(
        shop.root, "eval", "run", "--golden", "golden.jsonl", "--system", "assay", "--matching", "strict", "--format", "json"
    )  # fmt: skip
    assert done.code == 0, done.err
    runs = sqlite3.connect(shop.home.folder / "runs.db")
    rows = runs.execute(
        "SELECT query_id, hits, trace, config, error FROM eval_query_results WHERE run_id = ?", (done.json["run_id"],)
    ).fetchall()
    runs.close()
    return timeless(done.json), rows


def test_no_run_ever_sees_what_was_learned(shop: Repository) -> None:
    questions = [
        {"id": f"q{n}", "question": q, "expected_symbols": ["checkout"]} for n, q in enumerate((TASK, "ship cart"))
    ]
    shop.write("golden.jsonl", "".join(json.dumps(question) + "\n" for question in questions))
    shop.index()
    cold = _run(shop)
    assert cold[1]
    for _ in range(10):
        _returned(shop, "checkout", "ship_parcel", "Order.total")
        _used(shop, "ship_parcel(checkout(1))")
    _feedback(shop, "not-useful", "Cart.total", "--task", TASK)
    assert _learned(shop).feedback
    assert _learned(shop).vocabulary
    content = _file(shop).read_bytes()
    assert _run(shop) == cold
    assert _file(shop).read_bytes() == content
    _garbage(_file(shop))
    assert _run(shop) == cold


def test_measuring_our_engine_does_not_even_import_what_learns() -> None:
    code = "import sys, assay.evaluate.run, assay.evaluate.systems.assay\nprint([m for m in sys.modules if m.startswith('assay.feedback')])"
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# -- the guide ---------------------------------------------------------------------------------------------------------


def test_the_program_of_the_guide_works(shop: Repository) -> None:
    guide = (ROOT / "docs/guides/feedback.md").read_text("utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```$", guide, re.S | re.M)
    subprocess.run([sys.executable, "-c", program], cwd=shop.root, env=ENVIRONMENT, check=True)


def test_the_empty_file_that_a_full_disk_leaves_is_as_good_as_none(shop: Repository) -> None:
    _file(shop).write_bytes(b"")
    assert "no feedback yet" in _feedback(shop, "list").out
    _feedback(shop, "useful", "checkout")
    assert "shop.py::checkout" in _feedback(shop, "list").out
