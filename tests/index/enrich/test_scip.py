"""Import of SCIP indexes, encoded here byte by byte as an indexer would."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.items import Edge
from assay.errors import AssayError
from assay.index.enrich.scip import merge
from assay.store.layout import Home
from support.command import Done, assay
from support.repository import Repository
from support.scip_file import DEFINITION, IMPORT, READ
from support.scip_file import delimited as _bytes
from support.scip_file import document as _document
from support.scip_file import index as _index
from support.scip_file import number as _number
from support.scip_file import symbol_name as _symbol

# -- a repository whose calls cannot be told from the text -------------------------------------------------------------

BASE = """\
class Base:
    size = 1

    def run(self):
        return 0


def unused():
    return 0
"""
IMPLEMENTATION = """\
class Thing:
    def run(self):
        return 1
"""
APP = """\
def call(thing):
    return thing.run(thing.size)


def hold(registry):
    return registry["Thing"]
"""
BALLAST = "def ballast_{0}():\n    return {0}\n"

_BASE, _BASE_RUN, _SIZE = _symbol("base", "Base#"), _symbol("base", "Base#run()."), _symbol("base", "Base#size.")
_THING, _THING_RUN = _symbol("thing", "Thing#"), _symbol("thing", "Thing#run().")

BASE_DOCUMENT = _document("base.py", [(1, _BASE, DEFINITION), (2, _SIZE, DEFINITION), (4, _BASE_RUN, DEFINITION)])
THING_DOCUMENT = _document(
    "thing.py", [(1, _THING, DEFINITION), (2, _THING_RUN, DEFINITION)], {_THING: [_BASE], _THING_RUN: [_BASE_RUN]}
)
APP_DOCUMENT = _document(
    "app.py",
    [
        (2, _THING_RUN, READ),
        (2, _SIZE, READ),
        (6, _THING, 0),
        (1, _BASE, IMPORT),
        (2, "local 3", 0),
        (2, _symbol("os", "sep."), 0),
    ],
)

CALL = ("calls", "app.py::call", "thing.py::Thing.run")
EXPECTED = {
    CALL,
    ("accesses_field", "app.py::call", "base.py::Base.size"),
    ("references", "app.py::hold", "thing.py::Thing"),
    ("imports", "app.py::call", "base.py::Base"),
    ("extends", "thing.py::Thing", "base.py::Base"),
    ("overrides", "thing.py::Thing.run", "base.py::Base.run"),
}


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("base.py", BASE)
    repository.write("thing.py", IMPLEMENTATION)
    repository.write("app.py", APP)
    for number in range(15):
        repository.write(f"ballast_{number}.py", BALLAST.format(number))
    repository.index()
    return repository


def _merge(repository: Repository, data: bytes, *arguments: str, name: str = "index.scip") -> Done:
    repository.write(name, data)
    return assay(repository.root, "ingest-scip", name, *arguments)


def _exported(repository: Repository) -> list[Edge]:
    opened = repository.open()
    try:
        return opened.export()[1]
    finally:
        opened.close()


def _scip(repository: Repository) -> set[tuple[str, str, str]]:
    return {(e.type, e.source, e.target) for e in _exported(repository) if e.provenance == "scip"}


WHOLE = _index(BASE_DOCUMENT, THING_DOCUMENT, APP_DOCUMENT)


def test_what_the_compiler_knows_becomes_edges_of_full_confidence(shop: Repository) -> None:
    before = set(_exported(shop))
    done = _merge(shop, WHOLE)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("3 documents, 6 edges, ")
    assert _scip(shop) == EXPECTED
    added = [e for e in _exported(shop) if e.provenance == "scip"]
    assert {e.confidence for e in added} == {1.0}
    assert {e.line for e in added if e.type == "calls"} == {2}
    assert before <= set(_exported(shop)), "nothing that was known is lost"


def test_the_kind_of_the_target_decides_between_a_call_and_a_reference(shop: Repository) -> None:
    _merge(shop, WHOLE)
    kinds = {
        target: kind
        for kind, source, target in _scip(shop)
        if source in ("app.py::call", "app.py::hold") and kind != "imports"
    }
    assert kinds == {
        "thing.py::Thing.run": "calls",
        "thing.py::Thing": "references",
        "base.py::Base.size": "accesses_field",
    }


def test_the_figures_are_in_json_too(shop: Repository) -> None:
    found = _merge(shop, WHOLE, "--format", "json").json
    assert (found["documents"], found["edges"], found["missing"]) == (3, 6, [])
    assert 1 <= found["new_edges"] <= 6


def test_impact_follows_merged_edges(shop: Repository) -> None:
    _merge(shop, WHOLE)
    found = assay(shop.root, "impact", "Thing.run", "--format", "json").json
    assert ("call", 1.0) in [(item["symbol"], item["confidence"]) for item in found["affected"]]


def test_merging_twice_changes_nothing(shop: Repository) -> None:
    first = _merge(shop, WHOLE)
    once = _exported(shop)
    second = _merge(shop, WHOLE)
    assert _exported(shop) == once
    assert second == first


def test_a_second_index_replaces_what_was_merged_for_its_own_documents_only(shop: Repository) -> None:
    _merge(shop, WHOLE)
    _merge(shop, _index(BASE_DOCUMENT, _document("app.py", [(2, _BASE_RUN, 0)])), name="other.scip")
    assert _scip(shop) == {
        ("calls", "app.py::call", "base.py::Base.run"),
        ("extends", "thing.py::Thing", "base.py::Base"),
        ("overrides", "thing.py::Thing.run", "base.py::Base.run"),
    }


def test_merged_edges_survive_an_update_of_another_file(shop: Repository) -> None:
    _merge(shop, WHOLE)
    shop.write("ballast_3.py", "def other():\n    return 1\n")
    assert shop.index().mode == "update"
    assert _scip(shop) == EXPECTED
    shop.write("base.py", BASE + "\n\ndef more():\n    return 1\n")
    assert shop.index().mode == "update"
    assert CALL in _scip(shop)
    assert ("accesses_field", "app.py::call", "base.py::Base.size") in _scip(shop), (
        "its own file is app.py, which is unchanged"
    )


@pytest.mark.parametrize("arguments", [["--rebuild"], []], ids=["asked for", "after another version of assay"])
def test_merged_edges_survive_a_rebuild(shop: Repository, arguments: list[str]) -> None:
    import sqlite3

    _merge(shop, WHOLE)
    folder = shop.home.current()
    assert folder is not None
    with sqlite3.connect(folder / "catalogue.db") as connection:
        connection.execute("UPDATE meta SET value = 'another' WHERE key = 'version'")
    done = assay(shop.root, "index", *arguments)
    assert done.lines[0].startswith("rebuilt from scratch")
    assert _scip(shop) == EXPECTED


def test_merged_edges_vanish_when_their_file_changes(shop: Repository) -> None:
    _merge(shop, WHOLE)
    shop.write("app.py", "\n" + APP)
    assert shop.index().mode == "update"
    assert {source for _, source, _ in _scip(shop)} == {"thing.py::Thing", "thing.py::Thing.run"}
    shop.index(rebuild=True)
    assert {source for _, source, _ in _scip(shop)} == {"thing.py::Thing", "thing.py::Thing.run"}


def test_merged_edges_vanish_with_the_file_they_lead_to(shop: Repository) -> None:
    _merge(shop, WHOLE)
    (shop.root / "thing.py").unlink()
    shop.index()
    assert _scip(shop) == {
        ("accesses_field", "app.py::call", "base.py::Base.size"),
        ("imports", "app.py::call", "base.py::Base"),
    }


def test_documents_that_are_not_indexed_are_reported_and_the_rest_is_merged(shop: Repository) -> None:
    done = _merge(shop, _index(BASE_DOCUMENT, THING_DOCUMENT, APP_DOCUMENT, _document("gone.py", [(1, _THING, 0)])))
    assert done.code == 1
    assert done.err == "1 documents are not in the index, such as gone.py\n"
    assert _scip(shop) == EXPECTED


def test_occurrences_that_lead_nowhere_are_left_out(shop: Repository) -> None:
    strange = [
        (2, "", 0),
        (999, _THING_RUN, 0),
        (1, "nonsense", DEFINITION),
        (2, "nonsense", 0),
        (2, "local 1", DEFINITION),
    ]
    nowhere = _bytes(2, _bytes(1, b"") + _bytes(2, _THING_RUN))
    done = _merge(shop, _index(THING_DOCUMENT, _document("app.py", strange) + nowhere))
    assert done.code == 0
    assert {kind for kind, _, _ in _scip(shop)} <= {"calls"}


def test_ranges_that_are_not_packed_are_read_as_well(shop: Repository) -> None:
    loose = b"".join(_number(1, value) for value in (1, 4, 9)) + _bytes(2, _THING_RUN)
    _merge(shop, _index(THING_DOCUMENT, _bytes(1, "app.py") + _bytes(2, loose)))
    assert _scip(shop) == {CALL}


NOT_SCIP = {
    "garbage": bytes(range(255, 0, -1)) * 20,
    "text": b"This is not an index, it is a sentence.\n" * 10,
    "empty": b"",
    "truncated": WHOLE[:-7],
    "cut in a number": WHOLE[:1] + b"\xff" * 12,
    "no documents": _bytes(1, b""),
    "a document that is text": _bytes(2, b"not a message at all"),
    "a path that is not UTF-8": _bytes(2, _bytes(1, b"\xff\xfe\xfd")),
}


@pytest.mark.parametrize("kind", NOT_SCIP)
def test_what_is_not_a_scip_index_is_refused_and_changes_nothing(shop: Repository, kind: str) -> None:
    before = shop.home.current()
    path = shop.write("index.scip", NOT_SCIP[kind])
    with pytest.raises(AssayError, match=r"index.scip: .*SCIP index") as refused:
        merge(shop.root, shop.home, path)
    assert len(str(refused.value).splitlines()) == 1
    assert shop.home.current() == before


def test_a_refusal_is_one_line_for_the_person(shop: Repository) -> None:
    done = _merge(shop, NOT_SCIP["truncated"])
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("assay: index.scip: not a SCIP index (")
    assert len(done.err.splitlines()) == 1


def test_a_scip_index_that_cannot_be_read_is_refused(shop: Repository) -> None:
    for name in ("nowhere.scip", "."):
        done = assay(shop.root, "ingest-scip", name)
        assert done.code == 2
        assert "cannot be read" in done.err


def test_without_an_index_there_is_nothing_to_merge_into(repository: Repository, tmp_path: Path) -> None:
    done = _merge(repository, WHOLE)
    assert done.code == 2
    assert done.err.endswith(f"Make one with: assay index {repository.root}\n")
    assert not Home.of(repository.root).folder.exists()
