"""The pages in a real browser: search, explanation, compare, sweep, keys, light and dark; no external requests."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from assay.store.layout import Home
from support.browser import EXECUTABLE, Browser, Page
from support.command import assay
from support.web_server import Server, run_server, write_files

pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="no Chromium is installed")

TASK = "apply discounts to the price of a basket"
FOCUSED = "document.activeElement"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = write_files(tmp_path_factory.mktemp("browser") / "shop")
    golden = root.parent / "golden.jsonl"
    queries = [
        {"id": "q1", "question": "apply discounts", "expected_symbols": ["apply_discounts"]},
        {"id": "q2", "question": "who pays for goods", "expected_symbols": ["send_invoice"]},
        {"id": "q3", "question": "price of a basket", "expected_symbols": ["Basket.total_price"]},
    ]
    golden.write_text("".join(json.dumps(one) + "\n" for one in queries), "utf-8")
    assert assay(root, "index").code == 0
    for system in ("assay", "assay:default,walk=0"):
        assert assay(root, "eval", "run", "--golden", golden, "--system", system).code == 0
    assert assay(root, "eval", "sweep", "--golden", golden, "--system", "assay:default", "--set", "walk=0,1").code == 0
    with run_server(root) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as found:
        yield found


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    """A page; whatever a test does in it, nothing may leave the machine and nothing may complain."""
    with browser.page() as found:
        yield found
        _quiet(found, server)


def _quiet(page: Page, server: Server) -> None:
    assert page.complaints == []
    assert {urlsplit(one).netloc for one in page.requests} <= {f"127.0.0.1:{server.port}"}


def test_a_task_is_typed_and_answered(page: Page, server: Server) -> None:
    page.go(server.address)
    assert page.run(f"{FOCUSED}.id") == "task"
    page.type(TASK)
    page.press("Enter")
    page.wait("document.querySelectorAll('.results > li').length > 2")
    assert page.text(".results > li .symbol") == "apply_discounts"
    assert page.run("document.querySelectorAll('.results .stacked').length") > 2
    assert page.run("document.querySelector('#task').value") == TASK


def test_several_repositories_are_searched_as_one(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    base = tmp_path_factory.mktemp("several")
    shop = write_files(base / "shop")
    write_files(
        base / "staff",
        {
            "pay.py": "def apply_discounts(staff):\n    return staff * 0.5\n",
            "pay.md": "# Discounts\n\nStaff pay half.\n",
        },
    )
    assert assay(base, "index", "shop", "staff").code == 0
    with run_server(shop, "--root", str(base / "staff")) as server, browser.page() as page:
        page.go(server.address)
        page.type("apply discounts")
        page.press("Enter")
        page.wait("document.querySelectorAll('.results > li').length > 2")
        places = page.run("[...document.querySelectorAll('.results .place')].map(one => one.textContent)")
        assert {one.partition("/")[0] for one in places} == {"shop", "staff"}
        own = next(number for number, one in enumerate(places, 1) if one.startswith("staff/pay.py"))
        page.click(f".results > li:nth-child({own}) summary")
        page.wait(f"document.querySelector('.results > li:nth-child({own}) .detail') !== null")
        assert "staff * 0.5" in page.text(f".results > li:nth-child({own}) .code")
        page.click(".views button[value=passages]")
        page.wait("document.querySelector('.passages') !== null")
        assert "staff/pay.md" in page.text(".passages")
        page.click("nav a[href='/index']")
        page.wait("document.querySelectorAll('.member').length === 2")
        _quiet(page, server)


def test_a_result_is_opened_by_keys_and_explains_itself(page: Page, server: Server) -> None:
    page.go(f"{server.address}/?task=apply+discounts")
    page.press("/")
    assert page.run(f"{FOCUSED}.id") == "task"
    page.press("ArrowDown")
    page.press("ArrowDown")
    page.press("ArrowUp")
    assert page.run(f"{FOCUSED} === document.querySelector('.results summary')")
    assert page.run(f"getComputedStyle({FOCUSED}).outlineStyle") == "solid"
    page.press("Enter")
    page.wait("document.querySelector('.results .detail') !== null")
    opened = page.text(".results .detail")
    assert "def apply_discounts(price):" in opened
    assert "score" in opened
    assert page.run("document.querySelectorAll('.results .detail .neighbour').length") > 0
    page.press("Escape")
    assert page.run("document.querySelector('.results details').open") is False
    assert page.run(f"{FOCUSED} === document.querySelector('.results summary')")


def test_the_switch_asks_the_same_of_passages_and_for_an_answer(page: Page, server: Server) -> None:
    page.go(server.address)
    page.type("when are discounts applied")
    page.click(".views button[value=passages]")
    page.wait("document.querySelectorAll('.passages > li').length > 1 && document.readyState === 'complete'")
    assert page.run("document.querySelector('.passages mark') !== null")
    page.press("ArrowDown")
    page.press("Enter")
    page.wait("document.querySelector('.passages details').open")
    assert "Lowers a price by the discounts" in page.text(".passages .opened")
    page.run("window.same = true")
    page.press("/")
    page.press("Enter")  # asks the same view again
    page.wait("window.same === undefined && document.readyState === 'complete'")
    assert page.run("location.search.includes('view=passages') && document.querySelector('.passages') !== null")
    page.run("document.querySelector('.views button[value=answer]').focus()")
    page.press("Enter")
    page.wait("document.querySelector('.answer .cite') !== null")
    page.click(".answer .cite")
    assert page.run("document.querySelector('li:target').id") == "source-1"
    page.click("li:target a")
    page.wait("location.pathname === '/passage' && document.querySelector('.cited') !== null")


def test_a_page_that_waits_for_the_index_comes_back_but_never_while_somebody_types(
    browser: Browser, tmp_path: Path
) -> None:
    root = write_files(tmp_path / "shop")
    with browser.page() as page:
        with Home.of(root).writing(), run_server(root) as server:
            page.go(f"{server.address}/?task=apply+discounts")
            assert "by words alone" in page.text()
            page.run("window.same = true")
            page.wait("window.same === undefined && document.querySelector('#task') !== null")  # it came back
            page.run("window.same = true; document.querySelector('#task').focus()")
            page.type(" of a basket")
            time.sleep(3)
            assert page.run("window.same && document.querySelector('#task').value.includes('of a basket')")
        assert page.complaints == []


def test_tab_reaches_everything_in_order(page: Page, server: Server) -> None:
    page.go(f"{server.address}/runs")
    seen = []
    for _ in range(8):
        page.press("Tab")
        seen.append(page.run(f"{FOCUSED}.innerText || {FOCUSED}.id"))
    assert seen == ["Skip to the content", "assay", "Search", "Runs", "Compare", "Sweeps", "Index", "theme"]


def test_a_neighbour_leads_to_its_own_explanation(page: Page, server: Server) -> None:
    page.go(f"{server.address}/?task=apply+discounts")
    page.click(".results summary")
    page.wait("document.querySelector('.neighbour a') !== null")
    page.run("document.querySelector('.neighbour a').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    page.wait("location.pathname === '/result' && document.querySelector('.detail') !== null")


def test_why_not_is_asked_and_answered(page: Page, server: Server) -> None:
    page.go(f"{server.address}/?task=apply+discounts")
    page.run("document.querySelector('#why').focus()")
    page.type("send_invoice")
    page.press("Enter")
    page.wait("document.querySelector('#why-not .explanation') !== null")
    assert "Rank" in page.text("#why-not .explanation")


def test_two_runs_are_compared_down_to_a_query(page: Page, server: Server) -> None:
    page.go(f"{server.address}/runs")
    assert page.run("document.querySelectorAll('.trend-dot').length") >= 8
    page.go(f"{server.address}/compare")
    assert page.run("document.querySelectorAll('.slope').length") > 0
    page.wait("document.querySelector('#comparison thead button') !== null")  # tables can be sorted
    page.click("#comparison .sortable tbody a")
    page.wait("location.pathname === '/compare/query' && document.querySelectorAll('.both .sides').length === 2")


def test_a_sweep_is_found_and_drawn(page: Page, server: Server) -> None:
    page.go(f"{server.address}/sweeps")
    page.click("#content tbody a")
    page.wait("location.pathname === '/sweep' && document.readyState === 'complete'")
    assert page.run("document.querySelectorAll('.point').length") >= 2
    assert page.run("document.querySelectorAll('.cell').length") >= 2


def test_light_and_dark_follow_the_system_and_the_switch(browser: Browser, server: Server) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    with browser.page() as light, browser.page(dark=True) as dark:
        for page in (light, dark):
            page.go(f"{server.address}/index")
        by_day, by_night = light.run(colour), dark.run(colour)
        assert by_day != by_night
        dark.click("#theme")
        assert dark.run(colour) == by_day
        dark.go(f"{server.address}/runs")
        assert dark.run(colour) == by_day
        light.click("#theme")
        assert light.run(colour) == by_night
        for page in (light, dark):
            _quiet(page, server)


def test_the_token_is_asked_for_once(browser: Browser, tmp_path: Path) -> None:
    token = "a-token-of-some-length"
    with run_server(write_files(tmp_path / "shop"), ASSAY_TOKEN=token) as server, browser.page() as page:
        page.send("Page.navigate", url=f"{server.address}/runs")
        page.wait("location.pathname === '/login' && document.activeElement.name === 'token'")
        page.type("not-the-token-at-all")
        page.press("Enter")
        page.wait("document.querySelector('[role=alert]') !== null && document.activeElement.name === 'token'")
        page.type(token)
        page.press("Enter")
        page.wait("location.pathname === '/' && document.querySelector('#task') !== null")
        page.go(f"{server.address}/runs")
        assert "No runs yet" in page.text()


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/?task=apply+discounts&why=Basket",
        "/?task=discounts&view=passages",
        "/?task=when+are+discounts+applied&view=answer",
        "/?task=zzz+kubernetes&view=answer",
        "/runs",
        "/run",
        "/compare",
        "/sweeps",
        "/index",
    ],
)
def test_a_phone_shows_every_page_without_scrolling_sideways(path: str, browser: Browser, server: Server) -> None:
    with browser.page(width=360, height=740, phone=True) as page:
        page.go(server.address + path)
        assert page.run("document.documentElement.scrollWidth") <= 360
        _quiet(page, server)


def test_nothing_shifts_while_a_page_is_loaded(page: Page, server: Server) -> None:
    for path in ("/?task=apply+discounts", "/runs", "/compare", "/index"):
        page.go(server.address + path)
        shift = page.run(
            "new Promise(done => { let sum = 0; new PerformanceObserver(list => { for (const one of list.getEntries()) sum += one.value; })"
            ".observe({type: 'layout-shift', buffered: true}); setTimeout(() => done(sum), 300); })"
        )
        assert shift < 0.01


def test_pages_work_without_scripts(browser: Browser, server: Server) -> None:
    with browser.page() as page:
        page.send("Emulation.setScriptExecutionDisabled", value=True)
        page.go(f"{server.address}/?task=apply+discounts")
        assert page.run("document.querySelector('.results .alone a').pathname") == "/result"


def test_what_other_pages_do_to_it_is_refused(browser: Browser, server: Server) -> None:
    """A page of another origin (here: of no origin) can neither read an answer nor frame a page."""
    with browser.page() as page:
        page.go("data:text/html,<p>elsewhere")
        read = page.run(f"fetch('{server.address}/api/status').then(answer => answer.text(), () => 'refused')")
        assert read == "refused"
