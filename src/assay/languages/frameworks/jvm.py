"""Frameworks and clients of Java and Kotlin."""

from __future__ import annotations

from assay.languages.frameworks import Client, Framework, Request, decorated

_JVM = ("java", "kotlin")
_VERBS = ("get", "post", "put", "delete", "patch")

SPRING = Framework(
    "spring",
    _JVM,
    decorators={**decorated("{C}Mapping", _VERBS), "RequestMapping": "", **decorated("{C}Exchange", _VERBS)},
    class_decorators=frozenset({"RequestMapping", "HttpExchange"}),
    bare_decorators=True,
    slashless=True,
    client_classes=frozenset({"FeignClient", "HttpExchange"}),
    path_keywords=("value", "path"),
    method_keywords=("method",),
)
JAX_RS = Framework(
    "jax-rs",
    _JVM,
    markers=(b"javax.ws.rs", b"jakarta.ws.rs"),
    method_decorators=decorated("{U}", (*_VERBS, "head", "options")),
    decorators={"Path": ""},
    class_decorators=frozenset({"Path"}),
    slashless=True,
    client_classes=frozenset({"RegisterRestClient"}),
    path_keywords=("value",),
)
FRAMEWORKS = (SPRING, JAX_RS)

_TEMPLATE = {
    "getForObject": "GET", "getForEntity": "GET", "postForObject": "POST", "postForEntity": "POST",
    "postForLocation": "POST", "patchForObject": "PATCH", "headForHeaders": "HEAD", "optionsForAllow": "OPTIONS",
}  # fmt: skip
CLIENTS = (
    Client(
        "RestTemplate",
        _JVM,
        types=frozenset({"RestTemplate", "TestRestTemplate", "RestOperations"}),
        methods={
            **{name: Request(verb) for name, verb in _TEMPLATE.items()},
            "exchange": Request(method=1),
            "put": Request("PUT"),
            "delete": Request("DELETE"),
        },
        receivers=frozenset({"resttemplate"}),
    ),
    Client(
        "WebClient",
        _JVM,
        verb_after={"uri": 0},
        markers=(b"WebClient", b"RestClient", b"WebTestClient", b"HttpRequest"),
    ),
    Client(
        "MockMvc",
        _JVM,
        functions={
            **{verb: Request(verb.upper(), path_only=True) for verb in _VERBS},
            **{f"MockMvcRequestBuilders.{verb}": Request(verb.upper()) for verb in _VERBS},
        },
        markers=(b"MockMvc",),
    ),
)
