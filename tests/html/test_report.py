"""The HTML report: one page, everything escaped, the numbers of the run, for any run."""

from __future__ import annotations

import base64
import copy
import hashlib
import math
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.html.plots import round_ticks
from assay.html.report import render
from assay.html.report.plots import (
    Change,
    Effect,
    Mark,
    difference_bars,
    forest,
    histogram,
    latency_bins,
    rank_bins,
    slopes,
)
from support.property_tests import examples
from support.waiting import PATIENCE

_VOID = {"meta", "link", "input", "br"}
_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_in_a_browser = pytest.mark.skipif(_CHROMIUM is None, reason="needs chromium")


@dataclass
class Node:
    """An element as parsed."""

    tag: str
    attributes: dict[str, str]
    children: list[Node | str] = field(default_factory=list)

    def all(self, tag: str, **attributes: str) -> list[Node]:
        """Descendants by tag and by words of their attributes, in the order of the page."""
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        found = []
        for child in self.children:
            if isinstance(child, Node):
                fits = all(value in child.attributes.get(name, "").split() for name, value in wanted.items())
                found += [child] * (fits and tag in (child.tag, "*")) + child.all(tag, **attributes)
        return found

    def one(self, tag: str, **attributes: str) -> Node:
        return self.all(tag, **attributes)[0]

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def values(self) -> list[str]:
        """The exact numbers in it."""
        return [data.attributes["value"] for data in self.all("data")]


class _Parser(HTMLParser):
    """Builds the tree; an element that is not closed in its place is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [Node("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in _VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parsed(page: str) -> Node:
    parser = _Parser()
    parser.feed(page)
    parser.close()
    assert len(parser.open) == 1, f"<{parser.open[-1].tag}> is not closed"
    return parser.open[0]


def query(number: int, **changes: Any) -> dict[str, Any]:
    """A query of which one of two expectations was found at rank 3."""
    return {
        "id": f"q{number}",
        "text": f"where is thing {number}?",
        "tier": "easy",
        "category": "lookup",
        "tags": ["python"],
        "metrics": {"P@10": 0.1, "R@10": 0.5, "RR@10": 0.3333, "nDCG@10": 0.4567},
        "first_rank": 3,
        "expected": ["a.b", "c.d"],
        "found": {"a.b": 3},
        "retrieved": ["x.one", "x.two", "a.b", "x.four"],
        "error": "",
        "latency_ms": 3.25,
        "refuse": False,
        "refused": False,
        **changes,
    }


def missed(number: int, **changes: Any) -> dict[str, Any]:
    zeros = dict.fromkeys(("P@10", "R@10", "RR@10", "nDCG@10"), 0.0)
    return query(number, metrics=zeros, first_rank=None, found={}, retrieved=["x.one"], **changes)


def run(queries: list[dict[str, Any]] | None = None, **changes: Any) -> dict[str, Any]:
    queries = [query(1), missed(2), query(3, tier="hard")] if queries is None else queries
    group = {"count": 2, "metrics": {"P@10": 0.15, "R@10": 0.25, "RR@10": 0.3141, "nDCG@10": None}}
    return {
        "run_id": "run-b",
        "created": "2025-11-16T00:51:07+00:00",
        "golden": {"path": "golden/own", "format": "fixtures", "digest": "9f2c51d0", "queries": len(queries)},
        "system": "cmd:finder {query}",
        "matching": "strict",
        "k": 10,
        "status": "complete",
        "metrics": {"P@10": 0.4123, "R@10": 0.5234, "RR@10": 0.6345, "nDCG@10": 0.7456, "AP": 0.8567, "F1@10": None},
        "spread": {"P@10": {"sd": 0.2011, "low": 0.3622, "high": 0.4633}},
        "detectable": {"RR@10": 0.0844},
        "tiers": {"easy": group, "hard": group},
        "categories": {"lookup": group},
        "tags": {"python": group},
        "repositories": {"one": group},
        "file_types": {".py": group},
        "languages": {"python": group},
        "latency": {"p50": 12.125, "p95": 33.25, "mean": 15.5},
        "counts": {"queries": len(queries), "failed": 1, "empty": 0},
        "queries": queries,
        "warnings": ["the golden set is small"],
        **changes,
    }


def pair(number: int, kind: str, a: int | None, b: int | None, **changes: Any) -> dict[str, Any]:
    scores = [round(1 / rank, 4) if rank else 0.0 for rank in (a, b)]
    return {
        "query_id": f"q{number}",
        "text": f"where is thing {number}?",
        "kind": kind,
        "a_hit_rank": a,
        "b_hit_rank": b,
        "note": f"note {number}",
        "a": {"RR@10": scores[0]},
        "b": {"RR@10": scores[1]},
        **changes,
    }


def versus(**changes: Any) -> dict[str, Any]:
    test = {
        "n": 4,
        "delta": 0.0301,
        "low": -0.0102,
        "high": 0.0703,
        "p": 0.1204,
        "p_holm": 0.3605,
        "p_wilcoxon": 0.1306,
    }
    test |= {"p_t": 0.1407, "effect": 0.2108, "wins": 12, "losses": 8, "ties": 35, "detectable": 0.0609}
    return {
        "run_a": "run-a",
        "run_b": "run-b",
        "aggregate_a": {"RR@10": 0.6044},
        "aggregate_b": {"RR@10": 0.6345},
        "deltas": {"RR@10": 0.0301, "chunker_version_match": "exact"},
        "statistics": {"RR@10": test},
        "counts": {"Win": 1, "Loss": 1, "Draw": 1, "Regression": 1},
        "per_query": [
            pair(1, "Draw", 1, 1),
            pair(2, "Win", None, 2),
            pair(3, "Loss", 1, 4),
            pair(4, "Regression", 2, None),
        ],
        "warnings": ["different machines"],
        **changes,
    }


def rows(page: Node, section: str) -> list[Node]:
    """The rows of the table of single queries in a section."""
    return page.one("section", id=section).all("tbody")[-1].all("tr")


def query_rows(summary: dict[str, Any]) -> list[Node]:
    return rows(parsed(render(summary)), "queries")


# the page


def test_the_page_is_well_formed_and_every_link_leads_somewhere() -> None:
    page = parsed(render(run(), versus()))
    ids = [node.attributes["id"] for node in page.all("*") if "id" in node.attributes]
    assert len(ids) == len(set(ids))
    links = [node.attributes["href"] for node in page.all("a")]
    assert {"#summary", "#comparison", "#breakdown", "#distributions", "#failures", "#queries"} <= set(links)
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert len(page.all("h1")) == len(page.all("title")) - len(page.one("body").all("title")) == 1


def test_nothing_is_fetched_from_anywhere() -> None:
    page = render(run(), versus())
    links = [
        node.attributes[name] for node in parsed(page).all("*") for name in ("href", "src") if name in node.attributes
    ]
    assert all(link.startswith("#") or link == "data:," for link in links)
    assert not re.search(r"https?://|@import|url\(|fetch\(|XMLHttpRequest", page)


def test_the_policy_allows_the_script_of_the_page_and_no_other() -> None:
    page = parsed(render(run()))
    policy = next(m.attributes["content"] for m in page.all("meta") if "http-equiv" in m.attributes)
    (script,) = page.all("script")
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    assert policy.startswith("default-src 'none';")
    assert f"script-src 'sha256-{digest}';" in policy


def test_the_same_run_gives_the_same_bytes() -> None:
    assert render(run(), versus()) == render(copy.deepcopy(run()), copy.deepcopy(versus()))


def test_the_header_identifies_the_run() -> None:
    header = parsed(render(run())).one("header")
    assert header.one("h1").text == "cmd:finder {query}"
    facts = {div.one("dt").text: div.one("dd").text for div in header.one("dl").all("div")}
    assert facts == {
        "Golden set": "golden/own (fixtures)",
        "Queries": "3",
        "Matching": "strict",
        "Depth": "first 10",
        "Measured": "16 November 2025, 00:51 UTC",
        "Run": "run-b",
        "Digest": "9f2c51d0",
    }


def test_warnings_stand_before_the_numbers() -> None:
    page = render(run(status="interrupted"))
    warnings = [item.text for item in parsed(page).one("ul", class_="warnings").all("li")]
    assert warnings == ["This run is interrupted: its numbers are not final.", "the golden set is small"]
    assert page.index("interrupted") < page.index("0.412")


def test_tables_have_captions_and_headers_and_plots_have_names() -> None:
    page = parsed(render(run(), versus()))
    for table in page.all("table"):
        assert table.one("caption").text
        assert all(head.attributes["scope"] == "col" for head in table.one("thead").all("th"))
        assert all(row.one("th").attributes["scope"] == "row" for row in table.one("tbody").all("tr"))
    assert page.all("svg")
    assert all(svg.attributes["role"] == "img" and svg.attributes["aria-label"] for svg in page.all("svg"))


# escaping

_ATTACK = """</title></script></style><img src=x onerror=alert(1)><script>alert(1)</script>'" onload="alert(1)&lt;"""


def _attacked(value: Any, keep: frozenset[str]) -> Any:
    """The same shape with every text, and every name that a user can choose, made an attack."""
    if isinstance(value, str):
        return _ATTACK
    if isinstance(value, list):
        return [_attacked(one, keep) for one in value]
    if isinstance(value, dict):
        return {(key if key in keep else key + _ATTACK): _attacked(one, keep) for key, one in value.items()}
    return value


def _names_of_fields() -> frozenset[str]:
    free = {"metrics", "spread", "detectable", "tiers", "categories", "tags", "repositories", "file_types", "languages"}
    free |= {"found", "counts", "latency", "a", "b", "aggregate_a", "aggregate_b", "deltas", "statistics"}
    names: set[str] = set()

    def collect(value: Any, fields: bool) -> None:
        if isinstance(value, list):
            for one in value:
                collect(one, True)
        if isinstance(value, dict):
            names.update(value if fields else ())
            for key, one in value.items():
                collect(one, not (fields and key in free))

    collect(run(), True)
    collect(versus(), True)
    return frozenset(names)


def test_no_text_of_a_run_becomes_markup_wherever_it_stands() -> None:
    keep = _names_of_fields()
    page = parsed(render(_attacked(run(), keep), _attacked(versus(), keep)))
    harmless = parsed(render(run(), versus()))
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert page.one("script").text == harmless.one("script").text
    assert not page.all("img")
    assert not [name for node in page.all("*") for name in node.attributes if name.startswith("on")]
    assert _ATTACK in page.one("h1").text
    assert _ATTACK in rows(page, "queries")[0].text


@settings(deadline=None, max_examples=examples(60))
@given(st.text(alphabet=st.characters(), min_size=1, max_size=40))
def test_any_text_is_shown_as_it_is(words: str) -> None:
    page = render(
        run([query(1, text=words, expected=[words], found={words: 3}, retrieved=["x", "y", words])], system=words)
    )
    page.encode("utf-8")
    shown = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]", "\ufffd", words)
    row = rows(parsed(page), "queries")[0]
    assert _lines(row.one("summary").text) == _lines(shown)
    assert [_lines(one.text) for one in row.all("code")] == [_lines(one) for one in (shown, "x", "y", shown)]


def _lines(words: str) -> str:
    return words.replace("\r\n", "\n").replace("\r", "\n")


# numbers


def test_the_tiles_show_the_main_metrics_with_interval_and_power() -> None:
    tiles = parsed(render(run())).one("ul", class_="tiles").all("li")
    assert [tile.one("h3").text for tile in tiles] == ["P@10", "R@10", "RR@10", "nDCG@10"]
    assert [tile.one("p", class_="value").values for tile in tiles] == [["0.4123"], ["0.5234"], ["0.6345"], ["0.7456"]]
    assert [tile.one("p", class_="value").text for tile in tiles] == ["0.412", "0.523", "0.634", "0.746"]
    assert tiles[0].one("p", class_="bounds").text == "095 %: 0.362 – 0.4631"
    assert tiles[0].one("svg").attributes["aria-label"] == "P@10 0.412, 95 % interval 0.362 to 0.463"
    assert "detects a change of 0.084" in tiles[2].text


def test_every_metric_count_and_latency_is_on_the_page_as_given() -> None:
    summary = parsed(render(run())).one("section", id="summary")
    table = {row.one("th").text: row.values for row in summary.one("tbody").all("tr")}
    assert table["P@10"] == ["0.4123", "0.2011", "0.3622", "0.4633", ""]
    assert table["RR@10"] == ["0.6345", "", "", "", "0.0844"]
    assert table["AP"][0] == "0.8567"
    assert table["F1@10"] == [""] * 5
    facts = {div.one("dt").text: div.one("dd") for div in summary.one("dl").all("div")}
    assert {name: dd.values for name, dd in facts.items()} == {
        "queries": ["3"],
        "failed": ["1"],
        "empty": ["0"],
        "latency p50": ["12.125"],
        "latency p95": ["33.25"],
        "latency mean": ["15.5"],
    }
    assert facts["latency p50"].text == "12.1 ms"


def test_each_breakdown_is_a_table_with_a_bar_as_long_as_its_number() -> None:
    breakdown = parsed(render(run())).one("section", id="breakdown")
    captions = [caption.text for caption in breakdown.all("caption")]
    assert captions == ["By tier", "By category", "By tag", "By repository", "By language", "By file type"]
    easy = breakdown.one("tbody").all("tr")[0]
    assert easy.one("th").text == "easy"
    assert easy.values == ["2", "0.15", "0.25", "0.3141", ""]
    assert [bar.attributes["style"] for bar in easy.all("span")] == ["--share:15.0%", "--share:25.0%", "--share:31.4%"]


def test_a_null_metric_is_a_dash_and_not_a_zero() -> None:
    metrics = dict.fromkeys(("P@10", "R@10", "RR@10", "nDCG@10"))
    page = parsed(render(run([query(1, metrics=metrics)], metrics=metrics)))
    assert [value.text for value in page.all("p", class_="value")] == ["–"] * 4
    assert [cell.text for cell in rows(page, "queries")[0].all("td", class_="number")][1:5] == ["–"] * 4
    assert not any("P@10" in svg.attributes["aria-label"] for svg in page.all("svg"))


def test_a_metric_beyond_one_gets_a_scale_of_its_own() -> None:
    page = parsed(render(run([query(1, metrics={"P@10": 12.5})], metrics={"P@10": 12.5})))
    assert page.one("p", class_="bounds").all("span")[2].text == "12.5"
    assert "12.5" in page.one("section", id="distributions").one("svg").text


# single queries


def test_failed_queries_come_first_and_then_the_lowest_scores() -> None:
    best = query(5, metrics={"nDCG@10": 0.9}, found={"a.b": 1, "c.d": 2})
    error = missed(4, error="timed out after 30 s")
    page = render(run([best, query(1), missed(2), query(3, metrics={"nDCG@10": 0.1}), error]))
    table = rows(parsed(page), "queries")
    assert [row.attributes["id"] for row in table] == ["query-5", "query-3", "query-4", "query-2", "query-1"]
    assert [row.one("td").text for row in table] == ["error", "missed", "partly", "partly", "found"]
    assert [row.attributes.get("data-failed") for row in table] == ["yes", "yes", None, None, None]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"error": "boom"}, "error"),
        ({"refuse": True, "refused": True, "expected": [], "found": {}}, "refused"),
        ({"refuse": True, "refused": False, "expected": [], "found": {}}, "not refused"),
        ({"found": {}}, "missed"),
        ({"found": {"a.b": None, "c.d": None}}, "missed"),
        ({"found": {"a.b": 11}}, "missed"),
        ({"found": {"a.b": 10}}, "partly"),
        ({"found": {"a.b": 1, "c.d": 9}}, "found"),
    ],
)
def test_the_outcome_of_a_query(changes: dict[str, Any], expected: str) -> None:
    assert query_rows(run([query(1, **changes)]))[0].one("td").text == expected


def test_a_row_opens_to_what_was_expected_and_where_it_was_found() -> None:
    opened = query_rows(run([query(1)]))[0].one("details")
    expected, retrieved = opened.one("ul"), opened.one("ol")
    assert [item.text for item in expected.all("li")] == ["a.b rank 3", "c.d not found"]
    assert [item.text for item in retrieved.all("li")] == ["x.one", "x.two", "a.b", "x.four"]
    assert [item.text for item in retrieved.all("li", class_="hit")] == ["a.b"]
    assert "q1 · lookup · python" in opened.text


def test_failures_are_listed_with_their_errors_and_expectations() -> None:
    queries = [query(1), missed(2), *(query(n, error="connection refused", found={}, retrieved=[]) for n in (3, 4))]
    section = parsed(render(run(queries))).one("section", id="failures")
    assert [row.text for row in section.one("tbody").all("tr")] == ["connection refused2"]
    failures = section.one("ol", class_="failures").all("li")
    assert [item.one("a").attributes["href"] for item in failures] == ["#query-3", "#query-4", "#query-2"]
    assert "expected a.b, c.d" in failures[2].text
    legend = section.one("ul", class_="legend")
    assert legend.values == ["2", "1", "1"]


# odd runs


def test_an_empty_run_is_still_a_page() -> None:
    page = parsed(render({}))
    assert "has no results" in page.one("main").text
    assert not page.all("section")


@pytest.mark.parametrize("missing", sorted(run()))
def test_a_missing_or_null_part_is_left_out(missing: str) -> None:
    without = {name: value for name, value in run().items() if name != missing}
    assert render(without) == render({**without, missing: None})
    parsed(render(without))


@pytest.mark.parametrize(
    ("summary", "comparison", "said"),
    [
        ({"metrics": [1]}, None, r"the run cannot be rendered: .*\$\.metrics.*eval run --format json"),
        ({"queries": [{"id": 1}]}, None, r"\$\.queries\[0\]\.id"),
        ({}, {"per_query": "all"}, r"the comparison cannot be rendered: .*\$\.per_query.*eval compare --format json"),
    ],
)
def test_what_is_not_a_run_is_refused_with_the_place(
    summary: dict[str, Any], comparison: dict[str, Any] | None, said: str
) -> None:
    with pytest.raises(AssayError, match=said):
        render(summary, comparison)


def test_five_thousand_queries_stay_a_page_one_can_open() -> None:
    queries = [query(n) for n in range(4990)] + [missed(n, error="boom") for n in range(4990, 5000)]
    pairs = [pair(n, "Win", 1 + n % 40, 1 + n * 7 % 30) for n in range(4999)] + [pair(5000, "Regression", 1, None)]
    page = render(run(queries), versus(per_query=pairs))
    assert len(page.encode()) < 5_000_000
    tree = parsed(page)
    assert [row.one("td").text for row in rows(tree, "queries")[:11]] == ["error"] * 10 + ["partly"]
    assert "1,000 of 5,000 are shown" in tree.one("section", id="queries").text
    assert rows(tree, "comparison")[0].one("td").text == "Regression"
    assert len(tree.one("section", id="comparison").all("g")) < 200


def test_very_long_texts_are_cut_and_the_page_stays_small() -> None:
    endless = "wörd " * 4000
    queries = [query(n, text=endless, retrieved=[endless] * 100, expected=[endless] * 50) for n in range(400)]
    pairs = [pair(n, "Win", 2, 1, text=endless, note=endless) for n in range(2000)]
    page = render(run(queries, warnings=[endless] * 500), versus(per_query=pairs))
    assert len(page.encode()) < 5_000_000
    assert "of 400 are shown" in parsed(page).one("section", id="queries").text


# comparison


def test_regressions_and_losses_come_first_with_ranks_difference_and_note() -> None:
    table = rows(parsed(render(run(), versus())), "comparison")
    cells = [[row.one("th").text, *(cell.text for cell in row.all("td"))] for row in table]
    assert cells == [
        ["where is thing 4?", "Regression", "2", "–", "−0.500", "note 4"],
        ["where is thing 3?", "Loss", "1", "4", "−0.750", "note 3"],
        ["where is thing 2?", "Win", "–", "2", "+0.500", "note 2"],
        ["where is thing 1?", "Draw", "1", "1", "0.000", "note 1"],
    ]


def test_the_tests_of_a_difference_are_shown_as_given() -> None:
    section = parsed(render(run(), versus())).one("section", id="comparison")
    (row,) = section.one("tbody").all("tr")
    assert row.values == [
        *("0.6044", "0.6345", "0.0301", "-0.0102", "0.0703", "0.1204", "0.3605", "0.1306", "0.1407", "0.2108"),
        *("0.0609", "12"),
    ]
    assert row.text.endswith("12 / 8 / 35")
    facts = {div.one("dt").text: div.one("dd").text for div in section.one("dl").all("div")}
    assert facts == {"Win": "1", "Loss": "1", "Draw": "1", "Regression": "1", "chunker version match": "exact"}
    assert "different machines" in section.text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {},
            "RR@10 rose by 0.030 over 4 queries (95 % interval −0.010 to +0.070): not statistically significant (p 0.360 after Holm); ",
        ),
        (
            {"delta": -0.03, "p_holm": None, "p": 0.0002},
            "RR@10 fell by 0.030 over 4 queries (95 % interval −0.010 to +0.070): statistically significant (p < 0.001).",
        ),
        ({"delta": 0.0, "n": 1, "low": None}, "RR@10 did not move over 1 query."),
    ],
)
def test_the_verdict_is_a_sentence(changes: dict[str, Any], said: str) -> None:
    comparison = versus()
    comparison["statistics"]["RR@10"] |= changes
    verdict = parsed(render(run(), comparison)).one("p", class_="verdict").text.replace("\u00a0", " ")
    assert verdict.startswith(said)


def test_a_difference_is_coloured_by_what_it_means_for_the_metric() -> None:
    clear = {"delta": 0.05, "low": 0.01, "high": 0.09}
    statistics = {"RR@10": clear, "empty_result_rate": clear, "P@10": {"delta": 0.01, "low": -0.03, "high": 0.05}}
    page = parsed(render(run(), versus(statistics=statistics, per_query=[])))
    plot = page.one("section", id="comparison").one("figure")
    assert [row.attributes["class"] for row in plot.all("g")] == ["gain", "loss", "even"]


# plots

_numbers = st.floats(-1000, 1000, allow_nan=False).map(lambda value: round(value, 4))
_shares = st.lists(st.floats(0, 1).map(lambda value: round(value, 4)), min_size=1, max_size=60)


@given(_numbers, _numbers, st.integers(2, 8))
def test_ticks_are_round_and_cover_the_values(a: float, b: float, wanted: int) -> None:
    low, high = min(a, b), max(a, b)
    ticks = round_ticks(low, high, wanted)
    step = ticks[1] - ticks[0]
    assert ticks[0] <= low + step * 1e-6
    assert ticks[-1] >= high - step * 1e-6
    assert len(ticks) <= wanted + 2
    assert all(math.isclose(after - before, step, rel_tol=1e-6) for before, after in pairwise(ticks))
    assert round(step / 10.0 ** math.floor(math.log10(step * 1.0000001)), 6) in (1, 2, 5)


@given(st.lists(st.one_of(st.none(), st.integers(1, 300)), max_size=60), st.sampled_from([None, 1, 10, 100]))
def test_every_rank_is_counted_once_and_the_missing_apart(ranks: list[int | None], k: int | None) -> None:
    bins = rank_bins(ranks, k)
    assert sum(one.count for one in bins) == len(ranks)
    assert bins[-1].missing
    assert bins[-1].count == ranks.count(None)
    assert bins[0].label == "1"
    assert bins[0].count == ranks.count(1)


def _labels(svg: str) -> list[tuple[float, float, float, str]]:
    """Height and extent of each text of a plot, by a mean width of characters."""
    out = []
    for node in parsed(svg).all("text"):
        width = 5.8 * len(node.text)
        shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[node.attributes["text-anchor"]]
        left = float(node.attributes["x"]) - shift * width
        out.append((float(node.attributes["y"]), left, left + width, node.text))
    return sorted(out)


def _assert_readable(svg: str) -> None:
    """No two labels in one place, none outside of the plot."""
    labels = _labels(svg)
    for y, left, right, words in labels:
        assert -2 <= left <= right <= 364, words
        others = [one for one in labels if one != (y, left, right, words) and abs(one[0] - y) < 9]
        assert not [one for one in others if one[1] < right and left < one[2]], words


@settings(deadline=None)
@given(st.lists(st.floats(0.01, 1e5).map(lambda value: round(value, 2)), min_size=1, max_size=40))
def test_the_labels_of_a_histogram_never_overlap(values: list[float]) -> None:
    bins, logarithmic = latency_bins(values)
    ordered = sorted(values)
    marks = [Mark(ordered[len(ordered) // 2], "p50 12.1 ms"), Mark(ordered[-1], "p95 33.0 ms")]
    _assert_readable(histogram(bins, "latency", "latency, ms", marks, logarithmic))


@settings(deadline=None)
@given(st.lists(st.tuples(_numbers, _numbers, _numbers), min_size=1, max_size=16))
def test_the_labels_of_a_forest_never_overlap(numbers: list[tuple[float, float, float]]) -> None:
    ordered = [sorted(value / 1000 for value in three) for three in numbers]
    effects = [Effect("refusal_correctness"[: 5 + i], d, low, high, "even") for i, (low, d, high) in enumerate(ordered)]
    _assert_readable(forest(effects, "metrics", "difference B − A"))


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=300))
def test_slopes_hold_every_query_once_and_bars_every_changed_one(values: list[tuple[float, float]]) -> None:
    changes = [Change(f"q{i}", round(a, 3), round(b, 3)) for i, (a, b) in enumerate(values)]
    lines = [title.text for title in parsed(slopes(changes, "n", ("A", "B"), "RR@10")).all("title")]
    counts = [int(found[1]) if (found := re.match(r"(\d+) queries", line)) else 1 for line in lines]
    assert sum(counts) == len(changes)
    bars = parsed(difference_bars(changes, "n", "RR@10")).all("rect")
    means = [re.match(r"mean of (\d+)", bar.one("title").text) for bar in bars]
    assert sum(int(mean[1]) if mean else 1 for mean in means) == sum(a.before != a.after for a in changes)
    assert sum(bar.attributes["class"] == "loss" for bar in bars) or not any(one.delta < -0.5 for one in changes)


def test_axes_and_marks_of_a_plot_are_labelled() -> None:
    plot = parsed(render(run())).one("section", id="distributions").all("figure")[3]
    assert plot.one("strong").text == "nDCG@10"
    words = [node.text for node in plot.all("text")]
    assert {"queries", "nDCG@10 of a query", "mean 0.746", "0", "0.2", "1"} <= set(words)
    assert [title.text for title in plot.all("title")] == ["0–0.1: 1 query", "0.4–0.5: 2 queries"]


# in a browser


def _loaded(page: str, folder: Path) -> Node:
    """The page as a browser has it after its scripts ran."""
    file = folder / "report.html"
    file.write_text(page, "utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    command = [str(_CHROMIUM), *options, f"--user-data-dir={folder / 'profile'}", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    return parsed(done.stdout)


@_in_a_browser
def test_the_table_sorts_and_filters_and_a_foreign_script_does_not_run(tmp_path: Path) -> None:
    foreign = "<script>document.title = 'taken over'</script></body>"
    queries = [missed(1), query(2, latency_ms=20.0), query(3, latency_ms=3.0, tier="hard"), query(4, latency_ms=100.0)]
    page = render(run(queries))
    guarded = _loaded(page.replace("</body>", foreign), tmp_path)
    assert guarded.one("title").text == "cmd:finder {query} – retrieval report"
    form = guarded.one("form", class_="filter")
    assert "hidden" not in form.attributes

    use = """<script>
      const area = document.querySelector("#queries"), heads = area.querySelectorAll("thead button");
      heads[heads.length - 1].click(); heads[heads.length - 1].click();
      area.querySelector("[name=tier]").value = "easy";
      area.querySelector("[type=search]").value = "THING where";
      area.querySelector("[type=search]").dispatchEvent(new Event("input", { bubbles: true }));
      area.querySelector(".open").click();
    </script></body>"""
    unguarded = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page).replace("</body>", use)
    used = _loaded(unguarded, tmp_path)
    table = rows(used, "queries")
    assert [row.attributes["id"] for row in table] == ["query-4", "query-2", "query-1", "query-3"]
    assert ["hidden" in row.attributes for row in table] == [False, False, False, True]
    assert ["open" in row.one("details").attributes for row in table] == [True, True, True, False]
    assert used.one("output").text == "3 of 4"
