"""Frameworks and clients of Rust."""

from __future__ import annotations

from assay.languages.frameworks import Client, Framework, Registration, Request, decorated, requested

_RUST = ("rust",)
_VERBS = ("get", "post", "put", "delete", "patch", "head", "options")

AXUM = Framework(
    "axum",
    _RUST,
    markers=(b"axum", b"Router"),
    calls={"route": Registration(handler=1), "route_service": Registration(handler=1)},
    verb_calls=True,
    mounts={"nest": 1, "merge": 0},
    scopes=frozenset({"nest"}),
)
ACTIX = Framework(
    "actix-web",
    _RUST,
    markers=(b"actix", b"web::"),
    decorators={**decorated("{}", _VERBS), "route": ""},
    calls={"route": Registration(any_path=True)},
    verb_calls=True,
    groups=frozenset({"scope", "resource"}),
    mounts={"service": 0, "configure": 0},
    slashless=True,
    method_keywords=("method",),
)
FRAMEWORKS = (AXUM, ACTIX)

CLIENTS = (
    Client(
        "reqwest",
        _RUST,
        functions={
            "reqwest.get": Request("GET"),
            "blocking.get": Request("GET"),
            **{f"reqwest.Client.new().{verb}": Request(verb.upper()) for verb in _VERBS},
            **{f"Client.new().{verb}": Request(verb.upper()) for verb in _VERBS},
        },
        types=frozenset({"reqwest.Client", "Client", "ClientWithMiddleware", "reqwest.blocking.Client"}),
        methods={**requested("{}", _VERBS), "request": Request(url=1, method=0)},
        receivers=frozenset({"client", "http_client", "http"}),
        markers=(b"reqwest",),
    ),
)
