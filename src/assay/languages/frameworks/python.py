"""Frameworks and clients of Python."""

from __future__ import annotations

from assay.languages.frameworks import Client, Framework, Registration, Request, decorated, requested

_PYTHON = ("python",)
_METHODS = {**requested("{}"), "request": Request(url=1, method=0)}

FLASK = Framework(
    "flask",
    _PYTHON,
    decorators={**decorated("{}"), "route": ""},
    calls={"add_url_rule": Registration(handler=2, handler_keyword="view_func")},
    mounts={"register_blueprint": 0},
    prefixes=frozenset({"url_prefix"}),
    groups=frozenset({"Blueprint"}),
    path_keywords=("rule",),
    method_keywords=("methods",),
)
FASTAPI = Framework(
    "fastapi",
    _PYTHON,
    markers=(b"fastapi", b"starlette", b"APIRouter"),
    decorators={**decorated("{}"), "api_route": "", "websocket": "", "trace": "TRACE"},
    calls={
        "add_api_route": Registration(handler=1, handler_keyword="endpoint"),
        "add_route": Registration(handler=1),
        "Route": Registration(handler=1, handler_keyword="endpoint"),
    },
    scopes=frozenset({"Mount"}),
    mounts={"include_router": 0},
    prefixes=frozenset({"prefix"}),
    groups=frozenset({"APIRouter"}),
    path_keywords=("path",),
    method_keywords=("methods",),
)
DJANGO = Framework(
    "django",
    _PYTHON,
    markers=(b"django", b"rest_framework"),
    calls={
        **dict.fromkeys(("path", "re_path", "url"), Registration(handler=1, any_path=True)),
        "register": Registration(handler=1, any_path=True),
    },
    scopes=frozenset({"path", "re_path", "url"}),
    includes="include",
    decorators={"action": ""},
    action_decorators=frozenset({"action"}),
    path_keywords=("url_path",),
    method_keywords=("methods",),
    not_routers=frozenset({"admin", "site", "library", "registry", "checks", "signals"}),
)
AIOHTTP_SERVER = Framework(
    "aiohttp.web",
    _PYTHON,
    markers=(b"aiohttp",),
    calls={
        **{f"add_{verb}": Registration(verb.upper(), handler=1) for verb in ("get", "post", "put", "delete", "patch")},
        "add_route": Registration(path=1, handler=2, method=0),
        **{verb: Registration(verb.upper(), handler=1) for verb in ("get", "post", "put", "delete", "patch")},
    },
)
FRAMEWORKS = (FLASK, FASTAPI, DJANGO, AIOHTTP_SERVER)

REQUESTS = Client(
    "requests",
    _PYTHON,
    functions={**{f"requests.{name}": row for name, row in _METHODS.items()}},
    types=frozenset({"requests.Session", "requests.session", "Session", "FuturesSession"}),
    methods=_METHODS,
    markers=(b"requests",),
    url_keywords=("url",),
    method_keywords=("method",),
)
HTTPX = Client(
    "httpx",
    _PYTHON,
    relative=True,
    functions={f"httpx.{name}": row for name, row in {**_METHODS, "stream": Request(url=1, method=0)}.items()},
    types=frozenset({"httpx.Client", "httpx.AsyncClient", "AsyncClient"}),
    methods={**_METHODS, "stream": Request(url=1, method=0), "build_request": Request(url=1, method=0)},
    bases=frozenset({"base_url"}),
    markers=(b"httpx",),
    url_keywords=("url",),
    method_keywords=("method",),
)
AIOHTTP = Client(
    "aiohttp",
    _PYTHON,
    relative=True,
    functions={"aiohttp.request": Request(url=1, method=0)},
    types=frozenset({"aiohttp.ClientSession", "ClientSession"}),
    methods={**_METHODS, "ws_connect": Request("GET")},
    bases=frozenset({"base_url"}),
    markers=(b"aiohttp",),
    receivers=frozenset({"session", "http_session", "client_session"}),
    url_keywords=("url",),
    method_keywords=("method",),
)
URLLIB = Client(
    "urllib",
    _PYTHON,
    functions={"request.urlopen": Request("GET"), "urlopen": Request("GET"), "urllib.request.Request": Request()},
    markers=(b"urllib",),
    method_keywords=("method",),
)
# test clients of Flask, Django, FastAPI: fixtures named `client`, `self.client`, `c = Client()`
TEST_CLIENTS = Client(
    "test clients",
    _PYTHON,
    types=frozenset({"TestClient", "APIClient", "Client", "test_client"}),
    methods=requested("{}", path_only=True),
    receivers=frozenset({"client", "api_client", "test_client", "app_client", "async_client", "http_client"}),
    url_keywords=("path", "url"),
)
CLIENTS = (REQUESTS, HTTPX, AIOHTTP, URLLIB, TEST_CLIENTS)
