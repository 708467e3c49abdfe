"""Frameworks and clients of Ruby. Routes of Rails have a grammar of their own: `index/extract/services/rails.py`."""

from __future__ import annotations

from assay.languages.frameworks import BLOCK, Client, Framework, Request, by_verb, requested

_RUBY = ("ruby",)
_VERBS = ("get", "post", "put", "delete", "patch", "head", "options")

SINATRA = Framework("sinatra", _RUBY, calls=by_verb(("{}",), _VERBS, handler=BLOCK), scopes=frozenset({"namespace"}))
RAILS = Framework("rails", _RUBY, names=frozenset({"resources", "resource", "namespace", "draw", "root"}))
FRAMEWORKS = (SINATRA, RAILS)

_METHODS = requested("{}", _VERBS)
CLIENTS = (
    Client(
        "Faraday",
        _RUBY,
        functions={f"Faraday.{verb}": row for verb, row in _METHODS.items()},
        types=frozenset({"Faraday.new", "Faraday.Connection"}),
        methods=_METHODS,
        receivers=frozenset({"connection", "conn", "faraday"}),
        bases=frozenset({"url"}),
        markers=(b"Faraday", b"faraday"),
    ),
    Client(
        "Net::HTTP",
        _RUBY,
        functions={
            "HTTP.get": Request("GET"),
            "HTTP.get_response": Request("GET"),
            "HTTP.post": Request("POST"),
            "HTTP.post_form": Request("POST"),
            **{f"HTTP.{verb.capitalize()}": Request(verb.upper()) for verb in _VERBS},
        },
        types=frozenset({"Net.HTTP", "HTTP", "HTTP.start"}),
        methods=_METHODS,
        markers=(b"HTTP",),
    ),
    Client(
        "HTTParty, RestClient",
        _RUBY,
        functions={
            f"{name}.{verb}": row
            for name in ("HTTParty", "RestClient", "Typhoeus", "Excon")
            for verb, row in _METHODS.items()
        },
    ),
    Client(
        "HTTParty classes",
        _RUBY,
        functions={f"{name}.{verb}": row for name in ("self.class",) for verb, row in _METHODS.items()},
        markers=(b"include HTTParty",),
    ),
)
