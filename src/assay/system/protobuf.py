"""Reader of protobuf messages without their schema: bounded, and without copies beyond the fields that are read."""

from __future__ import annotations

from collections.abc import Iterator


class Malformed(ValueError):
    """The bytes are not a protobuf message."""


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield each field of a protobuf message in order: varints and fixed widths as int, delimited ones as bytes."""
    at, end = 0, len(data)
    while at < end:
        tag, at = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise Malformed("field number 0")
        if wire == 0:
            value, at = read_varint(data, at)
            yield number, value
        elif wire == 2:
            length, at = read_varint(data, at)
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
        value, at = read_varint(data, at)
        out.append(value)
    return out


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at an offset, and the offset after it. Raises Malformed if it is cut off or too long."""
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


def skip(data: bytes, at: int) -> int:
    """Return the offset after the field at an offset, whatever it is. Raises Malformed for what is no field."""
    tag, at = read_varint(data, at)
    wire = tag & 7
    if wire == 0:
        return read_varint(data, at)[1]
    if wire == 2:
        length, at = read_varint(data, at)
        return at + length
    if wire in (1, 5):
        return at + (8 if wire == 1 else 4)
    raise Malformed(f"unknown wire type {wire}")
