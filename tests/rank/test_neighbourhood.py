"""Neighbourhoods: items and names around an item, subgraphs, diagrams."""

from __future__ import annotations

import re

import pytest

from assay.core.items import Link
from assay.pack.render.diagram import dot, mermaid
from assay.rank.neighbourhood import Node, Subgraph, neighbourhood, subgraph, surroundings
from assay.rank.symbols import require_one
from assay.store import links
from assay.store.index import Index
from support.repository import Repository

_APP = """
import os
from flask import Flask

app = Flask(__name__)


@app.route("/orders", methods=["POST"])
def place():
    return store(os.environ["SHOP_DB"])


def store(place):
    return price() + price()


def price():
    return 1


def test_store():
    assert store("x")
"""


@pytest.fixture
def opened(repository: Repository) -> Index:
    repository.write("shop/app.py", _APP)
    repository.index()
    return repository.open()


def _names(index: Index, symbol: str) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    around = neighbourhood(index, require_one(index, symbol), 50)
    left, right = ({(n.edge, n.node.name) for n in side} for side in (around.sources, around.targets))
    return left, right


def test_items_and_names_around_a_function_are_listed_with_the_relation(opened: Index) -> None:
    sources, targets = _names(opened, "place")
    assert ("contains", "shop/app.py") in sources
    assert {("calls", "store"), ("handles_route", "POST /orders"), ("reads_env", "SHOP_DB")} <= targets


def test_an_external_function_is_not_a_neighbour(opened: Index) -> None:
    assert not any("Flask" in name for _, name in _names(opened, "place")[1])


def test_links_are_neighbours_of_both_their_ends(opened: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    stated = [
        Link("shop/app.py", "deployment:Procfile#web", "deployed_by", "parsed", 0.9, "Procfile", 1),
        Link(
            "shop/app.py::store",
            "shop/app.py::price",
            "calls",
            "runtime",
            0.95,
            detail="called 7 times in the last day",
        ),
    ]
    monkeypatch.setattr(links, "SOURCES", {"stated": links.LinkSource(all=lambda _index: stated)})
    assert ("deployed_by", "Procfile#web") in _names(opened, "place")[1]
    around = neighbourhood(opened, require_one(opened, "price"))
    observed = next(n for n in around.sources if n.node.name == "store" and n.edge == "calls")
    assert observed.confidence == pytest.approx(0.95)
    assert [r.target for r in surroundings(opened, [require_one(opened, "price")])] == ["deployment:Procfile#web"]


def test_a_subgraph_grows_with_its_depth_and_stays_within_its_limit(opened: Index) -> None:
    centre = [require_one(opened, "price")]
    near, far = subgraph(opened, centre, 1), subgraph(opened, centre, 2)
    assert "shop/app.py::place" not in {node.id for node in near.nodes}
    assert "shop/app.py::place" in {node.id for node in far.nodes}
    small = subgraph(opened, centre, 2, most=3)
    assert len(small.nodes) == 3
    ids = {node.id for node in small.nodes}
    assert all({r.source, r.target} <= ids for r in small.relations)


def test_relations_can_be_restricted_to_types(opened: Index) -> None:
    graph = subgraph(opened, [require_one(opened, "store")], 1, types=("calls",))
    assert {relation.type for relation in graph.relations} == {"calls"}


def _hostile() -> Subgraph:
    name = 'x"]; click n0 "javascript:alert(1)" \\" <img src=x> \x1b[31m\n'
    return Subgraph(("a",), (Node("a", name, "function", 'p"q.py', 3, 1), Node("team:b", "b", "team")), (), 1)


def test_names_cannot_leave_their_box_in_a_diagram() -> None:
    text = mermaid(_hostile())
    assert text.count("\n") == 4  # head, two nodes, style
    assert text.splitlines()[1].count('"') == 2
    assert ";" not in re.sub(r"#\d+;", "", text)
    assert "<img" not in text
    assert "\x1b" not in text
    quoted = dot(_hostile()).splitlines()[4]
    assert quoted.endswith("penwidth=3];")
    assert len(re.findall(r'(?<!\\)(?:\\\\)*"', quoted)) == 2
    assert "\x1b" not in quoted
