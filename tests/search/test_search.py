"""`assay search`: results and order over passages and definitions, filters, output, and freshness."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from copy import copy
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import assay as package
from assay.api import Repository as Opened
from assay.errors import AssayError
from assay.rank.arrays import Floats, Ints
from assay.search.embed import Candidate, Role, Vectors
from assay.search.embed.lsa import Lsa
from assay.search.filters import Filters, _matches
from assay.search.hits import Scored, SearchHit
from assay.search.search import Search, question_terms, question_words
from assay.store import passages
from assay.store.index import NoIndex
from assay.store.passages import Passages
from assay.text.terms import terms
from support import documents
from support.command import COMMAND, ENVIRONMENT, assay
from support.model_server import run_model_server
from support.paths import ROOT
from support.repository import Repository
from support.trust import trust_settings
from support.waiting import PATIENCE

PUMPS = """\
def start_pumps(station):
    \"\"\"Starts the pumps of a station, one after the other.\"\"\"
    for pump in station.pumps:
        pump.start()


class Valve:
    \"\"\"A valve that opens and closes.\"\"\"

    def open(self):
        self.state = "open"
"""
GUIDE = """\
# Waterworks

Welcome to the manual of the station. It is read from the first page to the last by everybody who works here, once.

## Starting

Pumps must be started before any valve is opened, or the pipe bursts. Use `start_pumps` for it and wait for the pressure.

## Emergencies

When a pipe bursts, close the valve nearest to it and call the plumber, whose number is written on the wall.
"""


@pytest.fixture
def station(repository: Repository) -> Repository:
    repository.write("src/pumps.py", PUMPS)
    repository.write("docs/guide.md", GUIDE)
    repository.write("docs/manual.pdf", documents.pdf("Contents of this book", "The turbine is greased on Mondays."))
    repository.commit()
    repository.index()
    return repository


@pytest.fixture
def opened(station: Repository) -> Iterator[Opened]:
    with package.open(station.root) as repo:
        yield repo


def _places(found: list[SearchHit]) -> list[str]:
    return [one.place for one in found]


def _spread(found: Sequence[SearchHit]) -> list[SearchHit]:
    """Hits by falling score, those of a file after its first two last."""
    ordered = sorted(found, key=lambda one: -one.score)
    early = [one for rank, one in enumerate(ordered) if sum(other.path == one.path for other in ordered[:rank]) < 2]
    return [*early, *(one for one in ordered if one not in early)]


# what is found


def test_documents_and_code_stand_in_one_list_with_places_to_cite(opened: Opened) -> None:
    found = opened.search("start the pumps")
    assert {one.kind for one in found} >= {"passage", "function"}
    function = next(one for one in found if one.kind == "function")
    assert (function.id, function.place, function.title) == (
        "src/pumps.py::start_pumps",
        "src/pumps.py:1-4",
        "function start_pumps",
    )
    passage = next(one for one in found if one.kind == "passage")
    assert (passage.place, passage.title) == ("docs/guide.md:5-7", "Waterworks > Starting")
    assert "before any valve is opened" in passage.text
    assert found == _spread(found)
    assert found != sorted(found, key=lambda one: -one.score), "the third hit in the code comes after the passage"
    assert all(0 < one.score < 1 for one in found), "scores are probabilities"


def test_a_page_is_cited_where_there_are_pages(opened: Opened) -> None:
    (found,) = opened.search("when is the turbine greased", 1)
    assert (found.place, found.page, found.language) == ("docs/manual.pdf, page 2", 2, "pdf")


def test_a_rare_word_counts_more_than_a_common_one(opened: Opened, repository: Repository) -> None:
    assert opened.search("valve plumber", 1, code=False)[0].title == "Waterworks > Emergencies"
    filler = "Sentences that say nothing in particular but are long enough to stand by themselves as one passage. "
    sections = [f"# Part\n\n{filler} Another apple.\n" for _ in range(5)]
    repository.write("fruit.md", "\n".join([*sections, f"# Last\n\n{filler} Another quince.\n"]))
    with package.open(repository.root, index=True) as repo:
        found = repo.search("apple quince", code=False, paths=["fruit.md"])
    assert max(found, key=lambda one: one.lexical).title == "Last"


def test_words_of_the_heading_count_more_than_those_of_the_text(repository: Repository) -> None:
    filler = "Sentences that say nothing in particular but are long enough to stand by themselves as one passage. "
    repository.write("a.md", f"# Apples\n\n{filler}\n\n# Pears\n\n{filler} Apples are mentioned.\n")
    with package.open(repository.root, index=True) as repo:
        assert [one.title for one in repo.search("apples")] == ["Apples", "Pears"]


def test_nothing_is_found_for_words_nobody_uses(opened: Opened) -> None:
    assert opened.search("zebra") == []
    assert opened.search("the of and") == []


def test_of_a_long_definition_the_lines_that_say_most_are_cited(repository: Repository) -> None:
    methods = "".join(
        f"    def step_{n}(self):\n        return self.machine.advance({n}, 'ordinary words here')\n\n"
        for n in range(80)
    )
    repository.write("a.py", f"class Machine:\n{methods}    def last(self):\n        return 'turbine grease'\n")
    with package.open(repository.root, index=True) as repo:
        found = next(one for one in repo.search("Machine turbine grease") if one.symbol == "Machine")
    assert found.start > 200
    assert "turbine grease" in found.text


def test_a_file_that_changed_is_shown_by_what_was_indexed(station: Repository) -> None:
    station.write("src/pumps.py", "# all gone\n")
    with package.open(station.root) as repo:
        found = next(one for one in repo.search("start pumps") if one.kind == "function")
    assert "Starts the pumps of a station" in found.text


def test_questions_that_cannot_be_answered_are_refused(
    opened: Opened, repository: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for arguments, said in (
        ({"query": " "}, "some words"),
        ({"query": "x", "k": 0}, "at least 1"),
        ({"query": "x", "chunker": "no"}, "no chunker"),
    ):
        with pytest.raises(AssayError, match=said):
            opened.search(**arguments)
    with pytest.raises(AssayError, match="python"):
        opened.search("x", languages=["pyton"])
    with pytest.raises(NoIndex):
        Opened(tmp_path_factory.mktemp("empty")).search("x")


def test_a_huge_or_odd_query_is_answered(opened: Opened) -> None:
    for query in ("pump " * 100_000, "\0\x1b[31m", "🙂", "'\"; DROP TABLE", "((((", "\ud800"):
        opened.search(query)


def test_a_repository_without_documents_or_without_code_is_searched(repository: Repository) -> None:
    repository.write("a.py", "def pump():\n    return 1\n")
    with package.open(repository.root, index=True) as repo:
        assert [one.symbol for one in repo.search("pump")] == ["pump"]
    (repository.root / "a.py").unlink()
    repository.write("a.md", "# Pump\n\nText.\n")
    with package.open(repository.root, index=True) as repo:
        assert [one.title for one in repo.search("pump")] == ["Pump"]


# confined


def test_a_search_is_confined_by_path_language_kind_and_source(opened: Opened) -> None:
    query = "pumps valve turbine"
    everything = opened.search(query)
    assert {one.path for one in everything} == {"src/pumps.py", "docs/guide.md", "docs/manual.pdf"}
    for filters, paths in (
        ({"paths": ["src/"]}, {"src/pumps.py"}),
        ({"paths": ["*.md", "src/*"]}, {"docs/guide.md", "src/pumps.py"}),
        ({"paths": ["nowhere/"]}, set()),
        ({"languages": ["python"]}, {"src/pumps.py"}),
        ({"languages": ["PDF", "markdown"]}, {"docs/guide.md", "docs/manual.pdf"}),
        ({"kinds": ["passage"]}, {"docs/guide.md", "docs/manual.pdf"}),
        ({"kinds": ["class"]}, {"src/pumps.py"}),
        ({"code": False}, {"docs/guide.md", "docs/manual.pdf"}),
        ({"documents": False}, {"src/pumps.py"}),
    ):
        found = opened.search(query, **filters)
        assert {one.path for one in found} == paths, filters
        kept = {one.id: one.lexical for one in everything}
        assert all(
            one.lexical == kept[one.id] for one in found
        )  # filters choose, they do not change what the words of a result are worth


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("docs/", "docs/a/b.md", True), ("docs", "docs/a.md", True), ("docs/*", "docs/a/b.md", True), ("docs/**/*.md", "docs/a/b.md", True),
        ("**/*.md", "a.md", True), ("*.md", "docs/a.md", True), ("./docs/a.md", "docs/a.md", True), ("docs", "docs2/a.md", False),
        ("*.md", "a.mdx", False), ("a.md", "docs/a.md", False),
    ],
)  # fmt: skip
def test_patterns_of_paths_mean_what_people_expect(pattern: str, path: str, matches: bool) -> None:
    assert _matches(path, pattern) is matches


def test_only_files_changed_since_a_commit_or_a_day(station: Repository) -> None:
    station.git("tag", "v1")
    station.write("docs/news.md", "# News\n\nThe pumps are new.\n")
    station.commit()
    station.write("docs/draft.md", "# Draft\n\nPumps again.\n")
    station.index()
    with package.open(station.root) as repo:
        assert {one.path for one in repo.search("pumps", since="v1")} == {"docs/news.md", "docs/draft.md"}
        assert {one.path for one in repo.search("pumps", since="HEAD")} == {"docs/draft.md"}
        assert len({one.path for one in repo.search("pumps", since="2001-01-01", embedder="none")}) == 4
        assert _places(repo.search("pumps", since="2001-01-01")) == _places(repo.search("pumps"))
        for when in ("2026-13-40", "nonsense", "--all"):
            with pytest.raises(AssayError, match="--since"):
                repo.search("pumps", since=when)


def test_outside_git_the_time_of_a_file_counts(station: Repository) -> None:
    subprocess.run(["rm", "-rf", ".git"], cwd=station.root, check=True)
    os.utime(station.root / "docs/guide.md", (1, 1))
    station.index()
    with package.open(station.root) as repo:
        assert "docs/guide.md" not in {one.path for one in repo.search("pumps", since="2001-01-01")}
        with pytest.raises(AssayError, match="not under git"):
            repo.search("pumps", since="v1")


# other rankings


class _Known:
    """A meaning that knows only these passages, by number and cosine with every query; all are alike that are named so."""

    def __init__(self, *found: tuple[int, float], alike: frozenset[int] = frozenset()) -> None:
        self._found, self._alike = found, alike

    def near(self, query: str, count: int, besides: Ints, among: Ints | None) -> tuple[Ints, Floats]:
        kept = [(number, cosine) for number, cosine in self._found if among is None or number in among]
        return np.array([number for number, _ in kept], np.int64), np.array([cosine for _, cosine in kept])

    def alike(self, passages: Ints) -> Floats:
        return np.array(
            [[float({one, other} <= self._alike) for other in passages.tolist()] for one in passages.tolist()]
        ).reshape(len(passages), len(passages))


def _ranked_passages(search: Search, query: str, known: _Known) -> list[Scored]:
    """The ranking of passages that is merged with code."""
    everything = np.ones(len(search.passages), bool)
    return search.passage_ranker.ranked(query, question_words(query), 10, everything, known)


def _with(search: Search, **parts: object) -> Search:
    """Return a search with another vector index or reranker."""
    other = copy(search)
    other.__dict__.update(parts)
    return other


def test_what_repeats_a_better_passage_counts_less(opened: Opened) -> None:
    search = opened.searcher(embedder="none")
    known = [(0, 0.9), (1, 0.8), (2, 0.7)]
    assert [one.number for one in _ranked_passages(search, "zyzzyva", _Known(*known))] == [0, 1, 2]
    copied = _ranked_passages(search, "zyzzyva", _Known(*known, alike=frozenset({0, 1})))
    assert [one.number for one in copied] == [0, 2, 1]


def test_the_nearest_in_meaning_comes_first_if_no_word_tells_passages_apart(opened: Opened) -> None:
    search = opened.searcher(embedder="none")
    found = _with(search, vector_index=_Known((0, 0.9), (1, 0.6), (2, 0.5))).ranked("zyzzyva")
    assert [one.id for one in found] == [search.passages[number].id for number in range(3)]


def test_what_is_near_in_meaning_joins_what_the_words_found(opened: Opened) -> None:
    search = opened.searcher(embedder="none")
    turbine = next(n for n in range(len(search.passages)) if "turbine" in search.passages[n].text)
    page = "docs/manual.pdf, page 2"
    known = _Known((turbine, 0.8))
    assert page not in _places(search.ranked("start the pumps"))
    blended = {one.number: one for one in _ranked_passages(search, "start the pumps", known)}
    assert blended[turbine][1:4] == (0.5, 0.0, 0.8)
    best = max(blended.values(), key=lambda one: one.lexical)
    assert isnan(best.vector)
    assert best.score == 1.0, "what has no vector is judged by its words alone"
    informed = _with(search, vector_index=known)
    merged = informed.ranked("start the pumps")
    joined = merged[_places(merged).index(page)]
    assert (joined.vector, joined.lexical) == (0.8, 0.0)
    assert 0 < joined.score < merged[0].score
    confined = informed.ranked("start the pumps", filters=Filters(paths=("src/",)))
    assert {one.path for one in confined} == {"src/pumps.py"}


def test_the_table_that_ships_with_assay_finds_what_no_word_and_no_embedder_does(opened: Opened) -> None:
    assert _places(opened.search("windmill", documents=True, code=False)) == ["docs/manual.pdf, page 2"]
    assert opened.search("windmill", embedder="none") == []
    assert opened.search("giraffe elephant") == [], "a similarity next to nothing is none"


def test_general_vectors_are_weighed_by_how_well_the_words_match(opened: Opened) -> None:
    searcher = opened.searcher()
    first = len(searcher.passages)
    for query in ("start the pumps", "windmill"):
        mask = searcher.allowed(query, Filters())[:first]
        _, values = searcher.passage_candidates(query, 10, mask, None)
        expected = values["general vector, relative"] * values["lexical"].max()
        assert values["general vector, relative × lexical match"] == pytest.approx(expected)
    assert not expected.any(), "no passage has the word"


def test_what_no_word_found_must_be_half_as_near_as_the_nearest(opened: Opened) -> None:
    search = opened.searcher(embedder="none")
    turbine = next(n for n in range(len(search.passages)) if "turbine" in search.passages[n].text)
    plumber = next(n for n in range(len(search.passages)) if "plumber" in search.passages[n].text)
    far, near = search.passages[turbine].id, search.passages[plumber].id
    for cosine, expected in ((0.39, {near}), (0.41, {near, far})):
        found = _with(search, vector_index=_Known((plumber, 0.8), (turbine, cosine))).ranked("zyzzyva")
        assert {one.id for one in found} == expected


def test_the_embedder_of_the_configuration_finds_what_is_said_in_other_words(station: Repository) -> None:
    def answer(path: str, body: dict[str, Any]) -> dict[str, Any]:
        rows = [[1.0, 0.0] if re.search("turbine|windmill", text) else [0.0, 1.0] for text in body["input"]]
        return {"data": [{"index": place, "embedding": row} for place, row in enumerate(rows)]}

    with run_model_server(answer) as server:
        station.write("assay.toml", f'[search]\nembedder = "openai:{server.url}/v1#small"\n')
        trust_settings(station.root)
        for _ in range(2):
            found = assay(station.root, "search", "windmill", "--format", "json").json
            passages = [one for one in found["results"] if one["kind"] == "passage"]
            assert [(one["path"], one["page"], one["vector"]) for one in passages] == [("docs/manual.pdf", 2, 1.0)]
            assert found["embedder"] == f"openai:{server.url}/v1#small"
        texts = [text for body in server.asked for text in body["input"]]
        assert len(texts) == len(set(texts)), "neither a passage nor a question is embedded twice"
        assert assay(station.root, "search", "windmill", "--embedder", "none").code == 1


class _ShortestFirst:
    name = "shortest"

    def scores(self, query: str, candidates: Sequence[Candidate]) -> NDArray[np.float64]:
        return np.array([-float(len(candidate.text)) for candidate in candidates])


def test_a_reranker_has_the_last_word(opened: Opened) -> None:
    search = _with(opened.searcher(), reranker=_ShortestFirst())
    assert [len(one.text) for one in search.ranked("pumps valve", 2)] == sorted(
        len(one.text) for one in opened.searcher().ranked("pumps valve", 50)
    )[:2]


def test_the_features_of_query_terms_are_part_of_the_score_not_a_stage_after_it(opened: Opened) -> None:
    with_terms, without = (opened.search("pumps valve", reranker=name) for name in ("features", "none"))
    assert with_terms == _spread(with_terms)
    passage = next(one for one in with_terms if one.kind == "passage")
    other = next(one for one in without if one.id == passage.id)
    assert passage.contributions["reranker"] != other.contributions["reranker"]
    changed = {name for name, amount in passage.contributions.items() if amount != other.contributions[name]}
    assert changed == {"reranker"}, "the blended score stands for it without one"
    assert passage.score != other.score


def test_vectors_are_made_once_and_follow_the_passages(station: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    embedded: list[str] = []
    embed = Lsa.embed

    def noted(self: Lsa, texts: Sequence[str], role: Role = "passage") -> Vectors:
        embedded.extend(texts if role == "passage" else ())
        return embed(self, texts, role)

    monkeypatch.setattr(Lsa, "embed", noted)

    def searched() -> int:
        embedded.clear()
        with package.open(station.root) as repo:
            repo.search("pumps")
        return len(embedded)

    assert searched() > 3
    assert searched() == 0
    station.write("docs/other.md", "# Numbers\n\nThe plumber has none.\n")
    station.index()
    assert searched() > 3, "trained on the present passages"
    (station.root / ".assay" / "vectors.db").unlink()
    assert searched() == 0, "the same passages make the same table, so their stored vectors hold"


@pytest.mark.parametrize("lost", ["file-vectors.npz", "vectors-*.npz", "passages-*.npz"])
def test_a_repository_is_searchable_without_delay_only_if_all_its_parts_are_stored(
    station: Repository, lost: str
) -> None:
    with package.open(station.root) as repo:
        assert not repo.is_searchable()
        repo.search("pumps")
        assert repo.is_searchable()
        for path in sorted((station.root / ".assay").glob(lost)):  # each of several vector files counts
            content = path.read_bytes()
            path.unlink()
            assert not repo.is_searchable()
            path.write_bytes(content)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--embedder", "bert"], "unknown embedder 'bert'. Three ways to get an embedder"),
        (["--embedder", "folder:nowhere"], "nowhere"),
        (["--reranker", "best"], "unknown reranker 'best'. Three ways to get a reranker"),
    ],
)
def test_a_model_that_is_missing_is_an_error_that_says_how_to_get_one(
    station: Repository, option: list[str], said: str
) -> None:
    answer = assay(station.root, "search", "pumps", *option)
    assert answer.code == 2
    assert said in answer.err


# kept up to date


def test_passages_follow_the_documents_when_those_are_indexed_again(station: Repository) -> None:
    def titles() -> list[str]:
        with package.open(station.root) as repo:
            return [one.title for one in repo.search("plumber", code=False, embedder="none")]

    assert titles() == ["Waterworks > Emergencies"]
    station.write("docs/guide.md", GUIDE.replace("plumber", "engineer"))
    station.write("docs/other.md", "# Numbers\n\nThe plumber has none.\n")
    station.index()
    assert titles() == ["Numbers"]
    (station.root / "docs/other.md").unlink()
    station.index()
    assert titles() == []


def test_a_document_that_did_not_change_is_not_divided_again(
    station: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with package.open(station.root) as repo:
        repo.search("pumps")
    station.write("docs/other.md", "# Other\n\nPumps.\n")
    station.index()
    divided = tmp_path / "divided"  # a file: documents are divided in another process
    from assay.index import parse
    from assay.index.documents.facts import extract_passages

    def watch(data: bytes, *rest: Any) -> Any:
        with divided.open("ab") as file:
            file.write(data)
        return extract_passages(data, *rest)

    monkeypatch.setattr(parse, "extract_passages", watch)
    with package.open(station.root) as repo:
        repo.search("pumps")
        repo.search("valve")
    assert divided.read_bytes() == b"# Other\n\nPumps.\n"


def test_damaged_passages_are_made_again(station: Repository) -> None:
    with package.open(station.root) as repo:
        before = _places(repo.search("pumps"))
    (path,) = station.home.folder.glob("passages-*.npz")
    for damage in (b"", b"PK nothing", path.read_bytes()[:300]):
        path.write_bytes(damage)
        with package.open(station.root) as repo:
            assert _places(repo.search("pumps")) == before


def test_two_searches_at_once_make_the_passages_once(station: Repository) -> None:
    command = [*COMMAND, "search", "pumps", "--format", "json"]
    running = [
        subprocess.Popen(command, cwd=station.root, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    printed = [one.communicate(timeout=PATIENCE)[0] for one in running]
    assert len(set(printed)) == 1
    assert all(one.returncode == 0 for one in running)


def test_each_chunker_has_passages_of_its_own(opened: Opened) -> None:
    whole, small = (opened.search("plumber", 1, chunker=spec)[0] for spec in ("structure:512", "tokens:32:8"))
    assert whole.id != small.id
    assert len(small.text) < len(whole.text)
    assert opened.searcher("tokens:32:8") is opened.searcher("tokens:32:8")


# the arrays


def test_passages_are_stored_as_they_were_read(station: Repository) -> None:
    with package.open(station.root) as repo:
        stored = repo.searcher().passages
    found = [stored[number] for number in range(len(stored))]
    assert [one.path for one in found] == sorted(one.path for one in found)
    for one in found:
        if one.language == "markdown":
            assert GUIDE[one.start : one.end] == one.text
            assert GUIDE.split("\n")[one.first - 1 : one.last] == one.text.split("\n")
    for word in terms("pumps valve guide starting turbine"):
        numbers, counts = stored.having(word)
        expected = {
            one.number: [
                terms(" ".join(one.headings)).count(word),
                terms(one.path).count(word),
                terms(one.text).count(word),
            ]
            for one in found
        }
        assert {n: row.tolist() for n, row in zip(numbers.tolist(), counts, strict=True)} == {
            n: row for n, row in expected.items() if any(row)
        }
    assert stored.lengths[:, 2].tolist() == [len(terms(one.text)) for one in found]
    assert np.array_equal(stored.documents, np.sort(stored.documents))


def test_no_passages_at_all_can_be_stored(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("none") / "passages.npz"
    passages.write(path, "key", "structure:512@1", [])
    stored = Passages.open(path)
    assert len(stored) == 0
    assert [len(values) for values in stored.having("x")] == [0, 0]
    assert passages.key_at(path) == "key"


# the command


def test_the_command_prints_places_and_lines_and_plain_text_when_piped(station: Repository) -> None:
    done = assay(station.root, "search", "what to do when a pipe bursts")
    assert done.code == 0
    assert done.lines[0].startswith("docs/guide.md:9-11  Waterworks > Emergencies")
    assert "When a pipe bursts, close the valve nearest to it" in done.out
    assert "\x1b" not in done.out


def test_words_stand_out_in_a_terminal() -> None:
    found = SearchHit(
        "i",
        "passage",
        "a.md",
        "markdown",
        1,
        1,
        0,
        (),
        "",
        1.0,
        1.0,
        nan,
        "Pumps are pumping.\nNo.",
        "a.md:1-1",
        frozenset(terms("pump")),
    )
    assert found.marked("Two pumps, pumping_it.") == [
        ("Two ", False),
        ("pumps", True),
        (", ", False),
        ("pumping_it", True),
        (".", False),
    ]
    assert found.snippet(1) == ["Pumps are pumping."]


def test_the_json_of_a_search_is_stable(station: Repository) -> None:
    answer = assay(station.root, "search", "start pumps valve", "--format", "json", "-k", "2").json
    used = {"chunker": "structure:512", "embedder": "lsa", "reranker": "features"}
    assert {"query": "start pumps valve", **used, "fresh": True}.items() <= answer.items()
    for rank, one in enumerate(answer["results"], 1):
        assert one["rank"] == rank
        wanted = {"rank", "id", "kind", "path", "language", "start", "end", "citation", "score", "lexical", "text"}
        assert set(one) == wanted | ({"headings", "vector"} if one["kind"] == "passage" else {"symbol"})
    page = assay(station.root, "search", "turbine", "--format", "json", "--documents-only").json["results"][0]
    assert (page["page"], page["citation"]) == (2, "docs/manual.pdf, page 2")


def test_the_command_says_when_nothing_was_found_and_when_the_index_is_old(station: Repository) -> None:
    done = assay(station.root, "search", "zebra")
    assert (done.code, done.out) == (1, "nothing found among 5 passages and 4 definitions\n")
    station.write("docs/guide.md", "# Other\n")
    stale = "1 file changed since it was indexed; run: assay index\n"
    assert assay(station.root, "search", "pumps", "--no-refresh").err == stale
    assert assay(station.root, "search", "pumps", "--no-refresh", "--format", "json").json["fresh"] is False
    assert assay(station.root, "search", "pumps").err == "", "brought up to date"
    assert assay(station.root, "search", "pumps", "--no-refresh", "--format", "json").json["fresh"] is True


def test_bad_options_of_the_command_are_explained(station: Repository) -> None:
    for arguments in (
        ["--documents-only", "--code-only"],
        ["--language", "klingon"],
        ["--chunker", "tokens:1"],
        ["--since", "yesterday"],
        ["--kind", "opera"],
        ["-k", "0"],
    ):
        done = assay(station.root, "search", "pumps", *arguments)
        assert done.code == 2
        assert done.err.strip()


# the guide


def test_the_python_of_the_guide_runs(
    station: Repository, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    guide = (ROOT / "docs/guides/search.md").read_text("utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```$", guide, re.S | re.M)
    monkeypatch.chdir(station.root)
    exec(block, {"assay": package})
    assert "docs/guide.md:5-7 Waterworks > Starting" in capsys.readouterr().out


# the words of a question


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Why doesn't my pump start?", {"whi", "pump", "start"}),
        ("How do I remove old valves, and create new ones?", {"remov", "old", "valv", "creat", "new"}),
        ("It's the HTTPServer", {"http", "server"}),
        ("what is it", set()),
        ("I needn't say what's wrong, and you've can’t I'd", {"say", "said", "wrong"}),
        ("Why are cookies kept?", {"whi", "cooki", "kept", "keep"}),
        ("Which licence?", {"licenc", "licens"}),
    ],
)
def test_a_question_is_searched_by_what_it_is_about_and_what_is_to_be_done(question: str, expected: set[str]) -> None:
    assert question_terms(question).keys() == expected


def test_forms_of_a_word_are_one_word_of_a_question() -> None:
    assert question_words("the colour, color and colours that ran or run") == [("colour", "color"), ("ran", "run")]


def test_a_word_counts_once_however_it_is_spelled(repository: Repository) -> None:
    one = "The colour of the pump says how warm it is, as the plumber knows. " * 2
    both = one.replace("colour", "color", 1)
    repository.write("one.md", f"# Pump\n\n{one}")
    repository.write("both.md", f"# Pump\n\n{both}")
    repository.write("other.md", "# Valve\n\nThe valve is opened by hand and closed again before it gets dark.\n")
    assay(repository.root, "index", ".")
    found = {}
    for query in ("colour", "color", "colouring"):
        results = assay(repository.root, "search", query, "--embedder", "none", "--format", "json").json["results"]
        found[query] = {result["path"]: result["lexical"] for result in results}
    assert found["colour"] == found["color"] == found["colouring"]
    assert found["colour"]["one.md"] == found["colour"]["both.md"]
