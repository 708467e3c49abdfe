"""A small encoder of scip.proto: SCIP files, byte by byte as an indexer would write them."""

from __future__ import annotations

from collections.abc import Iterable

DEFINITION, IMPORT, READ = 1, 2, 8
Occurrence = tuple[int, str, int] | tuple[int, str, int, int]  # line from 1, symbol, roles, column from 0


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def delimited(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def occurrence(line: int, symbol: str, roles: int, column: int = 4) -> bytes:
    place = b"".join(map(varint, (line - 1, column, column + 5)))
    return delimited(1, place) + delimited(2, symbol) + (number(3, roles) if roles else b"")


def information(symbol: str, bases: Iterable[str]) -> bytes:
    related = (delimited(4, delimited(1, base) + number(2, 1) + number(3, 1)) for base in bases)
    return delimited(1, symbol) + delimited(3, "its documentation") + b"".join(related)


def document(path: str, occurrences: Iterable[Occurrence], bases: dict[str, list[str]] | None = None) -> bytes:
    parts = [delimited(4, "python"), delimited(1, path)]
    parts += [delimited(2, occurrence(*row)) for row in occurrences]
    parts += [delimited(3, information(symbol, names)) for symbol, names in (bases or {}).items()]
    return b"".join(parts)


def index(*documents: bytes) -> bytes:
    metadata = (
        number(1, 0) + delimited(2, delimited(1, "scip-python") + delimited(2, "0.6")) + delimited(3, "file:///shop")
    )
    return delimited(1, metadata) + b"".join(delimited(2, document) for document in documents)


def symbol_name(module: str, descriptor: str) -> str:
    return f"scip-python python shop 0.1 `{module}`/{descriptor}"
