"""Endpoints: paths of every framework's syntax, and which urls reach which route."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.endpoints import PARAMETER, REST, Endpoint, Routes, is_local_host, match, parse_endpoint


@pytest.mark.parametrize(
    "text",
    [
        "GET /users/<int:id>/posts", "GET /users/:id/posts", "GET /users/{id}/posts", "GET /users/{id:int}/posts",
        "GET /users/[id]/posts", "GET /users/%s/posts", "GET /users/${user.id}/posts", "GET /users/#{user.id}/posts",
        "GET /users/{}/posts?page={}", "GET /users/:id(\\d+)/posts", "get /Users/%(id)s/posts/", "GET ^users/(?P<id>\\d+)/posts/$",
    ],
)  # fmt: skip
def test_parameters_of_every_syntax_are_the_same(text: str) -> None:
    assert parse_endpoint(text) == Endpoint("GET", ("users", PARAMETER, "posts"))


def test_a_url_is_read_into_host_and_path() -> None:
    assert parse_endpoint("POST http://orders:8080/v1/orders#top") == Endpoint("POST", ("v1", "orders"), "orders:8080")
    assert parse_endpoint("https://{}/v1/orders") == Endpoint("", ("v1", "orders"), PARAMETER)


def test_a_computed_beginning_leaves_the_path_open() -> None:
    assert parse_endpoint("GET {}/users/{}") == Endpoint("GET", ("users", PARAMETER), is_open=True)
    assert parse_endpoint("GET {}users") == Endpoint("GET", (PARAMETER,), is_open=True)


def test_wildcards_stand_for_the_rest_of_a_path() -> None:
    for text in ("/files/*", "/files/{*path}", "/files/<path:name>", "/files/[...slug]", "/files/:name*"):
        assert parse_endpoint(text).segments == ("files", REST)


@pytest.mark.parametrize(
    ("endpoint", "route", "expected"),
    [
        ("GET /users/{}", "GET /users/<id>", 0.9),
        ("GET /users/42", "GET /users/<id>", 0.9),
        ("/users/{}", "GET /users/<id>", 0.81),
        ("POST /users/{}", "GET /users/<id>", 0.0),
        ("GET /users/{}", "GET /users/me", 0.45),
        ("GET /users", "GET /users/<id>", 0.0),
        ("GET /api/v1/users/{}", "GET /users/<id>", 0.6),  # mounted below a prefix
        ("GET {}/users/{}", "GET /api/v1/users/<id>", 0.6),  # the base url ends with a prefix
        ("GET /users/{}", "GET /api/v1/users/<id>", 0.0),  # a whole path misses its prefix
        ("GET {}/{}", "GET /users/<id>", 0.0),
    ],
)
def test_confidence_of_a_match(endpoint: str, route: str, expected: float) -> None:
    assert match(parse_endpoint(endpoint), parse_endpoint(route)) == pytest.approx(expected, abs=0.001)


def test_the_most_exact_route_is_chosen() -> None:
    routes = Routes(
        (parse_endpoint(text), text)
        for text in ("GET /users/<id>", "GET /users/me", "GET /admin/users/<id>", "POST /users")
    )
    assert routes.matching(parse_endpoint("GET /users/me")) == [("GET /users/me", 0.9)]
    assert routes.matching(parse_endpoint("GET /users/{}")) == [("GET /users/<id>", 0.9)]
    assert routes.matching(parse_endpoint("GET /admin/users/{}")) == [("GET /admin/users/<id>", 0.9)]


def test_a_path_that_many_routes_share_links_to_none() -> None:
    routes = Routes((parse_endpoint(f"GET /{number}/health"), number) for number in range(9))
    assert routes.matching(parse_endpoint("GET {}/health")) == []


def test_only_hosts_of_ones_own_are_local() -> None:
    for host in (
        "localhost:8000",
        "127.0.0.1",
        "orders",
        "orders:80",
        "orders.shop.svc.cluster.local",
        "{}",
        "{}:8080",
    ):
        assert is_local_host(host), host
    for host in ("api.github.com", "example.org:443"):
        assert not is_local_host(host), host


_SEGMENT = st.sampled_from(["users", "orders", "items", PARAMETER])
_PATH = st.lists(_SEGMENT, min_size=1, max_size=5).map("/".join)


@given(_PATH, _PATH)
def test_a_match_found_in_the_table_is_a_match_and_the_best_one(path: str, other: str) -> None:
    endpoint = parse_endpoint(f"GET /{path}")
    declared = [parse_endpoint(f"GET /{path}"), parse_endpoint(f"GET /{other}")]
    matched = Routes(enumerate_routes(declared)).matching(endpoint)
    if not endpoint.literals:
        assert matched == [], "a path without any literal could be any route"
        return
    best = (
        max(match(endpoint, route) for route in declared if route.literals) if any(r.literals for r in declared) else 0
    )
    assert all(match(endpoint, declared[number]) == confidence == best for number, confidence in matched)
    assert bool(matched) == bool(best)


def enumerate_routes(routes: list[Endpoint]) -> list[tuple[Endpoint, int]]:
    return [(route, number) for number, route in enumerate(routes)]


@given(st.text(max_size=300))
def test_any_text_can_be_parsed(text: str) -> None:
    assert parse_endpoint(text).literals >= 0


@pytest.mark.parametrize(
    "text", ["(" * 50_000, "{" * 50_000, "/:a" * 50_000, "[" * 50_000 + "]", "%(" * 20_000, "GET ^" + "(a" * 9_000]
)
def test_a_hostile_path_is_cut(text: str) -> None:
    assert len(parse_endpoint(text).segments) <= 40
