"""Routes that a file declares by decorators and registrations, with the prefixes known in the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

from tree_sitter import Node

from assay.index.extract.services.calls import (
    CALLS,
    MAX_CLIMB,
    MAX_DEPTH,
    UNKNOWN,
    Call,
    Source,
    elements,
    expression_chain,
    is_function,
    unwrapped,
)
from assay.languages.frameworks import BLOCK, VERBS, Framework, Registration

MAX_STEPS = 50  # calls and names followed for the prefix of one route; real ones need less than 10
MAX_PATH = 500  # of a path with its prefixes
_VERBS = frozenset(verb.upper() for verb in VERBS)
_METHOD_AND_PATH = re.compile(r"([A-Z]{3,7}) +(?:[\w.-]+)?(/.*)")
_RECEIVER = re.compile(r"[\w$]+(?=\W*$)")
_ASSIGNS = frozenset({
    "let_declaration", "variable_declarator", "assignment", "short_var_declaration", "assignment_expression", "var_spec",
    "assignment_statement",
})  # fmt: skip


class Route(NamedTuple):
    """A route: `GET /users`, and the chain of its handler; without one, the enclosing item handles it."""

    name: str
    handler: str = ""
    by_verb: bool = False  # the handler is a class with a method for each verb


def join(prefix: str, path: str) -> str:
    """Join a prefix and a path with one slash between them."""
    if not prefix:
        return path
    if not path.strip("/^$"):
        return prefix
    return f"{prefix.rstrip('/')}/{path.lstrip('/^')}"


def named(verb: str, path: str) -> str:
    """Return the name of a route: method and path."""
    if not path.startswith(("/", "^", UNKNOWN)):
        path = "/" + path
    return f"{verb} {path}" if verb else path


class Routes:
    """Reads the routes of a file."""

    def __init__(self, source: Source, frameworks: Iterable[Framework]) -> None:
        self.source = source
        self.frameworks = [
            row for row in frameworks if not row.markers or any(mark in source.bytes for mark in row.markers)
        ]
        self._groups, self._scopes, self._prefixes = (
            frozenset(name for row in self.frameworks for name in getattr(row, field))
            for field in ("groups", "scopes", "prefixes")
        )
        self._mounts = {name: position for row in self.frameworks for name, position in row.mounts.items()}
        self._included = {name: row.includes for row in self.frameworks if row.includes for name in row.scopes}
        self._steps = 0  # left for the current route
        self.mounted: dict[str, tuple[str, Call]] = {}  # name of a router → path and the call that mounts it

    def note_mount(self, call: Call) -> None:
        """Record the prefix under which a call mounts a router, or a list of routes, of the same file."""
        if call.name in self._included:
            included = self._included_by(call)
            name = self.source.name(included) if included is not None else ""
            if name:
                self.mounted.setdefault(name, (self.source.plain(call.argument(0)) or "", call))
            return
        position = self._mounts.get(call.name)
        if position is None or len(call.arguments) <= position:
            return
        keyword = call.keyword(self._prefixes)
        path = self.source.plain(keyword if keyword is not None else call.argument(0) if position else None) or ""
        router = unwrapped(call.argument(position))
        for _ in range(MAX_DEPTH):
            if router is None or router.type not in CALLS:
                break
            router = Call(self.source, router).callee
        name = self.source.name(router) if router is not None else ""
        if name:
            self.mounted.setdefault(name, (path, call))

    def mounts(self, call: Call) -> Iterator[tuple[str, str, bool]]:
        """Yield the prefix that a call gives to a router of another file, its chain, and whether that is a module."""
        if call.name in self._mounts:
            position = self._mounts[call.name]
            keyword = call.keyword(self._prefixes)
            path = self.source.plain(keyword if keyword is not None else call.argument(0) if position else None)
            router = unwrapped(call.argument(position))
            if router is not None and router.type in CALLS:
                router = Call(self.source, router).callee
            text = expression_chain(self.source, router) if router is not None and not is_function(router) else ""
            if path and path.strip("/") and text and path.startswith("/"):
                yield join(self._prefix_of_call(call, ""), path), text, False
        included = self._included_by(call)
        path = self.source.plain(call.argument(0))
        if included is not None and path and path.strip("/^"):
            name = self.source.plain(included)
            if name and name.replace(".", "").replace("_", "").isalnum():
                yield join(self._prefix_of_call(call, ""), path), name, True
            elif text := expression_chain(self.source, included):
                yield join(self._prefix_of_call(call, ""), path), text, False

    def _included_by(self, call: Call) -> Node | None:
        """Return the module or list of routes in `path("users/", include(…))`."""
        node = unwrapped(call.argument(1)) if call.name in self._included else None
        inner = Call(self.source, node) if node is not None and node.type in CALLS else None
        if inner is None or inner.name != self._included[call.name] or not inner.arguments:
            return None
        parts = elements(inner.arguments[0])
        return parts[0] if parts else None

    # Prefixes

    def _prefix_of_call(self, call: Call, owner: str, depth: int = 0) -> str:
        """Return the prefix of what is registered by a call: of its receiver, and of the calls around it."""
        self._steps = MAX_STEPS if depth == 0 else self._steps - 1
        if depth > MAX_DEPTH or self._steps < 0:
            return ""
        prefix = self._prefix_of_receiver(call, depth)
        node = call.node
        for _ in range(MAX_CLIMB):
            parent = node.parent
            if parent is None:
                break
            if parent.type in _ASSIGNS and not prefix:
                target = parent.child_by_field_name("left") or parent.child_by_field_name("pattern")
                target = target or parent.child_by_field_name("name")
                prefix = self._prefix_of_mounted(self.source.text(target) if target is not None else "", depth)
            if parent.type in CALLS:
                around = Call(self.source, parent)
                if around.name in self._scopes or around.name in self._mounts:
                    inside = (*around.arguments, *around.blocks)
                    if any(part.start_byte <= call.node.start_byte < part.end_byte for part in inside):
                        own = self.source.plain(around.argument(0)) or ""
                        return join(self._prefix_of_call(around, owner, depth + 1), join(own, prefix))
            node = parent
        if not prefix and owner:
            prefix = self._prefix_of_mounted(owner, depth)
        return prefix

    def _prefix_of_receiver(self, call: Call, depth: int) -> str:
        prefix, innermost = "", call
        for inner in call.receiver_calls():
            if inner.name in self._groups:
                prefix = join(self._prefix_in(inner), prefix)
            innermost = inner
        receiver = unwrapped(innermost.receiver)
        if receiver is None:
            return prefix
        return join(self._prefix_of_name(self.source.name(receiver), call.node.start_byte, depth), prefix)

    def _prefix_in(self, call: Call) -> str:
        keyword = call.keyword(self._prefixes)
        if self._prefixes and call.name[:1].isupper():  # a constructor: only a keyword is a prefix
            return self.source.plain(keyword) or ""
        return self.source.plain(keyword if keyword is not None else call.argument(0)) or ""

    def _prefix_of_name(self, name: str, before: int, depth: int) -> str:
        self._steps -= 1
        if not name or depth > MAX_DEPTH or self._steps < 0:
            return ""
        value = unwrapped(self.source.assigned(name, before))
        own = ""
        if value is not None and value.type in CALLS:
            call = Call(self.source, value)
            if call.name in self._groups:
                own = join(self._prefix_of_receiver(call, depth + 1), self._prefix_in(call))
            elif call.receiver_call is not None:
                own = self._prefix_of_receiver(call, depth + 1)
        return join(self._prefix_of_mounted(name, depth), own)

    def _prefix_of_mounted(self, name: str, depth: int) -> str:
        path, call = self.mounted.get(name, ("", None))
        if call is None or depth > MAX_DEPTH:
            return ""
        return join(self._prefix_of_call(call, "", depth + 1), path)[:MAX_PATH]

    # Registrations

    def registered(self, call: Call, owner: str) -> Iterator[Route]:
        """Yield the routes that a call registers. `owner` is the name of the enclosing function."""
        for framework in self.frameworks:
            row = framework.calls.get(call.name)
            if row is None or self._receiver_name(call) in framework.not_routers:
                continue
            routes = list(self._registered(call, framework, row, owner))
            yield from routes
            if routes:
                return

    def _receiver_name(self, call: Call) -> str:
        receiver = unwrapped(call.receiver)
        match = _RECEIVER.search(self.source.text(receiver)) if receiver is not None else None
        return match.group().lower() if match else ""

    def _registered(self, call: Call, framework: Framework, row: Registration, owner: str) -> Iterator[Route]:
        first = call.keyword(framework.path_keywords)
        first = first if first is not None else call.argument(row.path)
        path = self.source.plain(first)
        chained = path is None and any(inner.name in self._groups for inner in call.receiver_calls())
        if path is None and not chained:
            return
        verbs = [row.verb]
        if path is not None:
            spelled = _METHOD_AND_PATH.fullmatch(path)  # `GET /users` of Go 1.22
            if spelled:
                verbs, path = [spelled.group(1)], spelled.group(2)
            if not row.any_path and not path.startswith(("/", "*")):
                return
            handler = call.keyword((row.handler_keyword,)) if row.handler_keyword else None
            if handler is None:
                handler = call.argument(row.handler) if len(call.arguments) > row.path + 1 else None
            handlers = [handler] if handler is not None else []
        else:
            handlers = call.arguments[-1:]
        if row.handler == BLOCK:
            handlers = call.blocks if call.receiver is None else []
        if row.method is not None:
            verbs = [
                (self.source.plain(node) or self.source.name(node)).upper()
                for node in elements(call.argument(row.method))
            ]
        verbs = self._methods(call, framework) or verbs
        full = join(self._prefix_of_call(call, owner), path or "")[:MAX_PATH]
        for handler in handlers:
            for verb, target in self._handlers(handler, framework, verbs):
                if target is not None and not (verb and verb not in _VERBS):
                    by_verb = target.endswith(".as_view()")
                    yield Route(named(verb, full), target.removesuffix(".as_view()"), by_verb and not verb)

    def _methods(self, call: Call, framework: Framework) -> list[str]:
        """Return the verbs that a keyword (`methods=["GET"]`) or a call on the result (`.Methods("GET")`) names."""
        nodes = elements(call.keyword(framework.method_keywords))
        parent = call.node.parent.parent if call.node.parent is not None else None
        if framework.verbs_after and parent is not None and parent.type in CALLS:
            after = Call(self.source, parent)
            nodes = after.arguments[:8] if after.name in framework.verbs_after else nodes
        out = []
        for node in nodes:
            verb = (self.source.plain(node) or re.split(r"\W+|Method", self.source.text(node))[-1]).upper()
            out += [verb] if verb in _VERBS else []
        return out

    def _handlers(self, node: Node, framework: Framework, verbs: list[str]) -> Iterator[tuple[str, str | None]]:
        """Yield verbs and chains of handlers; the empty chain is an anonymous function."""
        inner = unwrapped(node)
        if inner is None:
            return
        if is_function(inner):
            yield from ((verb, "") for verb in verbs)
            return
        if framework.verb_calls and inner.type in CALLS:
            yield from self._verb_calls(Call(self.source, inner), verbs)
            return
        text = self._handler_chain(inner)
        if text is not None:
            yield from ((verb, text) for verb in verbs)

    def _handler_chain(self, node: Node, depth: int = 0) -> str | None:
        """Return the chain of a handler: a name, `View.as_view()`, or the function that a wrapper is given."""
        inner = unwrapped(node)
        if inner is None or depth > 3:
            return None
        if is_function(inner):
            return ""
        if inner.type in CALLS:
            call = Call(self.source, inner)
            if call.name == "as_view" and call.receiver is not None:
                return expression_chain(self.source, call.receiver) + ".as_view()"
            if call.name == "include" or not call.arguments:
                return None
            if call.name == "bind" and call.receiver is not None:
                return expression_chain(self.source, call.receiver)
            return self._handler_chain(call.arguments[-1], depth + 1)
        return expression_chain(self.source, inner) or None

    def _verb_calls(self, call: Call, verbs: list[str]) -> Iterator[tuple[str, str | None]]:
        """Yield the handlers of `get(show).post(create)` and `web::get().to(show)`."""
        calls = [call, *call.receiver_calls()]
        to = next((inner for inner in calls if inner.name == "to" and inner.arguments), None)
        if to is not None:
            verb = next((inner.name.upper() for inner in calls if inner.name.upper() in _VERBS), verbs[0])
            yield verb, self._handler_chain(to.arguments[0])
            return
        for inner in reversed(calls):
            if inner.arguments and (inner.name in VERBS or inner.name == "any"):
                yield inner.name.upper() if inner.name in VERBS else "", self._handler_chain(inner.arguments[0])

    # Decorators

    def declared(
        self, decorators: list[Call], around: list[Call], name: str, class_name: str
    ) -> Iterator[tuple[bool, str]]:
        """Yield (is a client, route) of the decorators of a function; `around` are those of its class."""
        for framework in self.frameworks:
            routes = list(self._declared(framework, decorators, around, name, class_name))
            yield from routes
            if routes:
                return

    def _declared(
        self, framework: Framework, decorators: list[Call], around: list[Call], name: str, class_name: str
    ) -> Iterator[tuple[bool, str]]:
        is_client = any(call.name in framework.client_classes for call in around)
        of_class = [call for call in around if call.name in framework.class_decorators]
        prefixes = next((literals for call in reversed(of_class) if (literals := self._paths(call, framework))), [""])
        bare_verbs = [
            framework.method_decorators[call.name] for call in decorators if call.name in framework.method_decorators
        ]
        paths = [call for call in decorators if call.name in framework.decorators]
        if bare_verbs and not paths and of_class:
            yield from ((is_client, named(verb, prefix)) for verb in bare_verbs for prefix in prefixes)
        if framework.method_decorators and not bare_verbs:
            return  # a path without a verb is a sub-resource
        for call, verbs in self._verbs(framework, paths, bare_verbs):
            own = self._own_paths(call, framework, name, bool(of_class))
            for verb, prefix, path in product(verbs, prefixes, own):
                yield is_client, named(verb, self._decorated_path(call, framework, prefix, path, name, class_name))

    def _verbs(
        self, framework: Framework, paths: list[Call], bare_verbs: list[str]
    ) -> Iterator[tuple[Call, list[str]]]:
        """Yield the decorators that say a path, each with the verbs of its routes."""
        whole = [call for call in paths if call.arguments or call.keywords]
        # `[HttpPost] [Route("draft")]`: one says the verb, the other the path
        pathless = [verb for call in paths if call not in whole and (verb := framework.decorators[call.name])]
        for call in whole or paths:
            verbs = bare_verbs or self._methods(call, framework) or [framework.decorators[call.name]]
            yield call, pathless if verbs == [""] and pathless else verbs

    def _own_paths(self, call: Call, framework: Framework, name: str, has_class: bool) -> list[str]:
        """Return the paths of a decorator: its literals, that of its class, or the function's name."""
        if call.name in framework.action_decorators:
            detail = call.keywords.get("detail")
            base = "/{pk}" if detail is not None and self.source.text(detail) == "True" else ""
            return [f"{base}/{self.source.plain(call.keyword(framework.path_keywords)) or name}"]
        paths = self._paths(call, framework)
        return paths if paths or call.arguments or not (framework.bare_decorators and has_class) else [""]

    def _paths(self, call: Call, framework: Framework) -> list[str]:
        keyword = call.keyword(framework.path_keywords)
        node = keyword if keyword is not None else call.argument(0)
        if node is None:
            return []
        out = []
        for element in elements(node):
            path = self.source.plain(element)
            if path is None:
                value = self.source.literal(element)
                path = value if value.startswith(("/", UNKNOWN)) and framework.slashless else None
            if path is not None and (framework.slashless or path.startswith("/") or not path):
                out.append(path)
        return out

    def _decorated_path(
        self, call: Call, framework: Framework, prefix: str, path: str, name: str, class_name: str
    ) -> str:
        if path.startswith(("~/", "/")) and framework.absolute_paths:
            full = path.removeprefix("~")
        else:
            self._steps = MAX_STEPS
            receiver = self._prefix_of_receiver(call, 0)
            full = join(join(receiver or self._prefix_of_mounted(name, 0), prefix), path)
        full = full.replace("[controller]", class_name.removesuffix("Controller")).replace("[action]", name)
        return full[:MAX_PATH]
