"""Feedback of a team in PostgreSQL: what clones share, what stays each member's own, and a server that does not answer."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from assay.database import StoreUnreachable
from assay.database.address import Address
from assay.errors import AssayError
from assay.feedback import team
from assay.feedback.marks import Mark
from assay.feedback.store import Store
from assay.feedback.team import shared_name
from assay.feedback.upkeep import check_feedback, copy_feedback, open_feedback, repositories
from support.command import ENVIRONMENT, Done, assay
from support.postgres import Cluster, new_postgres_store
from support.repository import Repository
from support.waiting import PATIENCE

ORIGIN, NAME = "git@git.example.com:acme/shop.git", "git.example.com/acme/shop"
TASK = "charge the customer for the basket"
QUESTION = "checkout: ship the parcel of a cart"
SHOP = "def checkout(cart):\n    return cart.total() * 2\n\n\ndef ship_parcel(cart):\n    return cart\n"


def _clone(folder: Path, origin: str = ORIGIN) -> Repository:
    """A clone of the shop, indexed."""
    folder.mkdir(parents=True)
    repository = Repository(folder)
    repository.git("init", "-q", "-b", "main")
    if origin:
        repository.git("remote", "add", "origin", origin)
    repository.write("shop.py", SHOP)
    repository.commit()
    repository.index()
    return repository


@pytest.fixture
def address(postgres: Cluster) -> str:
    return new_postgres_store(postgres)


def _login(cluster: Cluster, address: str, name: str, role: str) -> str:
    database = re.search(r"/(\w+)\?", address)[1]  # type: ignore[index]
    with psycopg.connect(Address.parse(address).uri, autocommit=True) as owner:
        owner.execute(f"DROP ROLE IF EXISTS {name}; CREATE ROLE {name} LOGIN PASSWORD 'pw-{name}'".encode())
        owner.execute(f'GRANT "assay_shop_{role}" TO {name}'.encode())
    return cluster.address(database, f"{name}:pw-{name}", "shop")


def _run(repository: Repository, store: str, *arguments: str, code: int = 0, **options: Any) -> Done:
    done = assay(repository.root, *arguments, env=ENVIRONMENT | {"ASSAY_STORE": store}, **options)
    assert done.code == code, done.err + done.out
    assert "Traceback" not in done.err
    return done


def _votes(repository: Repository, store: str) -> dict[str, tuple[int, int]]:
    rows = _run(repository, store, "feedback", "list", "--format", "json").json["symbols"]
    return {row["id"]: (row["useful"], row["not_useful"]) for row in rows}


# --- the name of a repository


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ("git@git.example.com:acme/shop.git", NAME),
        ("https://git.example.com/acme/shop", NAME),
        ("https://ada:t0ken@Git.Example.com:8443/acme/shop.git/", NAME),
        ("ssh://git@git.example.com:2222/acme/shop.git", NAME),
        ("https://git.example.com/acme/shop?x=1#y", NAME),
        ("https://git.example.com/Acme/Shop", "git.example.com/Acme/Shop"),
        ("/srv/git/shop.git", ""),
        ("file:///srv/git/shop.git", ""),
        ("../shop", ""),
        ("./a:b/c", ""),
        ("ext::sh -c evil", ""),
        ("https://", ""),
        ("https://[::1/acme", ""),
        ("https://localhost/acme/shop", ""),
        ("https://git.example.com/", ""),
        ("git@git.example.com:" + "x" * 600, ""),
        ("", ""),
    ],
)
def test_clones_have_one_name_by_whatever_way_they_were_made(repository: Repository, origin: str, name: str) -> None:
    (repository.root / ".git/config").write_text(f'[remote "origin"]\n\turl = "{origin}"\n')
    assert shared_name(repository.root) == name


def test_a_folder_is_named_by_its_git_remote(repository: Repository, tmp_path: Path) -> None:
    repository.git("remote", "add", "origin", ORIGIN)
    (repository.root / "services/api").mkdir(parents=True)
    assert shared_name(repository.root / "services/api") == f"{NAME}#services/api"
    (tmp_path / "plain").mkdir()
    assert shared_name(tmp_path / "plain") == ""


# --- sharing


def test_what_one_says_ranks_for_all_clones_and_for_no_other_repository(address: str, tmp_path: Path) -> None:
    mine, yours = _clone(tmp_path / "mine"), _clone(tmp_path / "yours", "https://git.example.com/acme/shop")
    fork = _clone(tmp_path / "fork", "https://git.example.com/ben/shop")
    for _ in range(2):
        _run(mine, address, "feedback", "useful", "ship_parcel", "--task", TASK)
    assert _votes(yours, address) == {"shop.py::ship_parcel": (2, 0)}
    assert _votes(fork, address) == {}
    assert not (mine.home.folder / "learned.db").exists()
    cold = assay(yours.root, "why", TASK, "ship_parcel").out
    warm = _run(yours, address, "why", TASK, "ship_parcel").out
    assert "feedback" not in cold
    assert "feedback" in warm
    _run(yours, address, "feedback", "forget", "ship_parcel")
    assert _votes(mine, address) == {}


def test_a_colleagues_feedback_invalidates_cached_answers(address: str, tmp_path: Path) -> None:
    mine, yours = _clone(tmp_path / "mine"), _clone(tmp_path / "yours")
    ask = ("context", QUESTION, "--format", "json")

    def best() -> str:
        return str(_run(mine, address, *ask).json["items"][0]["symbol"])

    first = best()
    assert best() == first
    other = {"checkout": "ship_parcel", "ship_parcel": "checkout"}[first]
    _run(yours, address, "feedback", "useful", other)
    _run(yours, address, "feedback", "not-useful", first)
    scores = {item["symbol"]: item["score"] for item in _run(mine, address, *ask).json["items"]}
    cold = {item["symbol"]: item["score"] for item in assay(mine.root, *ask).json["items"]}
    assert scores != cold
    _run(yours, address, "feedback", "forget", "--all", "--team")
    assert {item["symbol"]: item["score"] for item in _run(mine, address, *ask).json["items"]} == cold


def test_a_record_counts_where_the_code_is_the_same(address: str, tmp_path: Path) -> None:
    mine, yours = _clone(tmp_path / "mine"), _clone(tmp_path / "yours")
    yours.write("shop.py", SHOP.replace("* 2", "* 3"))
    yours.index()
    _run(mine, address, "feedback", "useful", "checkout", "ship_parcel")
    assert _votes(yours, address) == {"shop.py::ship_parcel": (1, 0)}
    with psycopg.connect(Address.parse(address).uri) as connection:  # a month ago
        connection.execute("UPDATE assay.symbols SET time = time - 30 * 86400")
    _run(yours, address, "feedback", "useful", "ship_parcel")
    assert _votes(mine, address) == {"shop.py::checkout": (1, 0), "shop.py::ship_parcel": (2, 0)}


def test_sessions_are_each_members_own(postgres: Cluster, address: str, tmp_path: Path) -> None:
    shop = _clone(tmp_path / "shop")
    ada, ben = (_login(postgres, address, name, "writer") for name in ("s_ada", "s_ben"))
    _run(shop, ada, "context", "checkout of a cart", "--session", "chat")
    nothing = _run(shop, ben, "feedback", "used", "--session", "chat", input="checkout(cart)")
    assert "no item last shown" in nothing.out
    used = _run(shop, ada, "feedback", "used", "--session", "chat", input="checkout(cart)")
    assert used.out == "useful: shop.py::checkout\n"
    assert _votes(shop, ben) == {"shop.py::checkout": (1, 0)}


def test_a_reader_gets_what_was_learned_and_teaches_nothing(postgres: Cluster, address: str, tmp_path: Path) -> None:
    shop = _clone(tmp_path / "shop")
    reader = _login(postgres, address, "s_reader", "reader")
    _run(shop, address, "feedback", "useful", "ship_parcel")
    assert _votes(shop, reader) == {"shop.py::ship_parcel": (1, 0)}
    answered = _run(shop, reader, "context", QUESTION, "--session", "s")
    assert answered.err == ""
    refused = _run(shop, reader, "feedback", "useful", "checkout", code=2)
    assert "not permitted" in refused.err
    assert len(refused.err.splitlines()) == 1
    assert not (shop.home.folder / "learned.db").exists()


def test_without_a_remote_feedback_stays_in_the_file(address: str, tmp_path: Path) -> None:
    shop = _clone(tmp_path / "shop", "")
    _run(shop, address, "feedback", "useful", "checkout")
    assert (shop.home.folder / "learned.db").exists()
    assert repositories(address) == []


def test_forgetting_everything_of_a_team_has_to_be_said(address: str, tmp_path: Path) -> None:
    shop = _clone(tmp_path / "shop")
    _run(shop, address, "feedback", "useful", "checkout")
    refused = _run(shop, address, "feedback", "forget", "--all", code=2)
    assert f"the feedback on {NAME} is shared in {Address.parse(address)}" in refused.err
    assert _votes(shop, address)
    _run(shop, address, "feedback", "forget", "--all", "--team")
    assert _votes(shop, address) == {}
    assert "pass --all" in _run(shop, address, "feedback", "forget", "checkout", "--team", code=2).err


def test_members_who_judge_at_once_lose_nothing(address: str, tmp_path: Path) -> None:
    shop = _clone(tmp_path / "shop")
    code = (
        "import sys\nfrom pathlib import Path\nfrom assay.feedback import learning\nfrom assay.store.source import WorkingTree\n"
        "from assay.store.index import Index\nfrom assay.store.layout import Home\n"
        f"root = Path({str(shop.root)!r})\nhome = Home.of(root)\nindex = Index.open(root, home)\n"
        "items = index.items(\"s.symbol IN ('checkout', 'ship_parcel')\")\nitems = items[::int(sys.argv[1])]\n"
        "for _ in range(15):\n    with learning(index, home, WorkingTree(index)) as told:\n"
        "        told.judge(items, True, 'basket')\n        told.returned(items, 'basket', 'same session')\n"
    )
    environment = ENVIRONMENT | {"ASSAY_STORE": address}
    writers = [subprocess.Popen([sys.executable, "-c", code, str(order)], env=environment) for order in (1, -1, 1, -1)]
    assert [writer.wait(PATIENCE) for writer in writers] == [0, 0, 0, 0]
    assert _votes(shop, address) == {"shop.py::checkout": (60, 0), "shop.py::ship_parcel": (60, 0)}


def test_evaluation_never_sees_the_feedback_of_a_team(address: str, tmp_path: Path) -> None:
    shop = _clone(tmp_path / "shop")
    golden = {"id": "q", "question": TASK, "expected_symbols": ["checkout"]}
    shop.write("golden.jsonl", json.dumps(golden) + "\n")
    shop.index()
    run = ("eval", "run", "--golden", "golden.jsonl", "--system", "assay", "--matching", "strict", "--format", "json")
    cold = _run(shop, address, *run).json
    for _ in range(5):
        _run(shop, address, "feedback", "useful", "ship_parcel", "--task", TASK)
    warm = _run(shop, address, *run).json
    assert warm["metrics"] == cold["metrics"]


# --- a server that does not answer


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that accepts connections and never says a word."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield f"postgresql://ada:topsecret@127.0.0.1:{server.getsockname()[1]}/x"


@pytest.fixture
def nowhere() -> str:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    return f"postgresql://ada:topsecret@127.0.0.1:{port}/x"


def test_an_unreachable_server_costs_a_line_and_the_file_is_used(nowhere: str, tmp_path: Path) -> None:
    shop = _clone(tmp_path / "shop")
    assert assay(shop.root, "feedback", "useful", "ship_parcel").code == 0
    learned = shop.home.folder / "learned.db"
    for command in (["context", QUESTION, "--session", "s"], ["why", QUESTION, "ship_parcel"]):
        done = _run(shop, nowhere, *command)
        assert "ship_parcel" in done.out
        assert len(done.err.splitlines()) == 1
        assert "the server cannot be reached" in done.err
        assert f"using {learned}" in done.err
        assert "topsecret" not in done.err
    said = _run(shop, nowhere, "feedback", "useful", "checkout")
    assert f"share it later: assay store copy {learned} ADDRESS" in said.err
    assert _run(shop, nowhere, "feedback", "list").out.count("1 useful") == 2


def test_a_silent_server_is_given_up_for_a_while(silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = _clone(tmp_path / "shop")
    monkeypatch.setenv("ASSAY_STORE", silent)
    monkeypatch.setattr(team, "_failures", {})
    with pytest.warns(UserWarning, match="timeout expired"), team.opened(shop.root, shop.home, False, True) as store:
        assert store.records() == []
    with team.opened(shop.root, shop.home, True, True) as store:  # a second warning would be an error
        assert not store.shared
    with pytest.raises(StoreUnreachable), open_feedback(silent + "?connect_timeout=2", NAME, False):
        pass


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda address: address.replace("owner:", "nobody:"), "the password is wrong or missing"),
        (lambda address: address.replace("project=shop", "project=nothing"), "no project 'nothing'"),
        (lambda address: re.sub(r"/d\d+\?", "/postgres?", address), "not a store yet"),
        (lambda _: "postgresql://[", "the address of the store cannot be read"),
        (lambda _: "mysql://x/y", "a store is postgresql://… or a file"),
    ],
)
def test_an_unusable_store_never_fails_an_answer(address: str, tmp_path: Path, change: Any, says: str) -> None:
    shop = _clone(tmp_path / "shop")
    wrong = change(address)
    answered = _run(shop, wrong, "context", QUESTION)
    assert "checkout" in answered.out
    assert says in answered.err
    assert len(answered.err.splitlines()) == 1
    assert "s3cret" not in answered.err
    refused = _run(shop, wrong, "feedback", "useful", "checkout", code=2)
    assert says in refused.err
    assert not (shop.home.folder / "learned.db").exists()


def test_a_server_that_goes_away_while_it_is_read_costs_a_line(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.feedback import learned_signals
    from assay.store.source import WorkingTree

    shop = _clone(tmp_path / "shop")
    monkeypatch.setenv("ASSAY_STORE", address)
    records = Store.records

    def cut(store: Store) -> Any:
        with psycopg.connect(Address.parse(address).uri, autocommit=True) as owner:
            owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'assay'")
        return records(store)

    monkeypatch.setattr(Store, "records", cut)
    index = shop.open()
    with pytest.warns(UserWarning, match="answering without feedback"):
        assert learned_signals(index, shop.home, WorkingTree(index), TASK).feedback == {}
    index.close()


# --- upkeep


def test_feedback_given_offline_is_copied_to_the_team_once(address: str, nowhere: str, tmp_path: Path) -> None:
    mine, yours = _clone(tmp_path / "mine"), _clone(tmp_path / "yours")
    _run(yours, address, "feedback", "useful", "checkout", "--task", TASK)
    for _ in range(3):
        _run(mine, nowhere, "feedback", "useful", "checkout", "--task", TASK)
    _run(mine, nowhere, "feedback", "not-useful", "ship_parcel")
    for _ in range(2):
        copied = _run(mine, address, "store", "copy", ".assay/learned.db", address)
        assert copied.out == f"copied feedback on 2 symbols to {Address.parse(address)}\n"
        assert _votes(yours, address) == {"shop.py::checkout": (3, 0), "shop.py::ship_parcel": (0, 1)}
    (row, _) = _run(yours, address, "feedback", "list", "--format", "json").json["symbols"]
    assert row["words"] == {"basket": 3, "charge": 3, "customer": 3}
    _run(yours, address, "store", "copy", address, ".assay/learned.db")
    assert _votes(yours, nowhere) == _votes(yours, address)


@pytest.mark.parametrize(
    ("source", "dest", "says"),
    [
        (".assay/learned.db", "runs.db", "runs.db: a run file has no feedback"),
        (".assay/learned.db", "ADDRESS", "no git remote `origin` on another machine"),
        ("gone/learned.db", "other/learned.db", "learned.db: no such file"),
    ],
)
def test_feedback_that_has_no_place_to_go_is_refused(
    address: str, tmp_path: Path, source: str, dest: str, says: str
) -> None:
    shop = _clone(tmp_path / "shop", "")
    assert assay(shop.root, "feedback", "useful", "checkout").code == 0
    done = _run(shop, "", "store", "copy", source, dest.replace("ADDRESS", address), code=2)
    assert says in done.err


def _learn(address: str, repository: str, useful: int, time: float) -> None:
    with open_feedback(address, repository, write=True) as store:
        keys = list(store.keep([Mark("a.py::f", b"text", b"file")], time).values())
        for _ in range(useful):
            store.count(keys, useful=True)
        store.associate({"basket": "basket"}, keys)


def test_copy_check_and_prune_cover_the_feedback_of_all_repositories(
    address: str, postgres: Cluster, tmp_path: Path
) -> None:
    from assay.evaluate.runs import RunStore
    from support.runs import GOLDEN, run_info

    other = new_postgres_store(postgres)
    with RunStore.open(address, write=True) as runs:
        runs.start(run_info("run", label="kept"), GOLDEN)
    _learn(address, NAME, 2, time.time())
    _learn(address, "git.example.com/acme/old", 1, time.time() - 100 * 86_400)
    copied = assay(tmp_path, "store", "copy", address, other)
    assert copied.code == 0, copied.err
    assert f"feedback on 1 symbol of {NAME}" in copied.out
    checked = assay(tmp_path, "store", "check", "--runs", other, "--root", ".", "--format", "json").json
    assert (checked["symbols"], checked["problems"]) == (2, [])
    would = assay(tmp_path, "store", "prune", "--runs", other, "--root", ".", "--days", "90", "--dry-run")
    assert would.out == "would delete feedback on 1 symbol and 0 runs, 1 stay\n"
    assert repositories(other) == [NAME, "git.example.com/acme/old"] or repositories(other) == [
        "git.example.com/acme/old",
        NAME,
    ]
    pruned = assay(tmp_path, "store", "prune", "--runs", other, "--root", ".", "--days", "90", "--format", "json")
    assert (pruned.json["symbols"], repositories(other)) == (1, [NAME])
    with open_feedback(address, NAME, False) as source, open_feedback(other, NAME, True) as target:
        assert copy_feedback(source, target) == 1
        assert [record.useful for record in target.records()] == [2]


FORGERIES = [
    "UPDATE assay.sessions SET words = '[['",
    "UPDATE assay.sessions SET words = '{{\"a\": 1}}'",
    "UPDATE assay.sessions SET words = repeat('[', 100000)",
]


@pytest.mark.parametrize("statement", FORGERIES)
def test_feedback_that_a_member_forged_is_a_line_and_fails_no_answer(
    address: str, tmp_path: Path, statement: str
) -> None:
    shop = _clone(tmp_path / "shop")
    _run(shop, address, "context", QUESTION, "--session", "s")
    with psycopg.connect(Address.parse(address).uri) as member:
        member.execute("SET ROLE assay_shop_writer")
        member.execute(statement.replace("{{", "{").replace("}}", "}").encode())
    assert _run(shop, address, "context", QUESTION, "--session", "s").err == ""
    with psycopg.connect(Address.parse(address).uri) as member:
        member.execute("SET ROLE assay_shop_writer")
        member.execute(statement.replace("{{", "{").replace("}}", "}").encode())
    (checked,) = check_feedback(address)
    assert "cannot be read" in checked.problems[0]
    refused = _run(shop, address, "feedback", "used", "--session", "s", input="checkout(cart)", code=2)
    assert len(refused.err.splitlines()) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE assay.symbols SET useful = -1",
        "UPDATE assay.symbols SET time = 'NaN'",
        "UPDATE assay.accesses SET time = 'infinity'",
        "UPDATE assay.vocabulary SET symbol = 99999",
        "INSERT INTO assay.symbols (project, repository, id, text, file, time) VALUES ('shop', NULL, 'x', '', '', 0)",
    ],
)
def test_rows_that_would_distort_a_ranking_are_refused_by_the_database(address: str, statement: str) -> None:
    _learn(address, NAME, 1, time.time())
    with open_feedback(address, NAME, True) as store:
        store.begin("s", {}, [record.key for record in store.records()], time.time())
    with psycopg.connect(Address.parse(address).uri) as member:
        member.execute("SET ROLE assay_shop_writer")
        with pytest.raises(psycopg.errors.IntegrityError):
            member.execute(statement.encode())


def test_a_writer_that_does_not_let_go_is_waited_for_and_then_named(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.feedback.file.WAIT", 0.2)
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with open_feedback(address, NAME, True):
            entered.set()
            leave.wait(PATIENCE)

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait(PATIENCE)
    with pytest.raises(AssayError, match="the store is busy"), open_feedback(address, NAME, True):
        pass
    with open_feedback(address, "git.example.com/acme/other", True) as other:  # nobody holds this one
        other.keep([Mark("a", b"", b"")], 1.0)
    leave.set()
    holder.join()
