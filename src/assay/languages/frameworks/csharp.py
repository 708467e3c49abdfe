"""Frameworks and clients of C#."""

from __future__ import annotations

from assay.languages.frameworks import Client, Framework, Registration, Request, by_verb, decorated

_CSHARP = ("csharp",)
_VERBS = ("get", "post", "put", "delete", "patch")

ASP_NET = Framework(
    "asp.net",
    _CSHARP,
    decorators={**decorated("Http{C}", (*_VERBS, "head", "options")), "Route": ""},
    class_decorators=frozenset({"Route"}),
    bare_decorators=True,
    slashless=True,
    absolute_paths=True,
    calls={
        **by_verb(("Map{C}",), _VERBS, handler=1, any_path=True),
        "Map": Registration(handler=1),
        "MapMethods": Registration(handler=2),
    },
    groups=frozenset({"MapGroup"}),
)
FRAMEWORKS = (ASP_NET,)

_SUFFIXES = {
    "GetAsync": "GET", "GetStringAsync": "GET", "GetStreamAsync": "GET", "GetByteArrayAsync": "GET",
    "GetFromJsonAsync": "GET", "GetFromJsonAsAsyncEnumerable": "GET",
    "PostAsync": "POST", "PostAsJsonAsync": "POST", "PutAsync": "PUT", "PutAsJsonAsync": "PUT",
    "PatchAsync": "PATCH", "PatchAsJsonAsync": "PATCH", "DeleteAsync": "DELETE", "DeleteFromJsonAsync": "DELETE",
}  # fmt: skip
CLIENTS = (
    Client(
        "HttpClient",
        _CSHARP,
        relative=True,
        functions={"HttpRequestMessage": Request("GET", url=1, method=0)},
        types=frozenset({"HttpClient", "CreateClient", "CreateHttpClient", "CreateDefaultClient"}),
        methods={name: Request(verb) for name, verb in _SUFFIXES.items()},
        receivers=frozenset({"client", "httpclient", "http", "_httpclient", "_client", "_http"}),
    ),
)
