"""HTTP API: the table of endpoints, which answer like `--format json` of the commands, and its OpenAPI description."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from assay import __version__
from assay.api import Repository
from assay.errors import AssayError
from assay.evaluate.compare import compare_runs
from assay.evaluate.comparison_json import comparison_json
from assay.evaluate.scores import list_runs, run_json
from assay.pack.questions import Task
from assay.serve import json_answers, requests
from assay.serve.requests import Parameter, Request, parameters
from assay.serve.watch import Resident
from assay.serve.watch.keeper import FRESH, MISSING, State
from assay.serve.watch.keeper import NAMES as STATES
from assay.serve.web.bench import Bench, Registration, context_without_index
from assay.store.index import NoIndex, UnusableIndex

Values = dict[str, Any]
Answer = Callable[[Bench, Any], "Values | str"]  # a string is encoded JSON

PLACES = "places"  # schema kind: list of file locations
REPOSITORIES = "repositories"  # schema kind: list of repository states


@dataclass(frozen=True, slots=True)
class Endpoint:
    """API endpoint. `has`: answer keys with schema kinds; `multi_repo`: those for several repositories, if different."""

    path: str
    about: str
    answer: Answer
    takes: type[Request] = Request
    has: tuple[tuple[str, str], ...] = ()
    multi_repo: tuple[tuple[str, str], ...] = ()
    long: bool = False  # parameters may also be sent as a JSON body (POST)
    changes: bool = False  # only POST
    role: str = "read"  # that a token needs

    @property
    def methods(self) -> list[str]:
        return ["POST"] if self.changes else ["GET", "POST"] if self.long else ["GET"]


def context(bench: Bench, request: requests.ContextQuery) -> Values | str:
    task, k, budget = request.task, request.k, request.budget
    try:
        with bench.using() as repo:
            question = Task(repo, request.profile, "json", k, budget, task)
            return _remembered(bench, repo, question.key(), lambda: question.answer().render())
    except (NoIndex, UnusableIndex):
        return context_without_index(bench, task, k, budget).render()


def why(bench: Bench, request: requests.WhyQuery) -> Values:
    with bench.using() as repo:
        explanations = repo.why(request.task, request.symbol, request.k, profile=request.profile)
        profile = repo.configuration.profile(request.profile).name
        return _with_missing(bench, repo, json_answers.why(request.task, profile, explanations))


def search(bench: Bench, request: requests.SearchQuery) -> Values | str:
    with bench.searching() as repo:
        settings = repo.configuration.search.but(k=request.k)

        def answer() -> str:
            results = repo.search(request.query, settings.k, **request.arguments())
            return _encoded(json_answers.search(request.query, settings, json_answers.index_state(repo), results))

        return _remembered(bench, repo, ("search", request, settings), answer)


def ask(bench: Bench, request: requests.AskQuery) -> Values:
    """Answer a question. The model comes from assay.toml only: a request cannot choose a server to contact."""
    with bench.searching() as repo:
        reply = repo.ask(request.question, threshold=request.threshold, **request.arguments())
        return _with_missing(bench, repo, json_answers.ask(reply, json_answers.index_state(repo)))


def _remembered(bench: Bench, repo: Repository, question: Iterable[object], answer: Callable[[], str]) -> Values | str:
    """Return an answer from the cache, or make and cache it; with `without` if repositories are left out."""
    [text] = bench.remembered(repo, question, lambda: (answer(),))
    return _with_missing(bench, repo, json.loads(text)) if bench.without(repo) else text


def _encoded(answer: Values) -> str:
    return msgspec.json.encode(answer).decode()


def _with_missing(bench: Bench, repo: Repository, answer: Values) -> Values:
    """Add `without` to an answer: the repositories left out because they have no index yet."""
    without = bench.without(repo)
    if not without:
        return answer
    return answer | {"without": without} | ({"fresh": False} if "fresh" in answer else {})


def impact(bench: Bench, request: requests.ImpactQuery) -> Values:
    with bench.using() as repo:
        dependents = repo.impact(
            request.symbol,
            depth=request.depth,
            min_confidence=request.min_confidence,
            everything=request.all,
        )
        around = repo.surroundings(request.symbol, [dependent.item for dependent in dependents])
        answer = json_answers.impact(repo, repo.symbol(request.symbol), dependents, request.limit, around)
        return _with_missing(bench, repo, answer)


def symbols(bench: Bench, request: requests.SymbolsQuery) -> Values:
    with bench.using() as repo:
        matches = repo.symbols(request.pattern, kind=request.kind)
        return _with_missing(bench, repo, json_answers.symbols(request.pattern, matches, request.limit))


def status(bench: Bench, request: Request) -> Values | str:
    """Return the status of a repository, or a list for several, including those without an index."""
    if not bench.multi_repo:
        with bench.using() as repo:
            return _remembered(bench, repo, ("status",), lambda: _encoded(json_answers.status(repo)))
    rows = [_repository_status(label, member) for label, member in bench.members.items()]
    return {"repositories": rows, "ignored_settings": bench.ignored_settings}


def _repository_status(label: str, resident: Resident) -> Values:
    fields = {"repository": label, "root": str(resident.root), "state": resident.state.name, "why": resident.state.why}
    try:
        with resident.using() as repo:
            return fields | json_answers.status(repo)
    except (NoIndex, UnusableIndex):
        resident.look()
        return fields | {"fresh": False}


def runs(bench: Bench, request: requests.RunsQuery) -> Values:
    if not bench.has_runs:
        return {"runs": []}
    with bench.runs() as store:
        return {"runs": list_runs(store)[-request.limit :]}


def run(bench: Bench, request: requests.RunQuery) -> Values:
    with bench.runs() as store:
        return run_json(store, store.find(request.run), None)


def compare(bench: Bench, request: requests.CompareQuery) -> Values:
    with bench.runs() as store:
        a, b = store.find(request.a), store.find(request.b)
        texts = {query.id: query.text for query in store.golden(b).queries}
        return comparison_json(compare_runs(store, a, b, force=request.force), texts)


def sweeps(bench: Bench, request: Request) -> Values:
    return {"sweeps": bench.sweeps()}


def sweep(bench: Bench, request: requests.SweepQuery) -> Values:
    return bench.sweep(request.sweep)


def audit(bench: Bench, request: requests.AuditQuery) -> Values:
    if bench.audit is None:
        return {"entries": [], "refused": []}
    return {"entries": bench.audit.tail(request.limit), "refused": bench.audit.tail(request.limit, refused=True)}


def refresh(bench: Bench, request: Request) -> Values:
    """Have every index updated, in the background."""
    for resident in bench.members.values():
        resident.look()
    return {"repositories": [str(resident.root) for resident in bench.members.values()]}


def repositories(bench: Bench, request: Request) -> Values:
    """List the served repositories, those included that were registered a moment ago."""
    roots = {label: member.root for label, member in bench.members.items()}
    if bench.registration:
        roots = {root.label: root.path for root in bench.registration.registry.all()}
    rows = []
    for label, root in roots.items():
        member = bench.members.get(label)
        state = member.state if member else State(MISSING)
        row = {"repository": label, "root": str(root), "state": state.name, "why": state.why}
        rows.append(row | {"fresh": state.name == FRESH})
    return {"repositories": rows}


def register(bench: Bench, request: requests.RegisterCommand) -> Values:
    """Register a repository inside a folder that the operator allows."""
    registration = _registration(bench)
    root = registration.registry.add(request.path, request.label, registration.allowed)
    registration.changed()
    return {"repository": root.label, "root": str(root.path)}


def unregister(bench: Bench, request: requests.UnregisterCommand) -> Values:
    registration = _registration(bench)
    root = registration.registry.remove(request.label)
    registration.changed()
    return {"repository": root.label, "root": str(root.path)}


def _registration(bench: Bench) -> Registration:
    if bench.registration is None:
        raise AssayError("this server was started with its repositories; assay serve --registered takes new ones")
    return bench.registration


ENDPOINTS = (
    Endpoint(
        "/api/context",
        "The symbols a task needs, best first, packed into a budget of tokens (`assay context`).",
        context,
        requests.ContextQuery,
        (("items", PLACES), ("tokens", "integer"), ("fresh", "boolean")),
        long=True,
    ),
    Endpoint(
        "/api/why",
        "Explain the rank of a symbol for a task, or the step that dropped it (`assay why`).",
        why,
        requests.WhyQuery,
        (("task", "string"), ("profile", "string"), ("explanations", PLACES)),
        long=True,
    ),
    Endpoint(
        "/api/search",
        "Passages of documents and definitions of code for a query, with places to cite (`assay search`).",
        search,
        requests.SearchQuery,
        (("query", "string"), ("fresh", "boolean"), ("results", PLACES)),
        long=True,
    ),
    Endpoint(
        "/api/ask",
        "An answer with citations, or a refusal that says what was searched (`assay ask`).",
        ask,
        requests.AskQuery,
        (("question", "string"), ("answer", "string"), ("grounded", "boolean"), ("citations", PLACES)),
        long=True,
    ),
    Endpoint(
        "/api/impact",
        "Transitive callers of a symbol: what a change could break (`assay impact`).",
        impact,
        requests.ImpactQuery,
        (("symbols", PLACES), ("total", "integer"), ("affected", PLACES)),
    ),
    Endpoint(
        "/api/symbols",
        "Symbols by a name, a pattern (`*Handler`) or a part of a name (`assay symbols`).",
        symbols,
        requests.SymbolsQuery,
        (("pattern", "string"), ("total", "integer"), ("symbols", PLACES)),
    ),
    Endpoint(
        "/api/status",
        "Index statistics, share of resolved calls, and freshness (`assay status`).",
        status,
        Request,
        (("root", "string"), ("files", "integer"), ("languages", "object"), ("fresh", "boolean")),
        (("repositories", REPOSITORIES),),
    ),
    Endpoint(
        "/api/runs",
        "Stored runs, oldest first (`assay eval list`).",
        runs,
        requests.RunsQuery,
        (("runs", "array"),),
    ),
    Endpoint(
        "/api/run",
        "One stored run with every query (`assay eval show`).",
        run,
        requests.RunQuery,
        (("run_id", "string"), ("metrics", "object"), ("queries", "array")),
    ),
    Endpoint(
        "/api/compare",
        "Differences between run a and run b, with significance tests (`assay eval compare`).",
        compare,
        requests.CompareQuery,
        (("run_a", "string"), ("run_b", "string"), ("per_query", "array")),
    ),
    Endpoint("/api/sweeps", "Stored sweeps, newest first.", sweeps, Request, (("sweeps", "array"),)),
    Endpoint(
        "/api/sweep",
        "One sweep (`assay eval sweep`).",
        sweep,
        requests.SweepQuery,
        (("sweep_id", "string"), ("reports", "array")),
    ),
    Endpoint(
        "/api/audit",
        "The newest requests, newest first: who, endpoint, status, time; and those refused. Needs the role admin.",
        audit,
        requests.AuditQuery,
        (("entries", "array"), ("refused", "array")),
        role="admin",
    ),
    Endpoint(
        "/api/refresh",
        "Update the index in the background. Needs the role admin.",
        refresh,
        Request,
        (("repositories", "array"),),
        changes=True,
        role="admin",
    ),
    Endpoint(
        "/api/repositories",
        "The served repositories and the states of their indexes.",
        repositories,
        Request,
        (("repositories", REPOSITORIES),),
    ),
    Endpoint(
        "/api/register",
        "Register a repository in a folder that the operator allows (`assay repositories add`). Needs the role admin.",
        register,
        requests.RegisterCommand,
        (("repository", "string"), ("root", "string")),
        changes=True,
        role="admin",
    ),
    Endpoint(
        "/api/unregister",
        "Unregister a repository; its index stays (`assay repositories remove`). Needs the role admin.",
        unregister,
        requests.UnregisterCommand,
        (("repository", "string"), ("root", "string")),
        changes=True,
        role="admin",
    ),
)


# OpenAPI 3.1 description, generated from ENDPOINTS

_ERRORS = {
    "400": "Invalid request; the error line gives the reason.",
    "401": "The server requires a token.",
    "403": "The Host or Origin header is not that of this server, or the token's role does not allow this.",
    "404": "No such symbol, run or sweep; the error line suggests the nearest.",
    "409": "The runs cannot be compared.",
    "413": "The body is too large.",
    "431": "The request head is too large; send long texts by POST.",
    "503": "The index is not built yet, or too many requests at once.",
    "504": "The request timed out.",
}
_LABEL_SCHEMA = {
    "type": "string",
    "description": "Repository label, when several are served; paths and ids begin with it.",
}
_SCHEMA_KINDS: dict[str, dict[str, Any]] = {
    PLACES: {"type": "array", "items": {"$ref": "#/components/schemas/Place"}},
    REPOSITORIES: {"type": "array", "items": {"$ref": "#/components/schemas/Repository"}},
}
_WITHOUT_SCHEMA = {
    "type": "object",
    "additionalProperties": {"type": "string"},
    "description": "Repositories left out of the answer, by label, with the progress of their index.",
}
_SCHEMAS = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {"error": {"type": "string", "description": "One-line message."}},
    },
    "Place": {
        "type": "object",
        "required": ["path", "start", "end"],
        "properties": {
            "id": {"type": "string"},
            "path": {"type": "string"},
            "start": {"type": "integer", "description": "First line."},
            "end": {"type": "integer", "description": "Last line."},
            "repository": _LABEL_SCHEMA,
        },
    },
    "Repository": {
        "type": "object",
        "required": ["repository", "root", "state", "fresh"],
        "properties": {
            "repository": _LABEL_SCHEMA,
            "root": {"type": "string"},
            "state": {"enum": list(STATES), "description": "State of its index."},
            "why": {"type": "string", "description": "Reason of a failure or of waiting."},
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
            "description": "Find the code and documents a task needs, and measure retrieval quality. "
            "Answers equal the output of the commands with --format json.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": {endpoint.path: _operations(endpoint) for endpoint in ENDPOINTS},
        "security": [{}, {"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _SCHEMAS,
        },
    }


def _operations(endpoint: Endpoint) -> dict[str, Any]:
    name = endpoint.path.removeprefix("/api/")
    shared = {"summary": endpoint.about, "responses": _responses(endpoint)}
    get = {
        "operationId": name,
        **shared,
        "parameters": [_query_parameter(parameter) for parameter in parameters(endpoint.takes).values()],
    }
    if not (endpoint.long or endpoint.changes):
        return {"get": get}
    body = {"required": True, "content": {"application/json": {"schema": _body_schema(endpoint)}}}
    post = {"operationId": f"{name}_posted", **shared, "requestBody": body}
    return {"post": post} if endpoint.changes else {"get": get, "post": post}


def _query_parameter(parameter: Parameter) -> dict[str, Any]:
    described = {
        "name": parameter.name,
        "in": "query",
        "description": parameter.about,
        "required": parameter.required,
        "schema": parameter.schema,
    }
    return described | ({"style": "form", "explode": True} if parameter.repeated else {})


def _body_schema(endpoint: Endpoint) -> dict[str, Any]:
    fields = parameters(endpoint.takes)
    return {
        "type": "object",
        "required": [name for name, parameter in fields.items() if parameter.required],
        "properties": {name: parameter.schema for name, parameter in fields.items()},
        "additionalProperties": False,
    }


def _answer_schema(has: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    without = {"without": _WITHOUT_SCHEMA} if any(kind == PLACES for _, kind in has) else {}
    return {
        "type": "object",
        "required": [name for name, _ in has],
        "properties": {name: _SCHEMA_KINDS.get(kind, {"type": kind}) for name, kind in has} | without,
    }


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    schema = (
        {"oneOf": [_answer_schema(endpoint.has), _answer_schema(endpoint.multi_repo)]}
        if endpoint.multi_repo
        else _answer_schema(endpoint.has)
    )
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "200": {"description": "The answer.", "content": {"application/json": {"schema": schema}}},
        **{status: {"description": description, "content": error} for status, description in _ERRORS.items()},
    }
