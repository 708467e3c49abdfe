"""`http:URL`: a retriever behind a URL, queried by JSON POST, or by GET if the URL contains `{query}`."""

from __future__ import annotations

import time
from pathlib import Path
from urllib.parse import quote, urlsplit
from urllib.request import Request

from assay.core.golden import Response
from assay.errors import AssayError
from assay.evaluate.systems.protocol import (
    OUTPUT_LIMIT,
    PLACEHOLDER,
    System,
    SystemDied,
    SystemFailed,
    finished,
    one_line,
    placeholders,
    require_budget,
)
from assay.evaluate.systems.shape import parse
from assay.system.http import Broken, Refused, TooMuch, Unreachable, fetch, json_request


def open(root: Path, corpus: Path | None, argument: str, timeout: float) -> Endpoint:
    """Open an endpoint from `http://host/…`, `http:host/…` or `http:https://host/…`."""
    scheme, _, remainder = argument.partition(":")
    url = (
        remainder
        if "://" in remainder
        else f"{scheme}:{remainder}"
        if remainder.startswith("//")
        else f"{scheme}://{remainder}"
    )
    try:
        address = urlsplit(PLACEHOLDER.sub("0", url))
        host, port = address.hostname, address.port
    except ValueError as error:
        raise AssayError(f"system '{argument}': {error}") from None
    if not host or port == 0 or address.scheme not in ("http", "https"):
        raise AssayError(f"system '{argument}' is not a URL; write for example http://127.0.0.1:8000/search")
    if address.username is not None:
        raise AssayError(
            "a password in a URL would be stored with every run; send it from a command instead, for example "
            'cmd:curl -s -H "Authorization: Bearer $TOKEN" … , which stores only the variable\'s name'
        )
    return Endpoint(argument, url, root, timeout)


class Endpoint(System):
    """An HTTP endpoint with one request per query."""

    def __init__(self, spec: str, url: str, root: Path, timeout: float) -> None:
        super().__init__(spec)
        self._url, self._root, self._timeout = url, root, timeout
        self._query_in_url = "query" in PLACEHOLDER.findall(url)

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        require_budget(self._url, budget)
        request = self._request(text, k, budget, repository)
        body, seconds = _fetch(request, self._timeout)
        return finished(parse(body.decode("utf-8", "replace")), k, seconds)

    def _request(self, text: str, k: int, budget: int | None, repository: str) -> Request:
        """Build the request of a query: GET if the URL holds the query, else POST."""
        values = placeholders(text, k, budget, repository, self._root)
        url = PLACEHOLDER.sub(lambda match: quote(values[match[1]], safe="", errors="replace"), self._url)
        if self._query_in_url:
            return json_request(url)
        return json_request(url, {"query": text, "k": k, "budget": budget, "repository": repository})


def _fetch(request: Request, timeout: float) -> tuple[bytes, float]:
    """Return the response body and the seconds taken. Raises SystemFailed or SystemDied."""
    started = time.perf_counter()
    try:
        body = fetch(request, timeout, OUTPUT_LIMIT)
    except TimeoutError:
        raise SystemFailed(f"no answer within {timeout:g} s") from None
    except Refused as error:
        message = one_line(error.page)
        raise SystemFailed(f"{error}{': ' if message else ''}{message}") from None
    except Unreachable as error:
        failure = SystemDied if error.absent else SystemFailed
        raise failure(f"cannot reach {urlsplit(request.full_url).netloc}: {error}") from None
    except TooMuch as error:
        raise SystemFailed(f"{error}; send the best results only") from None
    except Broken as error:
        raise SystemFailed(f"the connection broke: {error.kind} {one_line(str(error))}".rstrip()) from None
    return body, time.perf_counter() - started
