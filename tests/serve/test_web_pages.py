"""The web pages: content, empty states, and escaping of repository text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest

from assay.api import Repository
from assay.html.elements import element
from assay.rank.explain import contributions
from assay.rank.neighbourhood import neighbourhood
from assay.rank.signals.signal import COMPONENTS
from assay.serve.web.pages.code import render_neighbourhood
from assay.serve.web.pages.passages import blocks
from assay.serve.web.pages.runs import Line, Reading, trend
from assay.serve.web.pages.shell import static
from assay.store.layout import Home
from support.command import assay
from support.web_server import Server, run_server, write_files

ALARM = "<img src=x onerror=alert(1)>"
SCRIPT = "</script><script>alert(1)</script>"
HOSTILE = {
    f"{ALARM}.py": 'def discounts_of_a_file():\n    """Discounts."""\n',
    "odd.kt": f"fun `{ALARM}`(discounts: Int) {{ }}\n",
    "page.md": f"# Discounts {SCRIPT}\n\nDiscounts {ALARM} {SCRIPT}\n",
    "text.py": f'def discounts_in_text():\n    """Discounts {SCRIPT}{ALARM}"""\n    return "{SCRIPT}"\n',
}
PAGES = ("/", "/runs", "/compare", "/sweeps", "/index")


class Elements(HTMLParser):
    """What a page is made of: its elements with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hostile repository, with runs whose texts and labels are hostile, too."""
    base = tmp_path_factory.mktemp("pages")
    made = write_files(base / f"shop {ALARM}")
    write_files(made, HOSTILE)
    golden = base / "golden.jsonl"
    queries = [
        {"id": f"q{ALARM}", "question": f"apply discounts {SCRIPT}", "expected_symbols": ["apply_discounts"]},
        {"id": "q2", "question": "send an invoice", "expected_symbols": ["send_invoice", ALARM]},
    ]
    golden.write_text("".join(json.dumps(one) + "\n" for one in queries), "utf-8")
    assert assay(made, "index").code == 0
    for system in ("assay", "assay:default,walk=0"):
        run = ("eval", "run", "--golden", golden, "--system", system, "--label", f"{ALARM}{system}")
        assert assay(made, *run).code == 0
    assert assay(made, "eval", "sweep", "--golden", golden, "--system", "assay:default", "--set", "walk=0,1").code == 0
    return made


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Server]:
    with run_server(root) as found:
        yield found


@pytest.fixture(scope="module")
def every_page(server: Server) -> dict[str, str]:
    """The pages with something on them."""
    runs = [one["run_id"] for one in server.get("/api/runs").json["runs"]]
    sweep = server.get("/api/sweeps").json["sweeps"][0]["sweep_id"]
    [passage] = [one["id"] for one in server.get("/api/search", query="discounts", path="page.md").json["results"]]
    asked = [
        *((page, {}) for page in PAGES),
        ("/", {"task": f"apply discounts {SCRIPT}", "why": "send_invoice"}),
        ("/", {"task": "discounts", "why": ALARM}),
        ("/", {"task": "zzzzz", "why": SCRIPT}),
        ("/result", {"task": "discounts", "id": f"{ALARM}.py::discounts_of_a_file"}),
        ("/result", {"task": "discounts", "id": "text.py::discounts_in_text"}),
        ("/result-part", {"task": "discounts", "id": f"odd.kt::`{ALARM}`"}),
        ("/", {"task": f"discounts {SCRIPT}", "view": "passages"}),
        ("/", {"task": f"what are discounts {ALARM}", "view": "answer"}),
        ("/", {"task": "zzzzz wwwww", "view": "answer"}),
        ("/passage", {"id": passage, "start": 1, "end": 3}),
        ("/run", {"run": runs[0]}),
        ("/compare", {"a": runs[0], "b": runs[1]}),
        ("/compare/query", {"a": runs[0], "b": runs[1], "query": f"q{ALARM}"}),
        ("/sweep", {"sweep": sweep}),
    ]
    return {f"{path} {number}": server.get(path, **values).text for number, (path, values) in enumerate(asked)}


def test_nothing_of_a_repository_becomes_markup(every_page: dict[str, str]) -> None:
    for name, page in every_page.items():
        elements = Elements(page)
        assert not elements.named("img"), name
        for attributes in elements.named("script"):
            assert (attributes.get("src") or "").startswith("/static/"), name
        for tag, attributes in elements.found:
            assert not [one for one in attributes if one.startswith("on")], (name, tag)
            address = attributes.get("href") or attributes.get("src") or attributes.get("action") or "/"
            assert address.startswith(("/", "#")), (name, tag, address)
            assert not address.startswith("//"), (name, tag, address)


def test_hostile_names_are_shown_as_they_are(every_page: dict[str, str]) -> None:
    shown = element("p", ALARM)[3:-4]
    for name in ("/ 5", "/result 8", "/result-part 10", "/ 11", "/ 12", "/passage 14", "/compare/query 17"):
        assert shown in every_page[name], name


def test_the_page_of_a_run_has_its_sanity_block(every_page: dict[str, str]) -> None:
    page = every_page["/run 15"]
    assert "Checks of the run" in page
    for check in ("judgements", "ids", "depth", "staleness"):
        assert f">{check}<" in page


def test_every_page_is_reached_from_every_page_and_says_where_it_is(server: Server) -> None:
    for path in PAGES:
        links = Elements(server.get(path).text).named("a")
        assert {one["href"] for one in links} >= set(PAGES)
        assert [one["href"] for one in links if one.get("aria-current")] == [path]


def test_a_search_ranks_and_says_what_scores_are_made_of(server: Server) -> None:
    page = server.get("/", task="apply discounts to the price").text
    first = page.index("apply_discounts")
    assert first < page.index("send_invoice")
    assert 'class="component-words"' in page
    legend = page[page.index('class="components"') :]
    assert "words" in legend[: legend.index("</ul>")]


def test_a_search_says_how_sure_it_is_and_what_to_try_when_it_is_not(server: Server) -> None:
    assert re.search(r"\d\d? % sure", server.get("/", task="apply discounts to the price").text)
    unsure = "Probably not here, or worded differently."
    assert unsure not in server.get("/", task="apply_discounts").text


def test_passages_have_their_section_their_lines_and_the_words_marked(server: Server) -> None:
    page = server.get("/", task="What is the total price of a basket?", view="passages").text
    first = page[page.index('class="results passages"') :]
    first = first[: first.index("</li>")]
    assert "<strong>Prices</strong>" in first
    assert "docs/prices.md:1-3" in first
    assert "<mark>basket</mark>" in first
    assert 'data-number="3">' in first  # the whole of it is there to be opened
    whole = server.ask("GET", next(one["href"] or "" for one in Elements(first).named("a"))).text
    assert "before the invoice is sent" in whole


def test_exact_matches_are_marked_and_the_syntax_is_explained(server: Server) -> None:
    page = server.get("/", task='"invoice is sent" kind:docs', view="passages").text
    first = page[page.index('class="results passages"') :]
    assert "<mark>invoice is sent</mark>" in first[: first.index("</li>")]
    assert "kind:docs" in server.get("/", view="passages").text
    refused = server.get("/", task="/a(/", view="passages")
    assert (refused.status, "missing )" in refused.text) == (400, True)
    assert "without some of the filters" in server.get("/", task='"zzzz zzzz"', view="passages").text


def test_lines_outside_definitions_are_found_in_their_file_and_opened(server: Server) -> None:
    page = server.get("/", task=r"/^(from|import)\b/", view="passages").text
    files = [one["href"] or "" for one in Elements(page).named("a") if "/result?" in (one["href"] or "")]
    assert files
    assert all(server.ask("GET", address).status == 200 for address in files)


def test_an_answer_cites_sources_that_stand_below_it_and_lead_to_the_text(server: Server) -> None:
    page = server.get("/", task="when are discounts applied", view="answer").text
    elements = Elements(page)
    cites = [one["href"] for one in elements.named("a") if one.get("class") == "cite"]
    sources = {f"#{one['id']}" for one in elements.named("li") if (one.get("id") or "").startswith("source-")}
    assert cites
    assert set(cites) <= sources
    [where] = [one["href"] or "" for one in elements.named("a") if (one["href"] or "").startswith("/passage")][:1]
    text = server.ask("GET", where.partition("#")[0]).text
    assert re.search('class="line cited" data-number="3" id="cited">.*Discounts are applied', text)


def test_closest_passages_say_what_they_lack_beside_the_confidence(server: Server) -> None:
    page = server.get("/", task="when are discounts refunded", view="answer").text
    assert "Closest passages, not an answer: nothing in this corpus mentions “refunded”." in page
    confidence = re.search(r"confidence (\d+)%</strong>, an answer needs (\d+)%", page)
    assert confidence
    assert int(confidence[1]) < int(confidence[2])


def test_what_is_not_answered_says_what_came_nearest(server: Server) -> None:
    page = server.get("/", task="which discounts has the moon on kubernetes", view="answer").text
    assert "Not here" in page
    assert "“kubernetes”" in page
    assert "--threshold" not in page
    assert 'class="results passages"' in page[page.index("What came nearest") :]


def test_a_passage_that_is_not_there_is_not_found(server: Server) -> None:
    for id in ("docs/prices.md#prices:00000000", "docs/prices.md", "#", "../outside.md#x:00000000"):
        assert server.get("/passage", id=id).status == 404


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Words. [#1]", '<p>Words. <a href="#source-1" class="cite" title="Source 1">1</a></p>'),
        ("Of nobody [#7]", "<p>Of nobody [#7]</p>"),
        ("Call `run()` and ``x [#1]``", "<p>Call <code>run()</code> and <code>x [#1]</code></p>"),
        ("~~~\na [#1] <b>\n~~~", '<pre class="code"><code>a [#1] &lt;b&gt;</code></pre>'),
        ("a\n```\nnever ends", '<p>a</p><pre class="code"><code>never ends</code></pre>'),
        ("**Strong <b>** 2**3**4", "<p><strong>Strong &lt;b&gt;</strong> 2<strong>3</strong>4</p>"),
        ("one\n\n\ntwo", "<p>one</p><p>two</p>"),
        ("[x](javascript:alert(1)) <img src=x>", "<p>[x](javascript:alert(1)) &lt;img src=x&gt;</p>"),
    ],
)
def test_of_markdown_only_code_and_citations_become_markup(text: str, shown: str) -> None:
    assert "".join(blocks(text, {1})) == shown


def test_the_views_are_a_switch_that_takes_the_task_along(server: Server) -> None:
    for view in ("code", "passages", "answer"):
        buttons = Elements(server.get("/", task="discounts", view=view).text).named("button")
        switch = {one["value"]: one["aria-pressed"] for one in buttons if "aria-pressed" in one}
        assert switch == {name: str(name == view).lower() for name in ("code", "passages", "answer")}
        assert [one["value"] for one in buttons if one.get("class") == "go"] == [view]
    assert server.get("/", task="x", view="poem").status == 400


def test_why_not_says_where_something_was_lost_or_offers_the_nearest(server: Server) -> None:
    assert "Rank " in server.get("/", task="discounts", why="send_invoice").text
    assert "send_invoice" in server.get("/", task="discounts", why="send_invoce").text


def test_a_result_shows_its_code_its_reasons_and_its_neighbours(server: Server) -> None:
    page = server.get("/result", task="apply discounts", id="shop/discounts.py::apply_discounts").text
    assert 'data-number="1">def apply_discounts(price):' in page
    assert "words" in page
    assert "total_price" in page[page.index("Neighbourhood") :]


def test_a_file_that_changed_shows_no_lines_that_may_be_off(tmp_path: Path) -> None:
    root = write_files(tmp_path / "shop")
    assert assay(root, "index").code == 0
    with run_server(root, "--no-watch") as server:
        assert server.get("/").status == 200
        (root / "shop" / "discounts.py").write_text("# another\n\ndef apply_discounts(price):\n    return 1\n")
        page = server.get("/result", task="apply discounts", id="shop/discounts.py::apply_discounts").text
        assert "changed since it was indexed" in page
        assert "return 1" not in page


def test_where_there_is_nothing_yet_a_page_says_what_to_do(tmp_path: Path) -> None:
    root = write_files(tmp_path / "shop")
    with run_server(root) as server:
        assert "assay eval run --golden" in server.get("/runs").text
        assert "assay eval run --golden" in server.get("/compare").text
        assert "assay eval sweep --golden" in server.get("/sweeps").text
        assert server.get("/").status == 200
        assert server.get("/index").status == 200


def test_while_the_index_is_built_a_look_at_the_files_answers(tmp_path: Path) -> None:
    root = write_files(tmp_path / f"shop {ALARM}")
    write_files(root, HOSTILE)
    with Home.of(root).writing(), run_server(root) as server:  # whoever indexes has to wait
        for view in ("code", "passages", "answer"):
            page = server.get("/", task=f"apply discounts {SCRIPT}", view=view)
            assert page.status == 200
            assert "Indexing" in page.text
            assert "by words alone" in page.text
            assert "def apply_discounts(price):" in page.text
            assert 'http-equiv="refresh"' in page.text
            assert not Elements(page.text).named("img")
            assert len(Elements(page.text).named("script")) == 2
        assert "Indexing" in server.get("/").text
        assert "Indexing" in server.get("/index").text


def test_an_empty_folder_is_served(tmp_path: Path) -> None:
    with run_server(tmp_path) as server:
        for path in PAGES:
            assert server.get(path).status == 200
        assert server.get("/", task="anything").status == 200


def test_a_page_that_cannot_be_shown_is_an_error_with_a_page(server: Server) -> None:
    for path, status in (
        ("/nothing", 404),
        ("/run?run=nope", 404),
        ("/sweep?sweep=nope", 404),
        ("/?tsk=x", 400),
        ("/result?task=x", 400),
    ):
        answer = server.ask("GET", path)
        assert answer.status == status
        assert answer.headers["content-type"].startswith("text/html")
        assert 'class="empty"' in answer.text


def test_runs_on_different_sets_are_compared_only_when_asked_to(tmp_path: Path) -> None:
    root = write_files(tmp_path / "shop")
    assert assay(root, "index").code == 0
    for number in (1, 2):
        golden = tmp_path / f"golden{number}.jsonl"
        query = {"id": f"q{number}", "question": "discounts", "expected_symbols": ["apply_discounts"]}
        golden.write_text(json.dumps(query) + "\n")
        assert assay(root, "eval", "run", "--golden", golden, "--system", "assay").code == 0
    with run_server(root) as server:
        page = server.get("/compare").text
        assert "cannot be compared" in page
        assert "force=true" in page
        assert server.get("/compare", a="latest~1", b="latest", force="true").status == 200


# drawing


def test_contributions_add_up_to_the_score(tmp_path: Path) -> None:
    root = write_files(tmp_path / "shop")
    with Repository(root) as repo:
        repo.refresh()
        for symbol in ("apply_discounts", "total_price", "send_invoice", "Basket", "test_discounts_lower_the_price"):
            task = "apply discounts to the total price of a basket in shop/discounts.py"
            for one in (*repo.why(task, symbol), *repo.why(task, symbol, profile="hand-tuned")):
                found = contributions(one)
                assert sum(found.values()) == pytest.approx(one.score)
                if not one.ranker:
                    graph = sum(max(0.0, value) for name, value in one.parts.items() if name != "direct")
                    assert found.get("graph", 0) == pytest.approx(one.score * graph / sum(one.parts.values()))
                assert min(found.values(), default=0) >= 0
                assert set(found) <= set(COMPONENTS)


def test_the_neighbourhood_has_each_neighbour_once_by_its_most_telling_edge(tmp_path: Path) -> None:
    root = write_files(tmp_path / "shop")
    with Repository(root) as repo:
        repo.refresh()
        [item] = repo.symbol("apply_discounts")
        around = neighbourhood(repo.index, item)
        sources = {near.node.name: near.edge for near in around.sources if near.node.kind != "file"}
        assert sources == {"Basket.total_price": "calls", "test_discounts_lower_the_price": "calls"}
        few = neighbourhood(repo.index, item, most=1)
        assert len(few.sources) == 1
        assert few.source_total == around.source_total
        assert render_neighbourhood(around, {}, "x") == render_neighbourhood(neighbourhood(repo.index, item), {}, "x")


def test_a_trend_has_labelled_axes_and_a_dot_for_each_run() -> None:
    readings = [
        Reading(number, value, f"run {number}", f"/run?run={number}")
        for number, value in enumerate((0.5, 0.52, 0.51), 1)
    ]
    plot = trend([Line("assay", 0, readings)], "nDCG@10 of each run", "run, oldest first", "nDCG@10")
    elements = Elements(plot)
    assert len(elements.named("circle")) == 3
    assert [one["href"] for one in elements.named("a")] == [one.address for one in readings]
    assert ">nDCG@10<" in plot
    assert ">run, oldest first<" in plot
    heights = [float(one["cy"] or 0) for one in elements.named("circle")]
    assert heights[1] < heights[2] < heights[0]  # the higher value stands higher


def test_a_trend_of_one_run_or_of_equal_values_is_drawn() -> None:
    for values in ((0.0,), (1.0, 1.0), (0.3, 0.3, 0.3)):
        readings = [Reading(number, value, "r", "/") for number, value in enumerate(values, 1)]
        assert len(re.findall("<circle", trend([Line("s", 0, readings)], "n", "x", "y"))) == len(values)


def test_style_and_scripts_ask_nobody_else() -> None:
    for name in ("app.css", "app.js", "report.css", "report.js", "icon.svg"):
        found = static(name)
        assert found
        text = found.content.decode().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|url\(|@import|//[a-z]+\.", text)
    assert static("../__init__.py") is None


def test_every_component_of_a_score_has_a_colour() -> None:
    style = (files("assay.serve.web") / "static/app.css").read_text("utf-8")
    missing = [name for name in COMPONENTS if f".component-{name.replace(' ', '-')} {{ --tone: var(--" not in style]
    assert missing == []
