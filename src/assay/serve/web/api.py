"""The HTTP API: what can be asked, as a table. Answers are what the commands print with `--format json`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay import __version__
from assay.api import Repository
from assay.core.items import KINDS
from assay.errors import AssayError
from assay.evaluate.compare import compare_runs, comparison_json
from assay.evaluate.summary import listed, told
from assay.pack.questions import Task
from assay.serve import json_answers
from assay.serve.watch import Resident
from assay.serve.watch.keeper import NAMES as STATES
from assay.serve.web.bench import Bench, glimpse
from assay.serve.web.parameters import Parameter
from assay.store.index import NoIndex, UnusableIndex
from assay.text.tokens import LONGEST_TASK

Values = dict[str, Any]
Answer = Callable[[Bench, Values], "Values | str"]  # text is JSON already

_MOST_RESULTS = 1000
PLACES = "places"  # a list of what stands in files
REPOSITORIES = "repositories"  # a list with what there is to tell of each
_TASK = Parameter("task", "what you want to understand or change, in words", required=True, longest=LONGEST_TASK)
_PROFILE = Parameter("profile", "how to rank: a profile of assay, or of assay.toml")
_FILTERS = (
    Parameter("path", "only files that match: docs/, *.md, src/app.py", several=True),
    Parameter("language", "only this language, or format of documents", several=True),
    Parameter(
        "kind",
        "only passages of documents (passage), or definitions of a kind",
        choices=("passage", *sorted(KINDS - {"file"})),
        several=True,
    ),
    Parameter("documents_only", "only passages of documents", bool, default=False),
    Parameter("code_only", "only definitions of code", bool, default=False),
)
_LIMIT = Parameter("limit", "at most so many", int, default=100, least=1, most=10_000)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One question. `has` are the keys of every answer, with what they are; `several` those over several repositories, if they are others."""

    path: str
    about: str
    answer: Answer
    parameters: tuple[Parameter, ...] = ()
    has: tuple[tuple[str, str], ...] = ()
    several: tuple[tuple[str, str], ...] = ()
    long: bool = False  # may also be sent as the body of a POST

    @property
    def methods(self) -> list[str]:
        return ["GET", "POST"] if self.long else ["GET"]


def context(bench: Bench, values: Values) -> Values | str:
    task, k, budget = values["task"], values["k"], values["budget"]
    try:
        with bench.using() as repo:
            asked = Task(repo, values["profile"], "json", k, budget, task)
            text = bench.remembered(repo, asked.key(), lambda: (asked.answer().render(),))[0]
            return _told(bench, repo, json.loads(text)) if bench.without(repo) else text
    except (NoIndex, UnusableIndex):
        return glimpse(bench, task, k, budget).render()


def why(bench: Bench, values: Values) -> Values:
    with bench.using() as repo:
        found = repo.why(values["task"], values["symbol"], values["k"], profile=values["profile"])
        profile = repo.configuration.profile(values["profile"]).name
        return _told(bench, repo, json_answers.why(values["task"], profile, found))


def search(bench: Bench, values: Values) -> Values:
    with bench.searching() as repo:
        settings = repo.configuration.search.but(k=values["k"])
        found = repo.search(values["query"], settings.k, **_confined(values))
        return _told(bench, repo, json_answers.search(values["query"], settings, repo.freshness().fresh, found))


def ask(bench: Bench, values: Values) -> Values:
    """A model writes the answer only if assay.toml names one: no request says whom this server talks to."""
    with bench.searching() as repo:
        reply = repo.ask(values["question"], threshold=values["threshold"], **_confined(values))
        return _told(bench, repo, json_answers.ask(reply, repo.freshness().fresh))


def _told(bench: Bench, repo: Repository, answer: Values) -> Values:
    """An answer; over several repositories it says which it is without, because they have no index (yet)."""
    without = bench.without(repo)
    if not without:
        return answer
    return answer | {"without": without} | ({"fresh": False} if "fresh" in answer else {})


def _confined(values: Values) -> Values:
    """What a search is confined to."""
    if values["documents_only"] and values["code_only"]:
        raise AssayError("documents_only and code_only leave nothing to search; give one of them")
    return {
        "paths": values["path"],
        "languages": values["language"],
        "kinds": values["kind"],
        "documents": not values["code_only"],
        "code": not values["documents_only"],
    }


def impact(bench: Bench, values: Values) -> Values:
    with bench.using() as repo:
        found = repo.impact(
            values["symbol"],
            depth=values["depth"],
            min_confidence=values["min_confidence"],
            everything=values["all"],
        )
        return _told(bench, repo, json_answers.impact(repo.symbol(values["symbol"]), found, values["limit"]))


def symbols(bench: Bench, values: Values) -> Values:
    with bench.using() as repo:
        found = repo.symbols(values["pattern"], kind=values["kind"])
        return _told(bench, repo, json_answers.symbols(values["pattern"], found, values["limit"]))


def status(bench: Bench, values: Values) -> Values:
    """Of several a list: what each is, also of those that have no index."""
    if not bench.several:
        with bench.using() as repo:
            return json_answers.status(repo)
    rows = [_status(label, one) for label, one in bench.members.items()]
    return {"repositories": rows, "ignored_settings": bench.ignored_settings}


def _status(label: str, one: Resident) -> Values:
    told = {"repository": label, "root": str(one.root), "state": one.state.name, "why": one.state.why}
    try:
        with one.using() as repo:
            return told | json_answers.status(repo)
    except (NoIndex, UnusableIndex):
        one.look()
        return told | {"fresh": False}


def runs(bench: Bench, values: Values) -> Values:
    if not bench.has_runs:
        return {"runs": []}
    with bench.runs() as store:
        return {"runs": listed(store)[-values["limit"] :]}


def run(bench: Bench, values: Values) -> Values:
    with bench.runs() as store:
        return told(store, store.find(values["run"]), None)


def compare(bench: Bench, values: Values) -> Values:
    with bench.runs() as store:
        a, b = store.find(values["a"]), store.find(values["b"])
        texts = {query.id: query.text for query in store.golden(b).queries}
        return comparison_json(compare_runs(store, a, b, force=values["force"]), texts)


def sweeps(bench: Bench, values: Values) -> Values:
    return {"sweeps": bench.sweeps()}


def sweep(bench: Bench, values: Values) -> Values:
    return bench.sweep(values["sweep"])


ENDPOINTS = (
    Endpoint(
        "/api/context",
        "The symbols a task needs, best first, packed into a budget of tokens (`assay context`).",
        context,
        (
            _TASK,
            Parameter("k", "at most so many items", int, least=1, most=_MOST_RESULTS),
            Parameter("budget", "at most so many tokens", int, least=0, most=1_000_000),
            _PROFILE,
        ),
        (("items", PLACES), ("tokens", "integer"), ("fresh", "boolean")),
        long=True,
    ),
    Endpoint(
        "/api/why",
        "Why a symbol stands where it stands for a task, or where it was lost (`assay why`).",
        why,
        (
            _TASK,
            Parameter("symbol", "the name of a symbol, as you would write it", required=True),
            Parameter("k", "how many results count as the answer", int, default=10, least=1, most=_MOST_RESULTS),
            _PROFILE,
        ),
        (("task", "string"), ("profile", "string"), ("explanations", PLACES)),
        long=True,
    ),
    Endpoint(
        "/api/search",
        "Passages of documents and definitions of code for a query, with places to cite (`assay search`).",
        search,
        (
            Parameter("query", "what is sought, in words", required=True, longest=LONGEST_TASK),
            Parameter("k", "at most so many results", int, least=1, most=_MOST_RESULTS),
            *_FILTERS,
        ),
        (("query", "string"), ("fresh", "boolean"), ("results", PLACES)),
        long=True,
    ),
    Endpoint(
        "/api/ask",
        "An answer with citations, or a refusal that says what was searched (`assay ask`).",
        ask,
        (
            Parameter("question", "a question, in words", required=True, longest=LONGEST_TASK),
            Parameter("threshold", "refuse when less sure than this", float, least=0, most=1),
            *_FILTERS,
        ),
        (("question", "string"), ("answer", "string"), ("grounded", "boolean"), ("citations", PLACES)),
        long=True,
    ),
    Endpoint(
        "/api/impact",
        "Who would notice if a symbol changed: its transitive callers (`assay impact`).",
        impact,
        (
            Parameter("symbol", "the name of a symbol, as you would write it", required=True),
            Parameter("depth", "how many steps to follow", int, default=5, least=1, most=100),
            Parameter("min_confidence", "leave out what is less sure", float, default=0.1, least=0, most=1),
            Parameter("all", "follow types, fields and inheritance too", bool, default=False),
            _LIMIT,
        ),
        (("symbols", PLACES), ("total", "integer"), ("affected", PLACES)),
    ),
    Endpoint(
        "/api/symbols",
        "Symbols by a name, a pattern (`*Handler`) or a part of a name (`assay symbols`).",
        symbols,
        (
            Parameter("pattern", "a name, a pattern or a part of a name", required=True),
            Parameter("kind", "only symbols of this kind: function, method, class, …"),
            _LIMIT,
        ),
        (("pattern", "string"), ("total", "integer"), ("symbols", PLACES)),
    ),
    Endpoint(
        "/api/status",
        "What is indexed, how well calls were resolved, and whether it is fresh (`assay status`).",
        status,
        (),
        (("root", "string"), ("files", "integer"), ("languages", "object"), ("fresh", "boolean")),
        (("repositories", REPOSITORIES),),
    ),
    Endpoint(
        "/api/runs",
        "The stored runs, oldest first (`assay eval list`).",
        runs,
        (_LIMIT,),
        (("runs", "array"),),
    ),
    Endpoint(
        "/api/run",
        "One stored run with every query (`assay eval show`).",
        run,
        (Parameter("run", "its id, a beginning of it, its label, latest or latest~1", default="latest"),),
        (("run_id", "string"), ("metrics", "object"), ("queries", "array")),
    ),
    Endpoint(
        "/api/compare",
        "What changed from run a to run b, and whether it is more than chance (`assay eval compare`).",
        compare,
        (
            Parameter("a", "a run", default="latest~1"),
            Parameter("b", "a later run", default="latest"),
            Parameter("force", "compare what two golden sets share, with a warning", bool, default=False),
        ),
        (("run_a", "string"), ("run_b", "string"), ("per_query", "array")),
    ),
    Endpoint("/api/sweeps", "The sweeps that were saved, the newest first.", sweeps, (), (("sweeps", "array"),)),
    Endpoint(
        "/api/sweep",
        "One sweep (`assay eval sweep`).",
        sweep,
        (Parameter("sweep", "its id", required=True),),
        (("sweep_id", "string"), ("reports", "array")),
    ),
)


# The OpenAPI 3.1 description of the API, made of the table that it is checked by.

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
