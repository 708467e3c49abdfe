"""Frameworks and clients of Go."""

from __future__ import annotations

from assay.languages.frameworks import Client, Framework, Registration, Request, by_verb, requested

_GO = ("go",)
_VERBS = ("get", "post", "put", "delete", "patch", "head", "options")
_CLIENT_VERBS = ("get", "post", "head")

NET_HTTP = Framework(
    "net/http and gorilla/mux",
    _GO,
    calls={
        "HandleFunc": Registration(handler=1, any_path=True),
        "Handle": Registration(handler=1, any_path=True),
        "HandlerFunc": Registration(path=0, handler=1),
    },
    groups=frozenset({"PathPrefix"}),
    verbs_after=frozenset({"Methods"}),
)
GIN = Framework(
    "gin, echo, fiber",
    _GO,
    calls={**by_verb(("{U}", "{C}"), _VERBS), "Any": Registration(), "All": Registration()},
    groups=frozenset({"Group"}),
)
CHI = Framework(
    "chi",
    _GO,
    calls={
        "Method": Registration(path=1, handler=2, method=0),
        "MethodFunc": Registration(path=1, handler=2, method=0),
    },
    scopes=frozenset({"Route", "Group"}),
    mounts={"Mount": 1},
)
FRAMEWORKS = (NET_HTTP, GIN, CHI)

CLIENTS = (
    Client(
        "net/http",
        _GO,
        functions={
            **{f"http.{name}": row for name, row in requested("{C}", _CLIENT_VERBS).items()},
            "http.PostForm": Request("POST"),
            "http.NewRequest": Request("GET", url=1, method=0),
            "http.NewRequestWithContext": Request("GET", url=2, method=1),
            "httptest.NewRequest": Request("GET", url=1, method=0),
        },
        types=frozenset({"http.Client", "*http.Client", "&http.Client", "http.DefaultClient"}),
        methods={**requested("{C}", _CLIENT_VERBS), "PostForm": Request("POST")},
        markers=(b"net/http",),
    ),
    Client(
        "resty",
        _GO,
        methods=requested("{C}", _VERBS),
        types=frozenset({"resty.New", "*resty.Client", "resty.Client", "resty.Request"}),
        receivers=frozenset({"r()"}),
        markers=(b"resty",),
    ),
)
