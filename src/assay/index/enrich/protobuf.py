"""The wire format of protobuf, as much as SCIP needs: no schema, no generated code, bounds checked."""

from __future__ import annotations

from collections.abc import Iterator


class Malformed(ValueError):
    """The bytes are not a protobuf message."""


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield each field of a protobuf message in order: varints and fixed widths as int, delimited ones as bytes."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise Malformed("field number 0")
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
        elif wire == 2:
            length, at = _varint(data, at)
            if at + length > end:
                raise Malformed("a field runs past the end")
            yield number, data[at : at + length]
            at += length
        elif wire in (1, 5):
            width = 8 if wire == 1 else 4
            if at + width > end:
                raise Malformed("a field runs past the end")
            yield number, int.from_bytes(data[at : at + width], "little")
            at += width
        else:
            raise Malformed(f"unknown wire type {wire}")


def packed(data: int | bytes, most: int) -> list[int]:
    """Return at most `most` values of a repeated integer field, packed or single."""
    if isinstance(data, int):
        return [data][:most]
    out: list[int] = []
    at = 0
    while at < len(data) and len(out) < most:
        value, at = _varint(data, at)
        out.append(value)
    return out


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed("a number runs past the end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
