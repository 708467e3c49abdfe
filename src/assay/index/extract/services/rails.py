"""Routes of Rails: the grammar of `config/routes.rb`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from tree_sitter import Node

from assay.index.extract.services.calls import Call, Source, elements
from assay.index.extract.services.routes import join, named

MAX_DEPTH = 20  # nested blocks; real files have less than 6
MAX_ROUTES = 20_000
_NEW = ".new()."  # between controller and action: actions are methods of objects
_DRAW = re.compile(rb"\.routes\.(?:draw|append|prepend)\b")
_RESOURCES = re.compile(rb"^\s*resources\s+:\w", re.M)
_VERBS = frozenset({"get", "post", "put", "patch", "delete"})
# action → verb and path below the resource; those with an id stand below `/:id`
_COLLECTION = {"index": ("GET", ""), "new": ("GET", "new"), "create": ("POST", "")}
_MEMBER = {"show": ("GET", ""), "edit": ("GET", "edit"), "update": ("PATCH", ""), "destroy": ("DELETE", "")}
_TRANSPARENT = frozenset(
    {
        "draw",
        "append",
        "prepend",
        "constraints",
        "authenticate",
        "authenticated",
        "concern",
        "defaults",
        "with_options",
        "scope",
        "devise_scope",
    }
)


class _Place(NamedTuple):
    """The prefix, module and controller that apply inside a block."""

    path: str = ""
    module: str = ""
    controller: str = ""
    resource: str = ""  # path of the enclosing resource's collection
    member: str = ""  # path of one of its members
    singular: bool = False


def is_routes(source: bytes) -> bool:
    """Return whether a file draws routes, or is a part that `draw :name` of another file reads."""
    return _DRAW.search(source) is not None or _RESOURCES.search(source) is not None


def read(source: Source) -> Iterator[tuple[int, str, str]]:
    """Yield line, route and chain of the handler.

    A part of the routes may be drawn inside a namespace, so that only controllers of its own modules are certain.
    """
    is_part = _DRAW.search(source.bytes) is None
    for line, route, handler in islice(_block(source, source.root, _Place(), 0), MAX_ROUTES):
        if not is_part or "." in handler.removesuffix(handler[handler.rfind(_NEW) :]):
            yield line, route, handler


def _block(source: Source, node: Node, place: _Place, depth: int) -> Iterator[tuple[int, str, str]]:
    if depth > MAX_DEPTH:
        return
    for child in node.named_children:
        if child.type == "call":
            yield from _call(source, Call(source, child), place, depth)
        elif child.type in (
            "body_statement",
            "block_body",
            "if",
            "unless",
            "then",
            "else",
            "if_modifier",
            "unless_modifier",
            "begin",
        ):
            yield from _block(source, child, place, depth + 1)


def _call(source: Source, call: Call, place: _Place, depth: int) -> Iterator[tuple[int, str, str]]:
    name = call.name
    line = call.node.start_point.row + 1
    if name in ("resources", "resource"):
        for argument in call.arguments:
            if resource := source.plain(argument):
                yield from _resource(source, call, resource, name == "resource", place, line, depth)
    elif name in _VERBS or name == "match":
        yield from _verb(source, call, place, line)
    elif name == "root":
        yield from _handler(source, call.keyword(("to",)) or call.argument(0), "GET", place.path or "/", place, line)
    elif name == "namespace" and (label := source.plain(call.argument(0))):
        path = _keyword(source, call, "path", label)
        module = _keyword(source, call, "module", label)
        inner = _Place(
            join(place.path, "/" + path.strip("/")) if path.strip("/") else place.path, _within(place.module, module)
        )
        yield from _blocks(source, call, inner, depth)
    elif name == "scope":
        label = source.plain(call.argument(0)) if call.arguments else None
        path = _keyword(source, call, "path", label or "")
        module = _within(place.module, _keyword(source, call, "module", ""))
        controller = _keyword(source, call, "controller", place.controller)
        inner = place._replace(
            path=join(place.path, "/" + path.strip("/")) if path.strip("/") else place.path,
            module=module,
            controller=controller,
        )
        yield from _blocks(source, call, inner, depth)
    elif name == "controller" and (label := source.plain(call.argument(0))):
        yield from _blocks(source, call, place._replace(controller=label), depth)
    elif name == "member" and place.resource:
        yield from _blocks(
            source, call, place._replace(path=place.resource if place.singular else join(place.resource, "/:id")), depth
        )
    elif name == "collection" and place.resource:
        yield from _blocks(source, call, place._replace(path=place.resource), depth)
    elif name in _TRANSPARENT:
        yield from _blocks(source, call, place, depth)


def _blocks(source: Source, call: Call, place: _Place, depth: int) -> Iterator[tuple[int, str, str]]:
    for block in call.blocks:
        yield from _block(source, block, place, depth + 1)


def _keyword(source: Source, call: Call, name: str, default: str) -> str:
    """Return a keyword's text; nothing for `nil`, the default if it is missing."""
    node = call.keywords.get(name)
    return default if node is None else source.plain(node) or ""


def _resource(
    source: Source, call: Call, resource: str, singular: bool, place: _Place, line: int, depth: int
) -> Iterator[tuple[int, str, str]]:
    path = join(place.path, "/" + _keyword(source, call, "path", resource).strip("/"))
    plural = resource if not singular or resource.endswith("s") else resource + "s"
    controller = _keyword(source, call, "controller", plural)
    module = _within(place.module, _keyword(source, call, "module", ""))
    only, without = (_actions(source, call.keywords.get(name)) for name in ("only", "except"))
    parameter = _keyword(source, call, "param", "id")
    member = path if singular else f"{path}/:{parameter}"
    for actions, base in ((_COLLECTION, path), (_MEMBER, member)):
        for action, (verb, below) in actions.items():
            if (
                (only is not None and action not in only)
                or (without and action in without)
                or (singular and action == "index")
            ):
                continue
            if "to" in call.keywords:
                yield from _handler(source, call.keywords["to"], verb, join(base, below), place, line, controller)
            else:
                yield line, named(verb, join(base, below)), _chain(module, controller, action)
    nested = path if singular else f"{path}/:{resource.rstrip('s')}_{parameter}"
    inner = _Place(nested, module, controller, path, member, singular)
    yield from _blocks(source, call, inner, depth)


def _actions(source: Source, node: Node | None) -> set[str] | None:
    """Return the actions that `only:` or `except:` lists; None without it."""
    if node is None:
        return None
    if node.type in ("symbol_array", "string_array"):
        return set(source.text(node)[3:-1].split())
    return {text for element in elements(node) if (text := source.plain(element))}


def _verb(source: Source, call: Call, place: _Place, line: int) -> Iterator[tuple[int, str, str]]:
    verbs = [call.name.upper()]
    if call.name == "match":
        verbs = [text.upper() for node in elements(call.keywords.get("via")) if (text := source.plain(node))]
        verbs = ["" if verb == "ALL" else verb for verb in verbs] or [""]
    on = _keyword(source, call, "on", "")
    base = place.path
    if place.resource and on:
        base = place.member if on == "member" else place.resource
    pair = call.keywords.get("=>")
    if pair is not None:
        key, to = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        targets = [(source.plain(key), to)] if key is not None else []
    else:
        targets = [(source.plain(argument), call.keywords.get("to")) for argument in call.arguments]
    for path, to in targets:
        if path is None:
            continue
        path = re.sub(r"\(\.:format\)|\([^()]*\)", "", path)
        action = _keyword(source, call, "action", path.strip("/").replace("-", "_"))
        controller = _keyword(source, call, "controller", place.controller)
        full = join(base, "/" + path.strip("/"))
        for verb in verbs:
            if to is not None:
                yield from _handler(source, to, verb, full, place, line, controller)
            elif "/" in path.strip("/") and not place.resource and "action" not in call.keywords:
                controller, _, action = path.strip("/").rpartition("/")
                yield line, named(verb, full), _chain(place.module, controller, action)
            elif controller and re.fullmatch(r"\w+", action):
                yield line, named(verb, full), _chain(place.module, controller, action)


def _handler(
    source: Source, node: Node | None, verb: str, path: str, place: _Place, line: int, controller: str = ""
) -> Iterator[tuple[int, str, str]]:
    text = source.plain(node)
    if not text:
        return
    name, hash_, action = text.partition("#")
    if not hash_:
        name, action = controller, text
    if name and re.fullmatch(r"\w+[?!]?", action):
        yield line, named(verb, path), _chain(place.module if not name.startswith("/") else "", name.strip("/"), action)


def _within(outer: str, inner: str) -> str:
    return f"{outer}/{inner}".strip("/")


def _chain(module: str, controller: str, action: str) -> str:
    """Return the chain of an action: `Admin.UsersController.new().index`."""
    parts = [part for part in f"{module}/{controller}".split("/") if part]
    camel = ["".join(word[:1].upper() + word[1:] for word in part.split("_")) for part in parts]
    return ".".join(camel) + "Controller" + _NEW + action
