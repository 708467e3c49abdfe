"""Frameworks and clients of JavaScript and TypeScript."""

from __future__ import annotations

from assay.languages.frameworks import Client, Framework, Registration, Request, by_verb, decorated, requested

_LANGUAGES = ("javascript", "typescript", "tsx")
_VERBS = ("get", "post", "put", "delete", "patch", "head", "options")
# objects with the methods of a router that serve nothing: clients and stubs of tests
_STUBS = frozenset(
    {"axios", "$", "jquery", "cy", "nock", "http", "rest", "mock", "msw", "request", "supertest", "cache"}
)

EXPRESS = Framework(
    "express",
    _LANGUAGES,
    calls={
        **by_verb(("{}",), _VERBS),
        "all": Registration(),
        "del": Registration("DELETE"),
    },
    groups=frozenset({"route"}),
    mounts={"use": 1, "register": 0},
    prefixes=frozenset({"prefix"}),
    not_routers=_STUBS,
)
HONO = Framework(
    "hono",
    _LANGUAGES,
    markers=(b"hono",),
    calls={"on": Registration(path=1, method=0)},
    groups=frozenset({"basePath"}),
    mounts={"route": 1},
    not_routers=_STUBS,
)
NEST = Framework(
    "nestjs",
    _LANGUAGES,
    markers=(b"@nestjs/",),
    decorators={**decorated("{C}", _VERBS), "All": "", "Sse": "GET"},
    class_decorators=frozenset({"Controller"}),
    bare_decorators=True,
    slashless=True,
    path_keywords=("path",),
)
FRAMEWORKS = (EXPRESS, HONO, NEST)

FETCH = Client(
    "fetch",
    _LANGUAGES,
    functions={name: Request("GET") for name in ("fetch", "$fetch", "ofetch", "fetchWithAuth", "authFetch")},
    method_keywords=("method",),
)
_AXIOS = {
    **requested("{}", _VERBS),
    **{f"{verb}Form": Request(verb.upper()) for verb in ("post", "put", "patch")},
    "request": Request("GET"),
}
AXIOS = Client(
    "axios",
    _LANGUAGES,
    relative=True,
    functions={
        **{f"{name}.{verb}": row for name in ("axios", "$axios") for verb, row in _AXIOS.items()},
        "axios": Request("GET"),
    },
    types=frozenset({"axios.create", "Axios.create", "AxiosInstance", "ky.create", "ky.extend", "got.extend"}),
    methods=_AXIOS,
    bases=frozenset({"baseURL", "prefixUrl"}),
    url_keywords=("url",),
    method_keywords=("method",),
)
KY = Client(
    "ky, got, superagent",
    _LANGUAGES,
    functions={f"{name}.{verb}": Request(verb.upper()) for name in ("ky", "got", "superagent") for verb in _VERBS},
    markers=(b"ky", b"got", b"superagent"),
)
ANGULAR = Client(
    "angular",
    _LANGUAGES,
    types=frozenset({"HttpClient", "HttpService"}),
    methods={**requested("{}", _VERBS), "request": Request(url=1, method=0)},
    markers=(b"HttpClient", b"HttpService"),
)
JQUERY = Client(
    "jquery",
    _LANGUAGES,
    functions={
        "$.get": Request("GET"), "$.post": Request("POST"), "$.getJSON": Request("GET"), "$.ajax": Request("GET"),
        "jQuery.get": Request("GET"), "jQuery.post": Request("POST"), "jQuery.ajax": Request("GET"),
    },
    url_keywords=("url",),
    method_keywords=("method", "type"),
)  # fmt: skip
# client objects made in another file, and test clients (supertest): only with a path, and without a handler
INSTANCES = Client(
    "client objects",
    _LANGUAGES,
    relative=True,
    types=frozenset({"supertest", "request.agent", "supertest.agent"}),
    methods=requested("{}", _VERBS, path_only=True),
    receivers=frozenset({
        "api", "apiclient", "http", "httpclient", "axiosinstance", "axiosclient", "$http", "instance", "axios",
        "restclient", "client", "request()", "supertest()",
    }),
)  # fmt: skip
CLIENTS = (FETCH, AXIOS, KY, ANGULAR, JQUERY, INSTANCES)
