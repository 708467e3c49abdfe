"""HTTP endpoints: routes as servers declare them, urls as clients write them, and how well two of them match.

Every framework has its own syntax of parameters (`<int:id>`, `:id`, `{id}`, `[id]`, `(?P<id>\\d+)`), and so has every
way to build a url (`%s`, `${id}`, `#{id}`). A path is read into segments; all parameters become `PARAMETER`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

PARAMETER = "{}"  # one segment of any text
REST = "{*}"  # any number of segments

VERBS = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"})

# file name of an OpenAPI document
OPENAPI_NAME = re.compile(r"(?:.*[._-])?(?:openapi|swagger)(?:[._-][\w.-]*)?\.(?:ya?ml|json)", re.I)

_MAX_SEGMENTS = 40
_MAX_LENGTH = 2_000
_URL = re.compile(r"(?:(?:https?|wss?):)?//([^/?#]*)", re.I)
_GROUP = re.compile(r"\((?:\?P?<\w+>|\?:)?[^()]*\)[?*+]?")  # a regular expression's group without nested ones
_PARAMETER = re.compile(
    r"(?P<rest>\{\*\w*\}|\{\w+:(?:path|\.[*+])\}|<path:\w+>|\*{1,2}\w*|\[\[?\.{3}\w+\]\]?|:\w+[*+])"
    r"|\$\{[^{}]*\}|#\{[^{}]*\}|\{[^{}]*\}|<[^<>]*>|\[[^\[\]]*\]|:[a-zA-Z_]\w*(?:\([^()]*\))?\??|%[sdv]|%\([^()]*\)[sd]"
)
_LOCAL_HOST = re.compile(
    r"localhost|[\d.]+|\[[0-9a-f:]+\]|[\w-]+|[\w.-]{1,253}\.(?:local|internal|svc|test|localhost)(?:\..*)?", re.I
)


class Endpoint(NamedTuple):
    """A method and a path. Without a verb any method is meant."""

    verb: str
    segments: tuple[str, ...]
    host: str = ""  # as written, with its port; PARAMETER if computed
    is_open: bool = False  # the path begins with a computed text, such as a base url

    @property
    def literals(self) -> int:
        """Number of segments that are not parameters."""
        return sum(segment not in (PARAMETER, REST) for segment in self.segments)


def parse_endpoint(text: str) -> Endpoint:
    """Parse `GET /users/{id}`, `/users/:id`, `https://api.shop/users/%s` or `{}/users/{}`."""
    verb, _, rest = text.strip()[:_MAX_LENGTH].partition(" ")
    if verb.upper() not in VERBS or not rest:
        verb, rest = "", text.strip()[:_MAX_LENGTH]
    url = _URL.match(rest)
    host = _marked(url.group(1)) if url else ""
    path = rest[url.end() :] if url else rest
    if path.startswith("^") or "(?P<" in path:
        path = _GROUP.sub(PARAMETER, path.strip("^$")).replace("\\", "")
    marked = re.split("[?#]", _marked(path.rstrip("$")), maxsplit=1)[0]
    is_open = not url and marked.startswith(PARAMETER)
    segments = [_segment(part) for part in marked.split("/")[:_MAX_SEGMENTS] if part]
    if is_open:
        first = marked.partition("/")[0]
        segments = segments[1:] if first == PARAMETER else segments
    return Endpoint(verb.upper(), tuple(segments), host, is_open)


def _marked(text: str) -> str:
    """Replace parameters of every syntax."""
    return _PARAMETER.sub(lambda parameter: REST if parameter["rest"] else PARAMETER, text)


def _segment(text: str) -> str:
    if REST in text:
        return REST
    return PARAMETER if PARAMETER in text else text.lower()


def is_local_host(host: str) -> bool:
    """Return whether a host can be one of the user's own services: a service name, this machine, a computed host.

    Public domains cannot: `https://api.github.com/users` is not this repository's `/users`.
    """
    name = re.sub(r":[\d{}]+$", "", host)
    return PARAMETER in name or bool(_LOCAL_HOST.fullmatch(name))


# Matching

EXACT, WITHOUT_PREFIX, VERB_UNKNOWN, LITERAL_FOR_PARAMETER = 0.9, 0.6, 0.9, 0.5

Handler = TypeVar("Handler")


class Routes(Generic[Handler]):
    """Declared routes, found by the urls that reach them.

    A server's mount point and a client's base url may be unknown, so paths are aligned at their ends.
    """

    def __init__(self, routes: Iterable[tuple[Endpoint, Handler]]) -> None:
        self._by_end: dict[tuple[int, str], list[tuple[Endpoint, Handler]]] = defaultdict(list)
        for route, handler in routes:
            if route.literals:
                self._by_end[_end(route.segments)].append((route, handler))

    def matching(self, endpoint: Endpoint, most: int = 5) -> list[tuple[Handler, float]]:
        """Return the best handlers of an endpoint with the confidence of each; none if more than `most` tie."""
        best: dict[Handler, tuple[float, int]] = {}
        for parameters in range(len(endpoint.segments)):
            last = endpoint.segments[-1 - parameters]
            for route, handler in self._by_end.get((parameters, last), ()):
                # `/users/me` is reached through its own route, not through `/users/{id}`
                quality = (match(endpoint, route), route.literals)
                if quality > best.get(handler, (0.0, _MAX_SEGMENTS)):
                    best[handler] = quality
        top = max(best.values(), default=(0.0, 0))
        chosen = [handler for handler, quality in best.items() if quality == top]
        return [(handler, top[0]) for handler in chosen] if len(chosen) <= most else []


def _end(segments: Sequence[str]) -> tuple[int, str]:
    """Return the number of parameters at the end of a path, and the literal before them."""
    for parameters, segment in enumerate(reversed(segments)):
        if segment not in (PARAMETER, REST):
            return parameters, segment
    return len(segments), ""


def match(endpoint: Endpoint, route: Endpoint) -> float:
    """Return the confidence that a client's endpoint reaches a route; 0 if it cannot."""
    if endpoint.verb and route.verb and endpoint.verb != route.verb:
        return 0.0
    confidence = EXACT if endpoint.verb == route.verb else EXACT * VERB_UNKNOWN
    sent, declared = endpoint.segments, route.segments
    if len(sent) != len(declared):
        shorter = sent if len(sent) < len(declared) else declared
        if len(sent) < len(declared) and not endpoint.is_open and endpoint.host != PARAMETER:
            return 0.0
        if not any(segment not in (PARAMETER, REST) for segment in shorter):
            return 0.0
        confidence *= WITHOUT_PREFIX / EXACT
        sent, declared = sent[len(sent) - len(shorter) :], declared[len(declared) - len(shorter) :]
    for segment, pattern in zip(sent, declared, strict=True):
        if segment == pattern or pattern in (PARAMETER, REST):
            continue
        if segment != PARAMETER:
            return 0.0
        confidence *= LITERAL_FOR_PARAMETER
    return round(confidence, 3)
