"""The OpenAPI 3.1 description of the API, made of the table that it is checked by."""

from __future__ import annotations

from typing import Any

from assay import __version__
from assay.live.state import NAMES as STATES
from assay.serve.api import ENDPOINTS, PLACES, REPOSITORIES, Endpoint
from assay.serve.parameters import Parameter

_ERRORS = {
    "400": "Something in the request does not fit; the line says what.",
    "401": "The server demands a token.",
    "403": "The Host or Origin is not that of this server.",
    "404": "There is no such symbol, run or sweep; the line offers the nearest.",
    "409": "Two runs that cannot be compared.",
    "413": "The body is too large.",
    "431": "The head of the request is too large; long texts may be posted.",
    "503": "The index is not there yet, or too many requests at once.",
    "504": "It took too long.",
}
_LABEL = {
    "type": "string",
    "description": "The label of its repository, where several are served; its path and id begin with it.",
}
_KINDS: dict[str, dict[str, Any]] = {
    PLACES: {"type": "array", "items": {"$ref": "#/components/schemas/Place"}},
    REPOSITORIES: {"type": "array", "items": {"$ref": "#/components/schemas/Repository"}},
}
_WITHOUT = {
    "type": "object",
    "additionalProperties": {"type": "string"},
    "description": "Where several are served: repositories that the answer is without, by label, and how far their index is.",
}
_SCHEMAS = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {"error": {"type": "string", "description": "One clear line."}},
    },
    "Place": {
        "type": "object",
        "required": ["path", "start", "end"],
        "properties": {
            "id": {"type": "string"},
            "path": {"type": "string"},
            "start": {"type": "integer", "description": "Its first line."},
            "end": {"type": "integer", "description": "Its last line."},
            "repository": _LABEL,
        },
    },
    "Repository": {
        "type": "object",
        "required": ["repository", "root", "state", "fresh"],
        "properties": {
            "repository": _LABEL,
            "root": {"type": "string"},
            "state": {"enum": list(STATES), "description": "What its index is."},
            "why": {"type": "string", "description": "Why it failed, or what it waits for."},
            "fresh": {"type": "boolean"},
        },
    },
}


def description() -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "assay",
            "version": __version__,
            "description": "Find the code and documents a task needs, and measure how well that was done. Answers are what the commands print "
            "with --format json.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": {one.path: _operations(one) for one in ENDPOINTS},
        "security": [{}, {"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _SCHEMAS,
        },
    }


def _operations(one: Endpoint) -> dict[str, Any]:
    name = one.path.removeprefix("/api/")
    shared = {"summary": one.about, "responses": _responses(one)}
    get = {"operationId": name, **shared, "parameters": [_query(parameter) for parameter in one.parameters]}
    if not one.long:
        return {"get": get}
    body = {"required": True, "content": {"application/json": {"schema": _body(one)}}}
    return {"get": get, "post": {"operationId": f"{name}_posted", **shared, "requestBody": body}}


def _query(parameter: Parameter) -> dict[str, Any]:
    described = {
        "name": parameter.name,
        "in": "query",
        "description": parameter.about,
        "required": parameter.required,
        "schema": parameter.schema,
    }
    return described | ({"style": "form", "explode": True} if parameter.several else {})


def _body(one: Endpoint) -> dict[str, Any]:
    return {
        "type": "object",
        "required": [parameter.name for parameter in one.parameters if parameter.required],
        "properties": {parameter.name: parameter.schema for parameter in one.parameters},
        "additionalProperties": False,
    }


def _answer(has: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    without = {"without": _WITHOUT} if any(kind == PLACES for _, kind in has) else {}
    return {
        "type": "object",
        "required": [name for name, _ in has],
        "properties": {name: _KINDS.get(kind, {"type": kind}) for name, kind in has} | without,
    }


def _responses(one: Endpoint) -> dict[str, Any]:
    schema = {"oneOf": [_answer(one.has), _answer(one.several)]} if one.several else _answer(one.has)
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "200": {"description": "The answer.", "content": {"application/json": {"schema": schema}}},
        **{status: {"description": about, "content": error} for status, about in _ERRORS.items()},
    }
