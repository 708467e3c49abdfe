"""`assay eval verify` by the matcher of the run, chunks and passages of the index, and the rules for fixtures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.golden import Expected, GoldenQuery, Hit
from assay.evaluate.fixture_rules import fixture_cautions
from assay.evaluate.matching import MATCHERS
from assay.evaluate.verify import Inventory
from support.repository import Repository
from support.workbench import COULD_NOT_RUN, DONE, QUALITY, Workbench, codes, messages

GUIDE = (
    "# Guide\n\nHow to begin.\n\n## Install\n\nRun the installer and wait.\n\n## Remove\n\nDelete the folder again.\n"
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    repository = Repository(tmp_path_factory.mktemp("shop"))
    repository.write(
        "shop/cart/cart.py",
        "class Cart:\n    def add(self, item):\n        return item\n\n\ndef total(cart):\n    return 0\n",
    )
    repository.write("shop/tax/tax.py", "def tax_rate(country):\n    return 0.2\n")
    repository.write("docs/guide.md", GUIDE)
    repository.index()
    return Workbench(repository.root)


def verify(shop: Workbench, tmp_path: Path, *options: str, code: int, **expected: Any) -> dict[str, Any]:
    golden = tmp_path / "golden.jsonl"
    golden.write_text(json.dumps({"id": "q", "question": "question", **expected}) + "\n")
    return shop.json("verify", "--golden", golden, *options, code=code)


@pytest.mark.parametrize(
    ("matching", "missing"),
    [("strict", ["Cart.remove"]), ("symbol", ["nope.tax_rate", "Cart.remove"]), ("dotted", ["Cart.remove"])],
)
def test_what_the_matcher_of_the_run_cannot_match_is_missing(
    shop: Workbench, tmp_path: Path, matching: str, missing: list[str]
) -> None:
    names = ["tax.tax_rate", "nope.tax_rate", "Cart.add", "Cart.remove"]
    told = verify(shop, tmp_path, "--matching", matching, code=QUALITY, expected_symbols=names)
    assert [entry["expected"] for entry in told["missing"]] == missing


def test_chunks_are_looked_up_in_the_index(shop: Workbench, tmp_path: Path) -> None:
    listed = shop.json("chunks")["listed"]
    assert {row["path"] for row in listed} == {"docs/guide.md"}
    chunk = listed[0]["id"]
    assert verify(shop, tmp_path, code=DONE, expected_chunks=[chunk])["checked"] == 1
    told = verify(shop, tmp_path, code=QUALITY, expected_chunks=[chunk, chunk[:-1] + "x"])
    assert [(entry["expected"], entry["nearest"][0]) for entry in told["missing"]] == [(chunk[:-1] + "x", chunk)]


def test_chunks_of_another_system_are_recognised(shop: Workbench, tmp_path: Path) -> None:
    told = verify(shop, tmp_path, code=QUALITY, expected_chunks=[12, 13])
    assert "foreign-chunks" in codes(told)
    assert "`assay eval chunks` lists its ids; those of another system are checked with --items FILE" in "".join(
        messages(told)
    )


def test_passages_must_have_the_expected_lines(shop: Workbench, tmp_path: Path) -> None:
    spans = [{"path": "docs/guide.md", "start": 5, "end": 7}, {"path": "docs/guide.md", "start": 90, "end": 99}]
    told = verify(shop, tmp_path, code=QUALITY, expected_spans=spans)
    assert (told["checked"], len(told["missing"])) == (2, 1)
    golden = tmp_path / "golden.jsonl"
    assert "MISSING [-] question: docs/guide.md:90-99" in shop.eval("verify", "--golden", golden).out
    source = [{"path": "shop/tax/tax.py", "start": 1, "end": 2}]  # source files have no passages
    assert verify(shop, tmp_path, code=DONE, expected_spans=source)["checked"] == 1


def test_the_root_is_suggested_when_nothing_exists(shop: Workbench, tmp_path: Path) -> None:
    told = verify(shop, tmp_path, code=QUALITY, expected_symbols=["Router.add", "Router.match"])
    assert "wrong-root" in codes(told)
    assert "name that with --root DIR" in "".join(messages(told))
    assert "wrong-root" not in codes(verify(shop, tmp_path, code=QUALITY, expected_symbols=["total", "Router.match"]))
    elsewhere = Workbench(tmp_path / "elsewhere")
    done = elsewhere.eval("verify", "--golden", tmp_path / "golden.jsonl")
    assert done.code == COULD_NOT_RUN
    assert "has no index. Build it with `assay index`, name the repository with --root DIR" in done.err


def test_a_full_scan_finds_what_only_the_generous_matcher_accepts() -> None:
    inventory = Inventory(
        [Hit("a/store.py::SqliteStore.put", "SqliteStore.put", "a/store.py", "a/store.py")], ["symbol"]
    )
    part = Expected("SqliteStore.pu")  # seed 000 matches substrings
    assert inventory.has(part, MATCHERS["symbol"])
    assert not inventory.has(part, MATCHERS["strict"])


# --- chunks to pick from


def test_chunks_are_ranked_for_a_question_and_picked_into_a_set(shop: Workbench, tmp_path: Path) -> None:
    golden = tmp_path / "picked.jsonl"
    best = shop.json("chunks", "remove the folder")["listed"][0]
    assert (best["path"], "Delete the folder" in best["text"]) == ("docs/guide.md", True)
    picked = shop.json("chunks", "remove the folder", "--pick", "1", "--golden", golden)
    assert picked["expected"] == [best["id"]]
    line = json.loads(golden.read_text())
    assert line["question"] == "remove the folder"
    assert line["expected_chunks"] == [
        {"id": best["id"], "doc": "docs/guide.md", "start": best["start"], "end": best["end"]}
    ]
    assert shop.eval("verify", "--golden", golden).code == DONE
    assert shop.run("search", golden=golden)["metrics"]["RR@10"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["q", "--pick", "9", "--golden", "g.jsonl"], "there is no chunk '9'"),
        (["q", "--pick", "x", "--golden", "g.jsonl"], "there is no chunk 'x'"),
        (["q", "--pick", "1"], "to pick chunks, give QUESTION, --pick N,N and --golden FILE"),
        (["--system", "assay"], "chunks are those of a search"),
    ],
)
def test_a_pick_that_cannot_be_is_refused(shop: Workbench, arguments: list[str], says: str) -> None:
    done = shop.refused("chunks", *arguments)
    assert (done.code, says in done.err) == (COULD_NOT_RUN, True)


# --- rules for fixtures


def fixture(name: str, tier: str, *symbols: str) -> GoldenQuery:
    expected = tuple(Expected(symbol) for symbol in symbols)
    return GoldenQuery(f"{tier}/{name}", name, expected, tier=tier, where=f"eval/fixtures/{tier}/{name}.yaml:1")


def packages(expected: Expected, repository: str) -> frozenset[str]:
    """Symbols are named folder.name; `both.x` is in two folders, `gone.x` nowhere."""
    folder = expected.name.partition(".")[0]
    return {"both": frozenset({"a", "b"}), "gone": frozenset[str]()}.get(folder, frozenset({folder}))


@pytest.mark.parametrize(
    ("query", "broken"),
    [
        (fixture("01-good-name", "easy", "a.x", "a.y", "a.z"), []),
        (fixture("01-good-name", "easy", "a.x", "a.y"), ["fixture-size"]),
        (fixture("01-good-name", "easy", *(f"a.x{n}" for n in range(9))), ["fixture-size"]),
        (fixture("good-name", "easy", "a.x", "a.y", "a.z"), ["fixture-name"]),
        (fixture("01_Good", "easy", "a.x", "a.y", "a.z"), ["fixture-name"]),
        (fixture("01-good-name", "hard", "a.x", "a.y", "a.z"), ["fixture-tier"]),
        (fixture("01-good-name", "easy", "a.x", "b.y", "c.z"), ["fixture-tier"]),
        (fixture("01-good-name", "medium", "a.x", "b.y", "c.z"), []),
        (fixture("01-good-name", "hard", "a.x", "b.y", "c.z", "d.z"), []),
        (fixture("01-good-name", "easy", "a.x", "a.y", "both.z"), []),  # the fewest packages that hold all
        (fixture("01-good-name", "hard", "a.x", "a.y", "gone.z"), []),  # missing, so its package is unknown
    ],
)
def test_fixtures_follow_the_rules_of_seed_000(query: GoldenQuery, broken: list[str]) -> None:
    assert [caution.code for caution in fixture_cautions([query], packages)] == broken


def test_broken_rules_are_warnings_of_verify(shop: Workbench, tmp_path: Path) -> None:
    folder = tmp_path / "fixtures" / "hard"
    folder.mkdir(parents=True)
    (folder / "tax.yaml").write_text("task: find the tax\nground_truth: [tax_rate, total]\n")
    told = shop.json("verify", "--golden", tmp_path / "fixtures")
    assert [code for code in codes(told) if code.startswith("fixture")] == [
        "fixture-size",
        "fixture-name",
        "fixture-tier",
    ]
    assert "hard/tax (looks medium)" in "".join(messages(told))
