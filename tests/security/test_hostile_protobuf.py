"""A malformed, huge, deep or truncated `.proto` file costs only itself."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from assay.index.extract import extract
from assay.index.extract.protobuf import MAX_BLOCKS
from assay.index.extract.registrations import MAX_ENTRIES, read_arguments
from assay.index.facts import FileFacts, decode_facts
from assay.languages import by_name
from support.paths import FIXTURES
from support.repository import Repository

GOOD = "message Kept { string id = 1; }\n"
ORDERS = (FIXTURES / "protobuf" / "project" / "shop" / "v1" / "orders.proto").read_bytes()

HOSTILE = {
    "deep blocks": b"message A { " * 5_000,
    "deep options": b"option (a) = " + b"{ a: " * 10_000,
    "deep brackets": b"message A { string a = 1 " + b"[(" * 10_000,
    "an endless comment": b"/* " * 20_000,
    "an endless string": b'import "' + b"a" * 100_000,
    "unclosed strings": b'import "a\n' * 10_000,
    "escapes": b'import "' + b"\\" * 50_000,
    "closing braces": b"}" * 50_000,
    "dots": b"message A { " + b"a." * 30_000 + b" b = 1; }",
    "a statement without an end": b"a " * 50_000,
    "an enormous message": b"message A {" + b" string a = 1;" * 10_000 + b"}",
    "one name": b"message A {} " * 5_000,
    "control characters": bytes(range(32)) * 2_000,
    "no text": random.Random(1).randbytes(50_000),
}


def facts(source: bytes) -> FileFacts:
    return decode_facts(extract(source, by_name()["protobuf"]).facts)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_read_and_costs_no_other(tmp_path: Path, name: str) -> None:
    repository = Repository(tmp_path)
    repository.write("hostile.proto", HOSTILE[name])
    repository.write("good.proto", GOOD)
    assert repository.index().problems.keys() <= {"hostile.proto"}, "one without text is reported"
    assert {"good.proto::Kept", "good.proto::Kept.id"} <= repository.symbols()
    assert facts(HOSTILE[name]).language == "protobuf"


def test_blocks_deeper_than_the_limit_are_left_out() -> None:
    source = b"message A { " * (MAX_BLOCKS + 50) + b"}" * (MAX_BLOCKS + 50) + GOOD.encode()
    symbols = [symbol.symbol for symbol in facts(source).symbols]
    assert symbols[-2:] == ["Kept", "Kept.id"]
    assert len(symbols) == MAX_BLOCKS + 2


@pytest.mark.parametrize("end", range(0, len(ORDERS), 37))
def test_a_truncated_file_keeps_what_precedes_the_cut(end: int) -> None:
    whole, cut = facts(ORDERS), facts(ORDERS[:end])
    names = {symbol.symbol for symbol in whole.symbols}
    complete = {symbol.symbol for symbol in whole.symbols if symbol.end < ORDERS[:end].count(b"\n")}
    assert complete <= {symbol.symbol for symbol in cut.symbols}
    assert len({symbol.symbol for symbol in cut.symbols} - names) <= 1, "at most the name that is cut"


def test_a_statement_that_is_broken_costs_only_itself() -> None:
    source = b"message A { string a = ; [ ( string b = 2; }\nservice { rpc }\nmessage {}\n" + GOOD.encode()
    assert {"A", "Kept", "Kept.id"} <= {symbol.symbol for symbol in facts(source).symbols}


def test_names_and_imports_out_of_a_proto_file_stay_inside_the_repository(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    outside = tmp_path / "outside.proto"
    outside.write_text("message Outside {}\n")
    repository.write("a.proto", f'import "../outside.proto";\nimport "{outside}";\nimport "\x1b[31m.proto";\n{GOOD}')
    (repository.root / "link.proto").symlink_to(outside)
    assert not repository.index().problems
    assert repository.symbols() == {"a.proto", "a.proto::Kept", "a.proto::Kept.id"}
    assert all(target.startswith("external:") for _, target in repository.edges("imports"))


def test_a_file_that_imports_itself_and_types_that_contain_themselves_are_resolved(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.write(
        "a.proto", 'package a;\nimport public "b.proto";\nmessage A { A a = 1; B b = 2; a.a.a.A c = 3; }\n'
    )
    repository.write(
        "b.proto", 'package a;\nimport public "a.proto";\nimport public "b.proto";\nmessage B { A a = 1; }\n'
    )
    assert not repository.index().problems
    assert ("b.proto::B.a", "a.proto::A") in repository.edges("type_hint_of")


@pytest.mark.parametrize(
    "text",
    [
        b"(" * 100_000,
        b"(a, {" + b"{" * 100_000,
        b"(a, {" + b"x: y, " * 100_000,
        b"(a, '" + b"\\" * 100_000,
        b"(a, /*" + b"/" * 100_000,
        b"(" + b"\"'`" * 50_000,
        b"",
    ],
)
def test_arguments_of_a_registration_are_bounded(text: bytes) -> None:
    first, second = read_arguments(text, 0)
    assert len(first) < 5_000
    assert second.count(",") < MAX_ENTRIES
