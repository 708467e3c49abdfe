"""Mutations of bytes: small damage, splices between files and languages, and repetitions that cause deep recursion."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

MOST_BYTES = 64_000  # of a mutant: more finds nothing new and takes longer
_TOKEN = re.compile(rb"\w+|\s+|[^\w\s]")
_NASTY = (
    b"\x00", b"\x01\x02\x03\x04\x05\x06\x07", b"\x1b[31m", b"\x1b]0;x\x07", b"\x0c", b"\x85", b"\r", b"\xff", b"\xfe\xff", b"\xc0\x80",
    b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", "\u2028\u2029".encode(), "\u202e".encode(), "\u200b".encode(), "İıſK".encode(),
    "中文".encode(), "e\u0301".encode(), b"\\", b"\\u0000", b"%s%n", b"-->", b"]]>", b"*/", b"'''", b'"""', b"<<EOF\n", b"#if 0\n", b"`", b"${",
)  # fmt: skip
_PAIRS = (
    (b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b"<", b">"), (b"f(", b")"), (b"a[", b"]"), (b"if (a) { ", b" }"), (b"if a:\n ", b""),
    (b"/*", b"*/"), (b"<div>", b"</div>"), (b"<table><tr><td>", b"</td></tr></table>"), (b"> ", b""), (b"- ", b""), (b"* ", b""), (b"\t", b""),
    (b"!", b""), (b"-", b""), (b"new ", b""), (b"a.", b""), (b"a -> ", b""), (b"List<", b">"), (b"class A { ", b" }"), (b"fn f() { ", b" }"),
    (b"namespace a { ", b"}"), (b"\"${", b"}\""), (b"`${", b"}`"), (b"#{", b"}"), (b"do ", b" end"), (b"lambda: ", b""), (b"a = ", b""),
    (b'{"a":', b"}"), (b"[a]\n", b""), (b"a:\n ", b""), (b"== a\n", b""), (b"# ", b""), (b"!ref &a [*a, ", b"]"),
)  # fmt: skip
_COUNTS = (2, 10, 100, 1_000)

Choice = random.Random
Mutation = Callable[[bytes, bytes, Choice], bytes]


def mutate(data: bytes, other: bytes, choice: Choice) -> bytes:
    """Return `data` after one to four mutations, some of which take a piece of `other`."""
    for _ in range(choice.choice((1, 1, 2, 2, 3, 4))):
        data = choice.choice(MUTATIONS)(data, other, choice)[:MOST_BYTES]
    return data


def damage(data: bytes, choice: Choice) -> bytes:
    """Return stored data as a failing disk would: bits flipped, cut, or a stretch replaced; of any size."""
    what, (start, end) = choice.randrange(4), _span(data, choice)
    if what == 0:
        return _truncate(data, b"", choice)
    if what == 1:
        return data[:start] + choice.randbytes(end - start) + data[end:]
    if what == 2:
        return data[:start] + bytes(min(4096, len(data) - start)) + data[start + 4096 :]
    return _flip(data, b"", choice)


def _span(data: bytes, choice: Choice) -> tuple[int, int]:
    start = choice.randrange(len(data) + 1)
    return start, min(len(data), start + int(choice.expovariate(1 / 40)) + 1)


def _line(data: bytes, choice: Choice) -> tuple[int, int]:
    """The bounds of one to a few whole lines."""
    at = choice.randrange(len(data) + 1)
    start = data.rfind(b"\n", 0, at) + 1
    end = start
    for _ in range(choice.randint(1, 6)):
        end = data.find(b"\n", end) + 1 or len(data)
    return start, max(start, end)


def _delete(data: bytes, other: bytes, choice: Choice) -> bytes:
    start, end = choice.choice((_span, _line))(data, choice)
    return data[:start] + data[end:]


def _repeat(data: bytes, other: bytes, choice: Choice) -> bytes:
    start, end = choice.choice((_span, _line))(data, choice)
    return data[:end] + data[start:end] * choice.choice(_COUNTS) + data[end:]


def _move(data: bytes, other: bytes, choice: Choice) -> bytes:
    start, end = choice.choice((_span, _line))(data, choice)
    rest, at = data[:start] + data[end:], choice.randrange(len(data) + 1)
    return rest[:at] + data[start:end] + rest[at:]


def _splice(data: bytes, other: bytes, choice: Choice) -> bytes:
    start, end = choice.choice((_span, _line))(other, choice)
    at, to = _line(data, choice) if choice.random() < 0.5 else _span(data, choice)
    return data[:at] + other[start:end] + data[choice.choice((at, to)) :]


def _cross(data: bytes, other: bytes, choice: Choice) -> bytes:
    return data[: choice.randrange(len(data) + 1)] + other[choice.randrange(len(other) + 1) :]


def _truncate(data: bytes, other: bytes, choice: Choice) -> bytes:
    return data[: choice.randrange(len(data) + 1)]


def _insert(data: bytes, other: bytes, choice: Choice) -> bytes:
    at = choice.randrange(len(data) + 1)
    return data[:at] + choice.choice(_NASTY) * choice.choice((1, 1, 1, *_COUNTS)) + data[at:]


def _nest(data: bytes, other: bytes, choice: Choice) -> bytes:
    start, end = choice.choice((_span, _line))(data, choice)
    (opening, closing), count = choice.choice(_PAIRS), choice.choice(_COUNTS)
    return data[:start] + opening * count + data[start:end] + closing * choice.choice((count, count, 0)) + data[end:]


def _number(data: bytes, other: bytes, choice: Choice) -> bytes:
    """Put a count in front of every repetition of a line, so that names differ: chains of definitions that lead to each other."""
    start, end = _line(data, choice)
    names = re.findall(rb"[A-Za-z_]\w+", data[start:end])
    if not names:
        return data
    name, first = re.compile(rb"\b%s\b" % choice.choice(names)), data[start:end]
    lines = b""
    for number in range(1, choice.choice((10, 100, 400))):
        before, *after = name.split(first)
        lines += before + b"".join(b"name%d%s" % (number - choice.randint(0, 1), piece) for piece in after)
    return data[:start] + lines + data[end:]


def _flip(data: bytes, other: bytes, choice: Choice) -> bytes:
    changed = bytearray(data)
    for _ in range(choice.choice((1, 3, 20)) if changed else 0):
        changed[choice.randrange(len(changed))] ^= 1 << choice.randrange(8)
    return bytes(changed)


def _tokens(data: bytes, other: bytes, choice: Choice) -> bytes:
    """Delete, double, swap or replace tokens."""
    tokens, foreign = _TOKEN.findall(data), _TOKEN.findall(other) or [b"x"]
    for _ in range(choice.randint(1, 12) if tokens else 0):
        at, to = choice.randrange(len(tokens)), choice.randrange(len(tokens))
        what = choice.randrange(5)
        if what == 0:
            tokens[at] = b""
        elif what == 1:
            tokens[at] *= 2
        elif what == 2:
            tokens[at], tokens[to] = tokens[to], tokens[at]
        elif what == 3:
            tokens[at] = tokens[to]
        else:
            tokens[at] = choice.choice(foreign)
    return b"".join(tokens)


def _lengthen(data: bytes, other: bytes, choice: Choice) -> bytes:
    """Make one token very long."""
    tokens = _TOKEN.findall(data)
    if not tokens:
        return data
    at = choice.randrange(len(tokens))
    tokens[at] *= choice.choice((100, 1_000, 10_000)) // len(tokens[at]) + 1
    return b"".join(tokens)


def _lines(data: bytes, other: bytes, choice: Choice) -> bytes:
    """Other line endings, or none."""
    return data.replace(b"\n", choice.choice((b"\r\n", b"\r", b" ", b"\n\n", b"\x00", b"\x0b")))


def _encode(data: bytes, other: bytes, choice: Choice) -> bytes:
    return data.decode("utf-8", "replace").encode(
        choice.choice(("utf-16", "utf-16-le", "latin-1", "utf-8-sig")), "replace"
    )


MUTATIONS: tuple[Mutation, ...] = (
    _delete, _delete, _repeat, _move, _splice, _splice, _cross, _truncate, _insert, _insert, _nest, _nest, _number, _flip, _tokens, _tokens,
    _tokens, _lengthen, _lines, _encode,
)  # fmt: skip
