"""OpenAPI documents as a bridge between clients and handlers that say neither method nor path.

A function of the repository named like an operation's `operationId` handles its route, or calls it if it stands in
client code: generated clients and servers are named so. Documents are read line by line, without anchors, aliases or
includes, so that none can grow while it is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, NamedTuple

from assay.core.endpoints import OPENAPI_NAME, VERBS
from assay.store.index import Index

MAX_OPERATIONS = 5_000  # of all documents; the largest public interfaces have about a thousand
_HEAD = re.compile(r"""^[ \t]*+\{?[ \t]*+["']?(?:openapi|swagger)["']?\s*:""", re.M)
_LINE = re.compile(r"""( *)(["']?)([^\s"'#:-](?:[^"'#]*?[^\s"'#])??)\2\s*+:(?:\s(.*))?$""")
_CLIENT_PATH = re.compile(r"(?:^|[/_.-])(?:clients?|sdks?)(?=[/_.-]|$)", re.I)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PER_QUERY = 400  # names of one statement


class Operation(NamedTuple):
    """An operation of a document."""

    name: str  # method and path: `GET /users/{id}`
    id: str


class Named(NamedTuple):
    """A function named like an operation."""

    id: str
    route: str
    path: str
    line: int
    is_client: bool


def operations(text: str) -> list[Operation]:
    """Return the operations of a document that have an id; none if it is no OpenAPI document."""
    if not _HEAD.search(text[:5_000]):
        return []
    rows = _of_json(text) if text.lstrip().startswith("{") else _of_yaml(text)
    return list(islice(rows, MAX_OPERATIONS))


def _of_json(text: str) -> Iterator[Operation]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    paths: Any = document.get("paths") if isinstance(document, dict) else None
    for path, methods in paths.items() if isinstance(paths, dict) else ():
        for verb, operation in methods.items() if isinstance(methods, dict) else ():
            id = operation.get("operationId") if isinstance(operation, dict) else None
            if verb.upper() in VERBS and isinstance(id, str):
                yield Operation(f"{verb.upper()} {path}", id)


def _of_yaml(text: str) -> Iterator[Operation]:
    """Read paths, methods and ids by indentation."""
    inside, path, verb = False, "", ""
    path_indent = verb_indent = id_indent = -1
    for line in text.splitlines():
        match = _LINE.match(line[:1_000])
        if match is None:
            continue
        indent, key, value = len(match[1]), match[3], (match[4] or "").strip().strip("\"'")
        if indent == 0:
            inside, path, verb, path_indent = key == "paths", "", "", -1
        elif not inside:
            continue
        elif key.startswith("/") and (path_indent in (-1, indent)):
            path, verb, path_indent, verb_indent = key, "", indent, -1
        elif path and key.upper() in VERBS and indent > path_indent and verb_indent in (-1, indent):
            verb, verb_indent, id_indent = key.upper(), indent, -1
        elif verb and indent > verb_indent:
            id_indent = indent if id_indent < 0 else id_indent
            if key == "operationId" and indent == id_indent and value:
                yield Operation(f"{verb} {path}", value)


def spellings(id: str) -> set[str]:
    """Return the names that generators give to an operation: as it is, in camel case, Pascal case and snake case."""
    words = [word.lower() for word in _WORDS.findall(id)]
    pascal = "".join(word.capitalize() for word in words)
    return {id, pascal, pascal[:1].lower() + pascal[1:], "_".join(words)} if words else set()


def named_functions(index: Index, calling: Collection[str], handling: Collection[str]) -> Iterator[Named]:
    """Yield the functions that are named like an operation of a document of the index.

    `calling` are files with client calls, `handling` items whose route is known. An id that several functions outside of
    client code have, or a single common word, says too little.
    """
    routes: dict[str, dict[str, Operation]] = {}
    for part in index.parts:
        for path, text in part.execute("SELECT path, text FROM configs ORDER BY path"):
            if OPENAPI_NAME.fullmatch(path.rpartition("/")[2]):
                for row in operations(text):
                    if len(_WORDS.findall(row.id)) > 1:
                        for name in spellings(row.id):
                            routes.setdefault(name, {})[row.name] = row
    unique = {name: next(iter(rows.values())) for name, rows in routes.items() if len(rows) == 1}
    handlers: dict[Operation, list[Named]] = {}
    for id, name, path, line in _functions(index, sorted(unique)):
        operation = unique[name]
        is_client = path in calling or _CLIENT_PATH.search(path) is not None
        function = Named(id, operation.name, path, line, is_client)
        if is_client:
            yield function
        else:
            handlers.setdefault(operation, []).append(function)
    for functions in handlers.values():
        if len(functions) == 1 and functions[0].id not in handling:
            yield functions[0]


def _functions(index: Index, names: list[str]) -> Iterator[tuple[str, str, str, int]]:
    """Yield id, name, path and line of the functions with some names, tests left out."""
    for start in range(0, len(names), _PER_QUERY):
        chunk = names[start : start + _PER_QUERY]
        for part in index.parts:
            rows = part.execute(
                "SELECT s.id, s.name, f.path, s.start FROM symbols s JOIN files f ON f.number = s.file "
                f"WHERE s.kind IN ('function', 'method') AND s.test = 0 AND s.name IN ({','.join('?' * len(chunk))})",
                chunk,
            )
            for id, name, path, line in rows:
                yield part.path(id), name, part.path(path), line
