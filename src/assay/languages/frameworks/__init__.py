"""Web frameworks, HTTP clients and feature flag libraries: one table each, read by `index/extract/services`.

A table says by which calls and decorators a library declares routes, calls endpoints or asks for flags. Adding a
library is a table in the module of its language, a row in `FRAMEWORKS`, `CLIENTS` or `FLAGS`, and a fixture.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

__all__ = [
    "Client",
    "FlagLibrary",
    "Framework",
    "Registration",
    "Request",
    "clients_of",
    "flags_of",
    "frameworks_of",
    "names_of",
]

VERBS = ("get", "post", "put", "delete", "patch", "head", "options")
LAST = -1  # position of the last argument
BLOCK = -2  # the handler is a block, and there is no receiver (Ruby)
_NONE = frozenset[str]()


class Registration(NamedTuple):
    """A call that binds a path to a handler. Positions are those of its arguments."""

    verb: str = ""  # empty: any
    path: int = 0
    handler: int = LAST
    method: int | None = None  # position of an argument that names the verb
    any_path: bool = False  # the literal is a path whatever it looks like; otherwise it begins with a slash
    handler_keyword: str = ""


@dataclass(frozen=True, slots=True)
class Framework:
    """Declarations of routes."""

    name: str
    languages: tuple[str, ...]
    markers: tuple[bytes, ...] = ()  # a file without any of them does not use the framework; empty: always looked at
    decorators: Mapping[str, str] = field(default_factory=dict)  # decorator of a handler → verb
    method_decorators: Mapping[str, str] = field(default_factory=dict)  # say only the verb, beside one with the path
    class_decorators: frozenset[str] = _NONE  # path of all handlers of a class
    bare_decorators: bool = False  # decorators without a path have that of their class
    slashless: bool = False  # paths of decorators need not begin with a slash
    absolute_paths: bool = False  # a decorator's path that begins with a slash ignores that of its class
    action_decorators: frozenset[str] = _NONE  # the path is the handler's name, below an id with `detail`
    client_classes: frozenset[str] = _NONE  # decorators of classes whose methods call the route instead
    calls: Mapping[str, Registration] = field(default_factory=dict)
    verb_calls: bool = False  # handlers are arguments of calls named by verbs: `get(show).post(create)`
    groups: frozenset[str] = _NONE  # calls whose first literal is a prefix of what is registered on their result
    scopes: frozenset[str] = _NONE  # calls whose first literal is a prefix of what is registered in their arguments
    mounts: Mapping[str, int] = field(default_factory=dict)  # call → position of the mounted router
    includes: str = ""  # call in the arguments of a scope that names a module with routes
    prefixes: frozenset[str] = _NONE  # keywords with a prefix
    verbs_after: frozenset[str] = _NONE  # calls on the result that name the verb: `.Methods("GET")`
    path_keywords: tuple[str, ...] = ()
    method_keywords: tuple[str, ...] = ()
    names: frozenset[str] = _NONE  # further calls of its files, read by a module of their own
    not_routers: frozenset[str] = _NONE  # receivers that are something else


class Request(NamedTuple):
    """A call of an HTTP client. Positions are those of its arguments."""

    verb: str = ""  # empty: any, unless an argument says it
    url: int = 0
    method: int | None = None  # position of an argument that names the verb
    path_only: bool = False  # accept only a path that begins with a slash or an address: the name is a common one


@dataclass(frozen=True, slots=True, eq=False)
class Client:
    """Calls of an HTTP client."""

    name: str
    languages: tuple[str, ...]
    markers: tuple[bytes, ...] = ()
    functions: Mapping[str, Request] = field(default_factory=dict)  # by chain, matched at its end
    types: frozenset[str] = _NONE  # constructors and types of client objects
    methods: Mapping[str, Request] = field(default_factory=dict)  # of client objects
    receivers: frozenset[str] = _NONE  # usual names of client objects made in another file; lower case
    bases: frozenset[str] = _NONE  # keywords with the base address
    relative: bool = False  # client objects usually have a base address
    url_keywords: tuple[str, ...] = ()
    method_keywords: tuple[str, ...] = ()
    verb_after: Mapping[str, int] = field(default_factory=dict)  # calls on the result that have the url: `.uri(…)`


@dataclass(frozen=True, slots=True, eq=False)
class FlagLibrary:
    """Calls, decorators and lookups that ask for a feature flag by name."""

    name: str
    languages: tuple[str, ...] = ()  # empty: all
    calls: Mapping[str, int] = field(default_factory=dict)  # chain, matched at its end → position of the flag's name
    decorators: frozenset[str] = _NONE
    bare: bool = False  # calls have no receiver
    hints: tuple[str, ...] = ()  # a call counts only if its receiver contains one of these; lower case
    lookups: frozenset[str] = _NONE  # `FEATURES["x"]`
    constants: tuple[str, ...] = ()  # expression prefixes of settings: `settings.FEATURE_`


def by_verb(forms: Iterable[str], verbs: Iterable[str] = VERBS, **row: object) -> dict[str, Registration]:
    """Return a registration for each verb, named by patterns such as `{}` and `Map{}`."""
    return {_named(form, verb): Registration(verb.upper(), **row) for form in forms for verb in verbs}  # type: ignore[arg-type]


def decorated(form: str, verbs: Iterable[str] = VERBS) -> dict[str, str]:
    """Return decorators named by a pattern, with their verbs."""
    return {_named(form, verb): verb.upper() for verb in verbs}


def requested(form: str, verbs: Iterable[str] = VERBS, **row: object) -> dict[str, Request]:
    """Return a request for each verb, named by a pattern."""
    return {_named(form, verb): Request(verb.upper(), **row) for verb in verbs}  # type: ignore[arg-type]


def _named(form: str, verb: str) -> str:
    """Fill a pattern: `{}` in lower case, `{C}` capitalised, `{U}` in upper case."""
    return form.replace("{}", verb).replace("{C}", verb.capitalize()).replace("{U}", verb.upper())


# Tables by language


@cache
def frameworks_of(language: str) -> tuple[Framework, ...]:
    """Return the web frameworks of a language."""
    from assay.languages.frameworks import csharp, go, javascript, jvm, python, ruby, rust

    modules = (python, javascript, go, rust, jvm, csharp, ruby)
    return tuple(row for module in modules for row in module.FRAMEWORKS if language in row.languages)


@cache
def clients_of(language: str) -> tuple[Client, ...]:
    """Return the HTTP clients of a language."""
    from assay.languages.frameworks import csharp, go, javascript, jvm, python, ruby, rust

    modules = (python, javascript, go, rust, jvm, csharp, ruby)
    return tuple(row for module in modules for row in module.CLIENTS if language in row.languages)


@cache
def flags_of(language: str) -> tuple[FlagLibrary, ...]:
    """Return the feature flag libraries of a language."""
    from assay.languages.frameworks.flags import FLAGS

    return tuple(row for row in FLAGS if not row.languages or language in row.languages)


@cache
def names_of(language: str) -> frozenset[str]:
    """Return the last names of all calls and decorators of the tables: only these are looked at."""
    out: set[str] = set()
    for framework in frameworks_of(language):
        out.update(framework.decorators, framework.method_decorators, framework.class_decorators, framework.calls)
        out.update(framework.mounts, framework.client_classes, framework.names)
    for client in clients_of(language):
        out.update(chain.rpartition(".")[2] for chain in client.functions)
        out.update(client.methods, client.verb_after)
    for library in flags_of(language):
        out.update(chain.rpartition(".")[2] for chain in library.calls)
        out.update(library.decorators, library.lookups)
    return frozenset(out)
