"""Matchers: the worked examples of the specification and of the cross-repository benchmark, and their invariants."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.golden import Expected, GoldenQuery, GoldenSet, Hit, Response
from assay.errors import AssayError
from assay.evaluate.judging import judge, mark
from assay.evaluate.matching import MATCHERS, Matcher, bare_name, components, default_for, matcher, path_in
from assay.evaluate.metrics import parse
from support.property_tests import examples


def matches(name: str, hit: Hit | str, expected: Expected | str) -> bool:
    """Whether the named matcher accepts; strings stand for a hit of that id and a symbol to be found."""
    hit = Hit(hit) if isinstance(hit, str) else hit
    return MATCHERS[name].matches(hit, Expected(expected) if isinstance(expected, str) else expected)


def score(name: str, hits: list[Hit], expected: list[Expected], measures: list[str]) -> dict[str, float]:
    """The figures of one query whose expectations all stand at symbol level."""
    judged = judge([GoldenQuery("q", "?", tuple(expected))], [Response(tuple(hits))], MATCHERS[name], "symbol")
    return {measure: float(parse(measure).values(judged)[0]) for measure in measures}


# --- seed 000: symbol ---

KNOWING = "github.com/blackwell-systems/knowing/internal/"


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (KNOWING + "context.ContextEngine", "context.ContextEngine"),
        ("internal/store.SQLiteStore.NodesByName", "store.NodesByName"),
        ("internal/context.ContextEngine.ForTask", "context.ForTask"),
        ("internal/trace.Ingestor.IngestSpans", "trace.IngestSpans"),
        ("internal/context/rank.Ranker.Score", "context.Score"),  # a package under it
        ("store.SQLiteStore.PutEdge", "store.PutEdge"),  # the package comes first
        (KNOWING + "context.ContextEngineOptions", "context.ContextEngine"),  # a substring, however it goes on
    ],
)
def test_symbol_accepts_what_seed_000_calls_relevant(found: str, wanted: str) -> None:
    assert matches("symbol", found, wanted)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ("internal/daemon.Store.NodesByName", "store.NodesByName"),  # another package
        ("internal/mystore.Type.NodesByName", "store.NodesByName"),  # a package only ending like it
        ("internal/store.SQLiteStore.NodesByNames", "store.NodesByName"),  # not the end of the name
        ("internal/store.SQLiteStore", "NodesByName"),
        ("internal/context.contextengine", "context.ContextEngine"),  # case counts
    ],
)
def test_symbol_refuses_another_package_or_another_name(found: str, wanted: str) -> None:
    assert not matches("symbol", found, wanted)


def test_symbol_makes_the_full_name_from_a_hits_path() -> None:
    hit = Hit("1", symbol="SQLiteStore.NodesByName", path="internal/store/sqlite.go")
    assert matches("symbol", hit, "store.NodesByName")
    assert matches("symbol", hit, "sqlite.SQLiteStore.NodesByName")
    assert not matches("symbol", hit, "trace.NodesByName")
    assert matches("symbol", Hit("internal/store/sqlite.go::Store.Get", symbol="Store.Get"), "store.Get")
    assert matches("symbol", Hit("1", symbol="Store::get", path="src/store/mod.rs"), "store.get")


def test_several_results_may_match_an_expectation_that_recall_counts_once() -> None:
    hits = [Hit("internal/store.SQLiteStore.Get"), Hit("internal/store.MemoryStore.Get"), Hit("internal/store.Get")]
    figures = score(
        "symbol", hits, [Expected("store.Get"), Expected("store.Put")], ["P@10", "R@10", "R(count=matches)@10"]
    )
    assert figures == {"P@10": 0.3, "R@10": 0.5, "R(count=matches)@10": 1.5}


# --- the cross-repository benchmark: dotted and strict ---


@pytest.mark.parametrize(
    ("raw", "bare"),
    [
        ("github.com/pallets/flask://bench/repos/flask/src/flask/sansio/scaffold.py.Scaffold.before_request", "Scaffold.before_request"),
        ("github.com/django/django://bench/repos/django/django/db/models/query.py.QuerySet", "QuerySet"),
        ("github.com/rust-lang/cargo://bench/repos/cargo/src/resolve.rs.resolve_dependencies", "resolve_dependencies"),
        ("github.com/org/repo://internal/store/sqlite.go.NewSQLiteStore", "NewSQLiteStore"),
        (f"github.com/blackwell-systems/knowing://{KNOWING}context.ContextEngine.ForTask", "ContextEngine.ForTask"),
        ("github.com/org/repo/pkg.FuncName.", "FuncName"),
        ("internal/auth/handler.go:42:func HandleLogin(", "HandleLogin"),
        ("app.py:10:def create_app(", "create_app"),
        ("src/index.ts:5:class Router {", "Router"),
        ("handler.go:HandleLogin", "HandleLogin"),
        ("handler.go:42", ""),
        ("handler.go:42-57", ""),
        ("docs/config.md#loading/from-a-file:120-164", ""),
        ("flask.app.Flask.before_request", "Flask.before_request"),
        ("django.db.models.QuerySet", "QuerySet"),
        ("django.db.models.query.QuerySet.filter", "QuerySet.filter"),
        ("pkg._Private.run", "_Private.run"),
        ("FuncName", "FuncName"),
        ("Type.Method", "Type.Method"),
        ("src/app.py::Flask.run", "Flask.run"),
        ("src/app.php::Kernel.boot", "Kernel.boot"),
        ("src/map.rs::Map<K>::get", "Map<K>::get"),
        ("", ""),
        ("   ", ""),
    ],
)  # fmt: skip
def test_the_bare_name_is_found_in_every_notation(raw: str, bare: str) -> None:
    assert bare_name(raw) == bare


@pytest.mark.parametrize(
    ("found", "wanted", "verdict"),
    [
        ("pkg.FuncName", "pkg.FuncName", True),
        ("github.com/pallets/flask://src/flask/sansio/scaffold.py.Scaffold.before_request", "flask.app.Flask.before_request", False),
        ("Scaffold.before_request", "Flask.before_request", False),
        ("HandleLogin", "auth.HandleLogin", True),
        ("auth.HandleLogin", "HandleLogin", True),
        ("Handler.Get", "Handler.Post", False),
        ("OtherFunc", "FuncName", False),
        ("github.com/org/repo/pkg.FuncName", "FuncName", True),
        ("pkg.Type.Method", "Type.Method", True),
        ("", "pkg.FuncName", False),
        ("pkg.FuncName", "", False),
        ("User.save", "File.save", False),
        ("flask.route", "Flask.Route", True),  # whatever the case
        ("Outer.Inner.run", "Outer.Other.run", True),  # the last part and one qualifier in common
        ("run", "Outer.run", True),  # a bare name for any qualifier
        ("Flask.route", "Flask", True),  # a method counts for its class
        ("Flask", "Flask.route", True),  # and a class for its method
        ("Flasks.route", "Flask", False),  # but only at dots
        ("Outer::Inner::run", "Inner", True),
    ],
)  # fmt: skip
def test_dotted_is_the_generous_matcher_of_the_cross_repository_benchmark(
    found: str, wanted: str, verdict: bool
) -> None:
    assert matches("dotted", found, wanted) is verdict


@pytest.mark.parametrize(
    ("found", "wanted", "verdict"),
    [
        ("a/b.py.Scaffold.route", "Scaffold.route", True),
        ("route", "Scaffold.route", False),
        ("Flask.route", "Scaffold.route", False),
        ("Flask", "Flask.route", False),
        ("Flask.route", "Flask", False),
        ("a/x.rb.ActionDispatch::MiddlewareStack.use", "MiddlewareStack.use", True),
        ("MiddlewareStack.use", "ActionDispatch::MiddlewareStack.use", True),
        ("HttpRegistry.start_fetch", "HttpRegistry<'gctx>.start_fetch", True),
        ("Map<K, Vec<V>>::get", "Map.get", True),
        ("scaffold.route", "Scaffold.Route", False),
        ("Reroute", "route", False),  # whole components only
        ("Flask.route", "route", True),  # a bare expectation takes any qualifier
        ("Client.Client.get", "Client.get", True),  # doubled neighbours are one
        ("", "Flask", False),
    ],
)
def test_strict_needs_two_components_of_a_qualified_expectation(found: str, wanted: str, verdict: bool) -> None:
    assert matches("strict", found, wanted) is verdict


def test_our_differences_from_the_benchmarks_own_matcher() -> None:
    assert matches("strict", Hit("1", symbol="<init>"), "<init>")  # a name of nothing but brackets matches itself
    assert matches("strict", "pkg._Pool.get", "_Pool.get")  # an underscore does not hide a type
    assert not matches("strict", "get", "pkg._Pool.get")
    assert matches("dotted", "a.rs::Map<K>::get", "Map::get")  # what is strict is dotted, generics or not


def test_a_path_in_the_expectation_must_be_the_hits_path() -> None:
    gold = "src/a.py::walk"
    assert matches("strict", Hit("1", symbol="walk", path="src/a.py"), gold)
    assert matches("strict", Hit("1", symbol="walk", path="repository/src/a.py"), gold)
    assert matches("strict", "repository/src/a.py::walk", gold)
    assert matches("strict", Hit("1", symbol="walk"), gold)  # the system does not say where
    assert not matches("strict", Hit("1", symbol="walk", path="src/b.py"), gold)
    assert not matches("strict", "src/b.py::walk", gold)
    assert not matches("strict", Hit("1", symbol="step", path="src/a.py"), gold)
    assert matches("strict", Hit("1", symbol="Map.get", path="lib/map.rs"), "map.rs::Map<K>::get")
    assert matches("strict", Hit("1", symbol="Kernel.boot", path="x/src/app.php"), "src/app.php::Kernel.boot")


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("src/a.py::walk", "src/a.py"),
        ("setup.py::main", "setup.py"),
        ("src/a.py:12", "src/a.py"),
        ("src/a.py:12-30", "src/a.py"),
        ("src/a.py:12:5", "src/a.py"),
        ("docs/config.md#loading/from-a-file:120-164", "docs/config.md"),
        ("bin/tool::main", "bin/tool"),
        ("ActionDispatch::MiddlewareStack.use", ""),
        ("a/x.rb.ActionDispatch::MiddlewareStack.use", ""),
        ("module.Type::method", ""),
        ("src/a.py", ""),
        ("Flask.run", ""),
    ],
)
def test_the_path_in_a_name_is_no_namespace(name: str, path: str) -> None:
    assert path_in(name) == path


def test_components_leave_out_path_generics_pointers_and_doubled_neighbours() -> None:
    assert components("a.rs::Map<K>::get") == ("Map", "get")
    assert components("pkg/file.go.(*Server).Run") == ("Server", "Run")
    assert components("Client::Client.get") == ("Client", "get")
    assert components("Outer<A<B>>#run") == ("Outer", "run")


def test_the_benchmarks_own_scores_come_out() -> None:
    hits = [Hit(name) for name in ["B", "B.y", "A.x", *(f"z{number}" for number in range(9))]]
    gold = [Expected("A.x"), Expected("B")]
    measures = ["P@10", "R@10", "RR", "Success@10"]
    assert score("dotted", hits, gold, measures) == {"P@10": 0.3, "R@10": 1.0, "RR": 1.0, "Success@10": 1.0}
    assert score("strict", hits, gold, measures) == {"P@10": 0.2, "R@10": 1.0, "RR": 1.0, "Success@10": 1.0}
    assert score("strict", [], gold, measures) == dict.fromkeys(measures, 0.0)


# --- exact, file, doc, chunk, span ---


def test_exact_takes_id_symbol_path_or_document_and_nothing_else() -> None:
    hit = Hit("7", symbol="Flask.run", path="src/app.py", doc="guide")
    assert [matches("exact", hit, name) for name in ("7", "Flask.run", "src/app.py", "guide")] == [True] * 4
    assert [matches("exact", hit, name) for name in ("Flask", "run", "flask.run", "app.py", "")] == [False] * 5


@pytest.mark.parametrize(
    ("hit", "verdict"),
    [
        (Hit("1", path="src/app.py"), True),
        (Hit("1", path="./src/app.py"), True),
        (Hit("1", path="repository/src/app.py"), True),
        (Hit("1", path="src\\app.py"), True),
        (Hit("src/app.py::Flask.run"), True),
        (Hit("src/app.py:10-20"), True),
        (Hit("src/app.py"), True),
        (Hit("1", doc="src/app.py"), True),
        (Hit("1", path="my_src/app.py"), False),
        (Hit("1", path="app.py"), False),
        (Hit("1", path="src/App.py"), False),
    ],
)
def test_file_is_found_by_any_hit_in_it(hit: Hit, verdict: bool) -> None:
    assert matches("file", hit, Expected("src/app.py", "file")) is verdict


def test_doc_is_found_by_any_chunk_of_it() -> None:
    wanted = Expected("guide", "doc")
    assert matches("doc", Hit("guide#3", doc="guide"), wanted)
    assert matches("doc", Hit("guide"), wanted)
    assert matches("doc", Hit("3", path="guide"), wanted)
    assert not matches("doc", Hit("guide#3", doc="guide-2"), wanted)


def test_chunk_is_its_id_and_nothing_near() -> None:
    assert matches("chunk", Hit("c1", doc="d"), Expected("c1", "chunk"))
    assert not matches("chunk", Hit("c12", doc="d"), Expected("c1", "chunk"))
    assert not matches("chunk", Hit("c2", doc="c1"), Expected("c1", "chunk"))


@pytest.mark.parametrize(
    ("start", "end", "verdict"),
    [
        (1, 10, True),
        (6, 15, True),  # five of ten lines: half is enough
        (7, 16, False),  # four of ten
        (1, 4, True),  # the shorter one lies inside
        (9, 12, True),  # two of its four
        (10, 13, False),  # one of its four
        (10, 11, True),
        (11, 20, False),  # side by side
        (1, 1000, True),  # the expectation is the shorter one
        (0, 0, False),  # the system does not say
        (5, 4, False),  # a span of nothing
    ],
)
def test_span_needs_half_of_the_shorter_one(start: int, end: int, verdict: bool) -> None:
    wanted = Expected("docs/a.md", "span", start=1, end=10)
    assert matches("span", Hit("1", path="docs/a.md", start=start, end=end), wanted) is verdict
    assert (
        matches("span", Hit("1", path="docs/a.md", start=1, end=10), replace(wanted, start=start, end=end)) is verdict
    )


def test_span_needs_the_same_document() -> None:
    wanted = Expected("c1", "span", doc="guide", start=1, end=10)
    assert matches("span", Hit("9", doc="guide", start=1, end=10), wanted)
    assert not matches("span", Hit("9", doc="other", start=1, end=10), wanted)
    assert not matches("span", Hit("c1", doc="other", start=1, end=10), wanted)


@pytest.mark.parametrize(("page", "verdict"), [(12, True), (11, False), (0, False)])
def test_where_a_page_is_expected_it_decides_and_lines_do_not(page: int, verdict: bool) -> None:
    wanted = Expected("manual.pdf", "span", page=12)
    assert matches("span", Hit("1", path="docs/manual.pdf", start=1, end=10, page=page), wanted) is verdict
    assert not matches("span", Hit("1", path="other.pdf", page=12), wanted)


# --- which matcher ---


def test_an_unknown_matching_offers_the_nearest() -> None:
    assert matcher("strict") is MATCHERS["strict"]
    with pytest.raises(
        AssayError, match=r"unknown matching 'stirct'\. Did you mean 'strict'\? Known: exact, symbol, .*span"
    ):
        matcher("stirct")


@pytest.mark.parametrize(
    ("levels", "chosen"),
    [
        (("symbol", "file"), "strict"),
        (("doc", "chunk"), "chunk"),
        (("doc", "span"), "span"),
        (("file",), "file"),
        (("doc",), "doc"),
        ((), "strict"),
    ],
)
def test_the_default_matcher_is_that_of_the_finest_level(levels: tuple[str, ...], chosen: str) -> None:
    expected = (*(Expected("x", level) for level in levels), Expected("x", "chunk", grade=0))
    golden = GoldenSet((GoldenQuery("q", "?", expected),), "g.yaml", "golden", "0")
    assert default_for(golden).name == chosen
    assert default_for(golden).level == MATCHERS["exact"].level_for(golden)


# --- laws ---

_PART = st.sampled_from(["a", "b", "A", "B", "_C", "x1", "Map<K>", "<init>"])
_SYMBOL = st.builds(
    lambda parts, separators: "".join(itertools.chain(*zip(parts[:-1], separators, strict=False))) + parts[-1],
    st.lists(_PART, min_size=1, max_size=4),
    st.lists(st.sampled_from([".", ".", "::", "#"]), min_size=4, max_size=4),
)
_PATH = st.sampled_from(["", "", "a.py", "src/a.py", "src/b.py", "lib/src/a.py", "src/c.php", "src/README"])
_NAME = st.builds(lambda path, symbol: f"{path}::{symbol}" if path else symbol, _PATH, _SYMBOL)
_HIT = st.builds(
    Hit, id=_NAME, symbol=st.one_of(st.just(""), _SYMBOL), path=_PATH, doc=_PATH,
    start=st.integers(0, 5), end=st.integers(0, 9),
)  # fmt: skip
_GRADE = st.sampled_from([1, 1, 1, 2, 3, 0, -1])
_EXPECTED = st.builds(Expected, name=_NAME, grade=_GRADE)
_LISTS = st.tuples(
    st.lists(_HIT, max_size=8),
    st.lists(_EXPECTED, min_size=1, max_size=5, unique_by=lambda one: one.name),
)
STRICTER = [("exact", "strict"), ("strict", "dotted"), ("exact", "dotted"), ("exact", "symbol")]
CUTS = (1, 2, 3, 5, 8)
MONOTONE = [
    f"{name}@{k}" for name in ("P", "R", "RR", "Success", "F1", "AP", "nDCG", "nDCG(dcg=exp-log2)") for k in CUTS
]
MONOTONE += [
    "R",
    "RR",
    "AP",
    "nDCG",
    "P(rel=2)@5",
    "R(rel=2)@5",
    "AP(rel=2)",
    "P(over=returned)@5",
    "R(count=matches)@5",
]


@given(_NAME, st.sampled_from([one for one in MATCHERS.values() if one.level in ("", "symbol")]))
def test_a_hit_called_as_expected_matches(name: str, by: Matcher) -> None:
    path, symbol = path_in(name), name.removeprefix(path_in(name) + "::")
    for hit in (Hit(name), Hit("1", symbol=name), Hit(name, symbol=symbol, path=path)):
        assert by.matches(hit, Expected(name))


@given(st.text(min_size=1), _PATH.filter(bool), st.integers(1, 99), st.integers(0, 99))
def test_a_hit_made_from_a_file_document_chunk_or_span_matches_it(name: str, path: str, start: int, more: int) -> None:
    assert matches("file", Hit("1", path=path), Expected(path, "file"))
    assert matches("doc", Hit("1", doc=name), Expected(name, "doc"))
    assert matches("chunk", Hit(name), Expected(name, "chunk"))
    assert matches("exact", Hit(name), Expected(name, "chunk"))
    spanned = Expected(path, "span", start=start, end=start + more)
    assert matches("span", Hit("1", path=path, start=start, end=start + more), spanned)


@given(_HIT, _EXPECTED)
def test_what_a_stricter_matcher_accepts_the_more_generous_one_accepts(hit: Hit, expected: Expected) -> None:
    for narrow, wide in STRICTER:
        assert matches(narrow, hit, expected) <= matches(wide, hit, expected), (narrow, wide)


@settings(max_examples=examples(200))
@given(_LISTS)
def test_a_stricter_matcher_never_scores_higher(lists: tuple[list[Hit], list[Expected]]) -> None:
    figures = {name: score(name, *lists, MONOTONE) for name in {name for pair in STRICTER for name in pair}}
    for narrow, wide in STRICTER:
        for measure in MONOTONE:
            low, high = figures[narrow][measure], figures[wide][measure]
            assert (math.isnan(low) and math.isnan(high)) or low <= high + 1e-12, (narrow, wide, measure)


@given(_LISTS, st.sampled_from(list(MATCHERS)))
def test_every_measure_stays_between_zero_and_one(lists: tuple[list[Hit], list[Expected]], name: str) -> None:
    hits, expected = lists
    level = MATCHERS[name].level or "symbol"
    query = GoldenQuery("q", "?", tuple(replace(one, level=level, start=1, end=5) for one in expected))
    judged = judge([query], [Response(tuple(hits))], MATCHERS[name], level)
    for measure in [*MONOTONE, "Judged@5", "DocR@5", "duplicate_rate"]:
        value = parse(measure).values(judged)[0]
        assert math.isnan(value) or 0 <= value <= 1 + 1e-12 or "count=matches" in measure, measure


@given(_LISTS, st.sampled_from(list(MATCHERS)), st.integers(1, 9))
def test_a_cut_off_is_the_same_as_a_shorter_list(lists: tuple[list[Hit], list[Expected]], name: str, cut: int) -> None:
    hits, expected = lists
    whole, start = mark(hits, expected, MATCHERS[name]), mark(hits[:cut], expected, MATCHERS[name])
    for kind in ("hits", "found", "pairs"):
        assert [one for one in getattr(whole, kind) if one[0] <= cut] == getattr(start, kind)


@given(_LISTS, st.sampled_from(list(MATCHERS)))
def test_no_one_to_one_pairing_finds_more(lists: tuple[list[Hit], list[Expected]], name: str) -> None:
    hits, expected = lists
    by = MATCHERS[name]
    first = {hit.id: (rank, hit) for rank, hit in reversed(list(enumerate(hits, 1)))}
    pairs = mark(hits, expected, by).pairs
    for cut in (3, 8):
        for grade in (1, 2):
            wanted = [one for one in expected if one.grade >= grade]
            table = [[by.matches(hit, one) for one in wanted] for rank, hit in first.values() if rank <= cut]
            assert sum(rank <= cut and got >= grade for rank, got in pairs) == _largest_pairing(table, len(wanted))


def _largest_pairing(table: list[list[bool]], columns: int) -> int:
    """By brute force over which columns are used: the reference for `Pairing`."""
    reachable = {frozenset[int]()}
    for row in table:
        reachable |= {
            used | {column} for used in reachable for column in range(columns) if row[column] and column not in used
        }
    return max(map(len, reachable))


def test_each_expectation_is_placed_at_the_hit_that_is_paired_with_it() -> None:
    gold = [Expected("y/b.py::walk"), Expected("x/a.py::walk")]
    hits = [
        Hit("x/a.py::other", symbol="walk", path=""),
        Hit("walk"),
        Hit("y/b.py::walk", symbol="walk", path="y/b.py"),
    ]
    marked = mark(hits, gold, MATCHERS["strict"])
    assert [rank for rank, _ in marked.pairs] == [1, 2]
    assert marked.places == {1: 1, 0: 2}


def test_a_hit_that_fits_two_gives_way_to_one_that_fits_only_the_one_it_took() -> None:
    gold = [Expected("Beta.A.run"), Expected("C.A.run")]
    hits = [Hit("A.run"), Hit("Beta.A.run")]  # the first fits both and would take the longer name
    marked = mark(hits, gold, MATCHERS["strict"])
    assert marked.pairs == [(1, 1), (2, 1)]
    assert marked.places == {0: 2, 1: 1}


def test_the_best_grade_is_paired_first_and_then_the_most_qualified_name() -> None:
    graded = [Expected("run", grade=1), Expected("A.run", grade=3)]
    assert mark([Hit("A.run"), Hit("B.run")], graded, MATCHERS["strict"]).pairs == [(1, 3), (2, 1)]
    assert mark([Hit("B.run"), Hit("A.run")], graded, MATCHERS["strict"]).pairs == [(1, 1), (2, 3)]
    against = [Expected("Application.run", grade=1), Expected("run", grade=3)]
    assert mark([Hit("Application.run"), Hit("Application.run", path="x")], against, MATCHERS["strict"]).pairs == [
        (1, 3)
    ]
    bare = [Expected("run"), Expected("Application.run")]
    assert mark([Hit("Application.run")], bare, MATCHERS["strict"]).places == {1: 1}
    assert mark([Hit("Application.run"), Hit("B.run")], bare, MATCHERS["strict"]).places == {1: 1, 0: 2}


def test_a_result_listed_again_is_never_relevant_again() -> None:
    for name in MATCHERS:
        level = MATCHERS[name].level or "symbol"
        expected = [Expected("a.py", level, start=1, end=2), Expected("b.py", level, start=1, end=2)]
        hits = [Hit("a.py", path="a.py", start=1, end=2)] * 3
        marked = mark(hits, expected, MATCHERS[name])
        assert marked.hits == marked.pairs == [(1, 1)], name


# --- the benchmark's strict score, on data where no hit can be claimed by two expectations of different length ---

_ORDINARY = st.lists(
    st.builds(
        "{}.{}".format, st.sampled_from(["Flask", "Blueprint", "Client"]), st.sampled_from(["run", "get", "use"])
    ),
    max_size=12,
)


@given(_ORDINARY, _ORDINARY.filter(bool))
def test_strict_scores_as_the_cross_repository_benchmark_does(names: list[str], truth: list[str]) -> None:
    gold = list(dict.fromkeys(truth))
    left, flags = list(gold), []
    for name in names:
        flags.append(name in left)
        if name in left:
            left.remove(name)
    gains = [flag / math.log2(place + 2) for place, flag in enumerate(flags)]
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(gold), 10)))
    figures = score(
        "strict",
        [Hit(f"src/a.py::{name}") for name in names],
        list(map(Expected, gold)),
        ["P@10", "R@10", "nDCG@10", "RR"],
    )
    first = next((1 / (place + 1) for place, flag in enumerate(flags) if flag), 0.0)
    wanted = {
        "P@10": sum(flags[:10]) / 10,
        "R@10": sum(flags[:10]) / len(gold),
        "nDCG@10": sum(gains[:10]) / ideal,
        "RR": first,
    }
    assert np.allclose(list(figures.values()), list(wanted.values()), rtol=0, atol=1e-12)
