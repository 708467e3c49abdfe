"""Ask the server of a repository instead of answering; imports almost nothing, because that is what it saves.

A request is fields separated by NUL, which neither arguments nor variables can contain. The answer is `+` at once, then
frames (a letter for stdout, stderr or the exit code; 8 hexadecimal digits of length; the bytes), the exit code last.
Anything else, or nothing within a moment, means that the command answers by itself.
"""

from __future__ import annotations

import os
import sys
from binascii import crc32

from assay.system.runtime import private_folder

QUESTIONS = frozenset(("context", "search", "ask", "why", "symbols", "impact", "graph", "owners", "tests"))
# of a session, of other folders, with another program, or asking for something on the terminal
_OWN = ("--session", "--index", "--model", "--help", "--full", "--no-cache")
_FIRST_SECONDS, _ANSWER_SECONDS = 0.3, 60.0  # to be accepted, and to be answered
MOST_BYTES = 1 << 20  # of a request
_MOST_ANSWER = 1 << 26
ACCEPTED, OUT, ERR, CODE = b"+", b"o", b"e", b"c"


def ask_server(arguments: list[str]) -> int | None:
    """Print the answer of a server to a command and return the exit code; None if the command must answer itself."""
    if not arguments or arguments[0] not in QUESTIONS or not hasattr(os, "fork") or not sys.stdout or not sys.stderr:
        return None
    if any(word == "-" or word == "-h" or word.startswith(_OWN) for word in arguments):
        return None
    try:
        path = _socket_around(_start(arguments))
        request = _request(arguments)
        frames = _exchange(path, request) if path and len(request) <= MOST_BYTES else []
    except (OSError, ValueError):
        return None
    return _print(frames)


def socket_path(root: str) -> str:
    """Return the place of the socket of a repository. The server checks that it is the one that is meant."""
    return os.path.join(private_folder(), f"{crc32(os.fsencode(root)):08x}.sock")


def identity() -> str:
    """Return what client and server must have in common."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return repr((1, package, sys.version, sys.prefix, sys.getfilesystemencoding(), sys.warnoptions))


def _start(arguments: list[str]) -> str:
    """Return the folder of --root, else the current one."""
    for position, word in enumerate(arguments):
        if word.startswith("--root"):
            _, sign, value = word.partition("=")
            return os.path.realpath(value if sign else arguments[position + 1 : position + 2][0])
    return os.getcwd()


def _socket_around(folder: str) -> str:
    """Return the socket of the repository around a folder; empty without one."""
    while True:
        path = socket_path(folder)
        if os.path.exists(path):
            return path
        if folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)


def _request(arguments: list[str]) -> bytes:
    streams = (sys.stdout, sys.stderr)
    if any(stream.encoding.lower() != "utf-8" for stream in streams):
        raise ValueError("another encoding")
    size = os.get_terminal_size(sys.stdout.fileno()) if sys.stdout.isatty() else ("", "")
    terminal = [f"{int(stream.isatty())}{stream.errors}" for stream in streams]
    fields = [identity(), os.getcwd(), *terminal, *map(str, size), str(len(arguments)), *arguments]
    return b"\0".join(map(os.fsencode, [*fields, *(f"{name}={value}" for name, value in os.environ.items())]))


def _exchange(path: str, request: bytes) -> list[tuple[bytes, bytes]]:
    """Return the frames of the answer; none if the server is another user's, or declines."""
    import _socket  # not `socket`, which takes longer to import than a server to answer

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(_FIRST_SECONDS)
        connection.connect(path)
        if not is_same_user(connection):
            return []
        connection.sendall(request)
        connection.shutdown(_socket.SHUT_WR)
        if connection.recv(1) != ACCEPTED:
            return []
        connection.settimeout(_ANSWER_SECONDS)
        data = bytearray()
        while (piece := connection.recv(1 << 16)) and len(data) < _MOST_ANSWER:
            data += piece
    finally:
        connection.close()
    frames, place = [], 0
    while place < len(data):
        end = place + 9 + int(data[place + 1 : place + 9], 16)
        frames.append((bytes(data[place : place + 1]), bytes(data[place + 9 : end])))
        place = end
    return frames if place == len(data) else []


def is_same_user(connection: object) -> bool:
    """Return whether the other end of a connection is a process of this user."""
    import _socket

    credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)  # type: ignore[attr-defined]
    return int.from_bytes(credentials[4:8], sys.byteorder) == os.geteuid()


def _print(frames: list[tuple[bytes, bytes]]) -> int | None:
    if not frames or frames[-1][0] != CODE:
        return None
    try:
        for kind, data in frames[:-1]:
            stream = sys.stdout if kind == OUT else sys.stderr
            stream.buffer.write(data)
            stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is buffered is discarded
        return 0
    return int(frames[-1][1])
