"""`assay serve` over several repositories: one search over all, labelled results, separate indexes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest

from assay.config.roots import roots
from assay.serve.requests import ContextQuery
from assay.serve.watch import WorkspaceResident
from assay.serve.web import api
from assay.serve.web.api import description
from assay.serve.web.bench import Bench
from support.command import assay
from support.trust import trust_settings
from support.waiting import until
from support.web_server import FILES, Server, run_server, write_files

SECRET = "the-launch-code-is-0000"
STAFF = {
    "src/wages.ts": (
        "export class Payroll {\n  payWages(person: string) { return transferMoney(person); }\n}\n\n"
        "export function transferMoney(person: string) { return person; }\n"
    ),
    "guide.md": "# Wages\n\nWages are paid on the last working day of the month by a bank transfer.\n",
}
TASK = "apply discounts to the price and pay wages"
CONTEXT = ContextQuery(TASK)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shop and the staff's office beside each other with secrets outside, and a folder whose assay.toml joins the two. Only read."""
    folder = tmp_path_factory.mktemp("team")
    shop, office = write_files(folder / "shop", FILES), write_files(folder / "office", STAFF)
    (folder / "outside.py").write_text(f"def outside():\n    return '{SECRET}'\n")
    (shop / "linked.py").symlink_to(folder / "outside.py")
    (shop / ".env").write_text(f"KEY={SECRET}\n")
    (folder / "all").mkdir()
    (folder / "all" / "assay.toml").write_text('[workspace]\nroots = ["../shop", "staff=../office"]\n')
    trust_settings(folder / "all")
    assert assay(folder, "index", shop, office).code == 0
    return folder


@pytest.fixture(scope="module")
def server(team: Path) -> Iterator[Server]:
    with run_server(team / "all") as found:
        yield found


def repositories(found: list[dict[str, object]]) -> set[object]:
    return {one["repository"] for one in found}


def links(page: str, path: str) -> list[str]:
    """The addresses below `path` that a page leads to."""
    return [unescape(one).partition("#")[0] for one in re.findall(rf'(?:href|data-source)="({path}\?[^"]*)"', page)]


# the API


def test_every_answer_of_the_api_names_the_repository(server: Server) -> None:
    lists = {
        "items": server.get("/api/context", task=TASK),
        "explanations": server.get("/api/why", task=TASK, symbol="payWages"),
        "results": server.get("/api/search", query="how are wages paid"),
        "citations": server.get("/api/ask", question="On which day of the month are wages paid?", threshold=0),
        "affected": server.get("/api/impact", symbol="transferMoney"),
        "symbols": server.get("/api/symbols", pattern="*a*"),
    }
    for name, answer in lists.items():
        assert answer.status == 200, answer.text
        assert "without" not in answer.json
        assert answer.json[name], name
        for one in answer.json[name]:
            assert one["path"].startswith(f"{one['repository']}/")
            assert one["id"].startswith(one["path"])
    assert repositories(lists["items"].json["items"]) == {"shop", "staff"}
    assert repositories(lists["symbols"].json["symbols"]) == {"shop", "staff"}
    assert lists["citations"].json["citations"][0]["path"] == "staff/guide.md"


def test_the_api_answers_as_the_commands_do(team: Path, server: Server) -> None:
    printed = assay(team / "all", "context", TASK, "--format", "json").json

    assert server.get("/api/context", task=TASK).json["items"] == printed["items"]


def test_roots_on_the_command_line_do_the_same_as_a_workspace(team: Path, server: Server) -> None:
    with run_server(team / "shop", "--root", f"staff={team / 'office'}") as named:
        assert named.get("/api/context", task=TASK).json["items"] == server.get("/api/context", task=TASK).json["items"]


def test_status_tells_of_each(team: Path, server: Server) -> None:
    shop, staff = server.get("/api/status").json["repositories"]

    assert (shop["repository"], shop["root"], shop["files"]) == ("shop", str(team / "shop"), 4)
    assert (staff["repository"], staff["root"], staff["languages"].keys()) == (
        "staff",
        str(team / "office"),
        {"typescript"},
    )
    assert shop["fresh"]
    assert staff["fresh"]


def test_the_description_has_the_label_and_what_an_answer_is_without(server: Server) -> None:
    described = server.get("/openapi.json").json
    items = described["paths"]["/api/context"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    place = described["components"]["schemas"]["Place"]

    assert items["properties"]["items"]["items"] == {"$ref": "#/components/schemas/Place"}
    assert "without" in items["properties"]
    assert place["properties"]["repository"]["type"] == "string"


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/api/context", {"task": TASK}),
        ("/api/why", {"task": TASK, "symbol": "payWages"}),
        ("/api/search", {"query": "wages"}),
        ("/api/ask", {"question": "When are wages paid?", "threshold": 0}),
        ("/api/impact", {"symbol": "transferMoney"}),
        ("/api/symbols", {"pattern": "*a*"}),
        ("/api/status", {}),
    ],
)
def test_answers_are_as_they_are_described(path: str, query: dict[str, object], server: Server) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    operation = schemathesis.openapi.from_dict(description())[path]["GET"]
    operation.Case(query=query).call_and_validate(
        base_url=server.address, checks=[schemathesis.checks.response_schema_conformance]
    )


# the pages


def test_code_of_all_is_found_and_opens_as_it_stands_in_its_file(server: Server) -> None:
    page = server.get("/", task=TASK).text
    opened = {parse_qs(urlsplit(one).query)["id"][0]: one for one in links(page, "/result-part")}

    assert {one.partition("/")[0] for one in opened} == {"shop", "staff"}
    assert "return price * 0.9" in server.get(opened["shop/shop/discounts.py::apply_discounts"]).text
    assert "return transferMoney(person)" in server.get(opened["staff/src/wages.ts::Payroll.payWages"]).text


def test_why_not_explains_a_symbol_of_any_of_them(server: Server) -> None:
    page = server.get("/", task="apply discounts", why="Payroll.payWages").text

    assert "staff/src/wages.ts:2" in page[page.index('id="why-not"') :]


def test_passages_of_all_are_found_and_open(server: Server) -> None:
    page = server.get("/", task="wages are paid, discounts are applied", view="passages").text
    found = {parse_qs(urlsplit(one).query)["id"][0].rpartition("#")[0]: one for one in links(page, "/passage")}

    assert found.keys() == {"shop/docs/prices.md", "staff/guide.md"}
    assert "before the invoice is sent" in server.get(found["shop/docs/prices.md"]).text
    assert "last working day" in server.get(found["staff/guide.md"]).text


def test_an_answer_cites_the_file_of_its_repository(server: Server) -> None:
    page = server.get("/", task="On which day of the month are wages paid by bank transfer?", view="answer").text

    assert "staff/guide.md" in page
    assert "last working" in server.get(links(page, "/passage")[0]).text


def test_pages_name_all_that_are_asked(server: Server) -> None:
    for path in ("/", "/runs", "/index"):
        assert "<bdi>shop, staff</bdi>" in server.get(path).text


def test_the_index_page_has_a_block_for_each(team: Path, server: Server) -> None:
    page = server.get("/index").text
    shop, staff = re.findall(r'<section id="repository-.*?(?=<section id="repository-|</main>)', page, re.DOTALL)

    for block, name, root, language in (
        (shop, "shop", team / "shop", "python"),
        (staff, "staff", team / "office", "typescript"),
    ):
        assert f"<h2>{name}</h2>" in block
        assert str(root) in block
        assert f">{language}<" in block
        assert "Nothing changed since it was indexed" in block
        assert "Calls resolved" in block


def test_runs_and_sweeps_are_those_of_the_workspaces_own_folder(team: Path, tmp_path: Path) -> None:
    own = tmp_path / "all"
    own.mkdir()
    own.joinpath("assay.toml").write_text(f'[workspace]\nroots = ["{team}/shop", "staff={team}/office"]\n')
    trust_settings(own)
    (own / "golden.jsonl").write_text('{"id": "q", "question": "wages", "expected_docs": ["d"]}\n')
    (own / "known.run").write_text("q Q0 d 1 1 known\n")
    done = assay(own, "eval", "run", "--golden", "golden.jsonl", "--system", "trec:known.run", "--root", ".")
    assert done.code == 0, done.err
    with run_server(own) as server:
        assert len(server.get("/api/runs").json["runs"]) == 1
        for path in ("/runs", "/compare", "/sweeps"):
            page = server.get(path).text
            assert "Stored for the workspace in" in page
            assert str(own / ".assay") in page


def test_one_repository_is_served_without_labels(team: Path) -> None:
    with run_server(team / "shop") as alone:
        assert all("repository" not in one for one in alone.get("/api/context", task=TASK).json["items"])
        assert "files" in alone.get("/api/status").json
        assert "workspace" not in alone.get("/runs").text


# what is read


OUTSIDE = (
    "shop/../office/src/wages.ts",
    "shop/../office/src/wages.ts::transferMoney",
    "shop/../outside.py::outside",
    "shop/../../outside.py",
    "shop/.env",
    "shop/linked.py::outside",
    "staff/../../../../../../etc/passwd",
    "staff//etc/passwd",
    "nobody/src/wages.ts::transferMoney",
    "nobody/shop/discounts.py::apply_discounts",
    "office/src/wages.ts::transferMoney",
    "/src/wages.ts::transferMoney",
    "src/wages.ts::transferMoney",
    "staff",
    "staff/",
    "staff\\src\\wages.ts",
    "staff/./src/wages.ts::transferMoney",
    "STAFF/src/wages.ts::transferMoney",
    "..",
    "../shop/docs/prices.md",
)


@pytest.mark.parametrize("id", OUTSIDE)
def test_labels_lead_nowhere_but_into_the_index_of_their_repository(id: str, server: Server) -> None:
    encoded = quote(id, safe="").replace(".", "%2e")
    for path in ("/result", "/result-part"):
        for query in (urlencode({"task": TASK, "id": id}), f"task=x&id={encoded}"):
            _is_not_there(server, f"{path}?{query}")
    for passage in (f"{id}#0", f"{id}#1", id):
        _is_not_there(server, f"/passage?{urlencode({'id': passage})}")


def _is_not_there(server: Server, address: str) -> None:
    answer = server.get(address)
    assert answer.status == 404, answer.text
    assert SECRET not in answer.text
    assert "root:" not in answer.text


@pytest.mark.parametrize("id", OUTSIDE)
def test_the_api_finds_nothing_outside_either(id: str, server: Server) -> None:
    for path in ("/api/why", "/api/impact"):
        asked = {"task": TASK} if path == "/api/why" else {}
        assert SECRET not in server.get(path, symbol=id, **asked).text
    for path, name in (("/api/search", "query"), ("/api/ask", "question")):
        answer = server.get(path, **{name: "launch code secret wages", "path": id})
        assert answer.status in (200, 400), answer.text
        assert SECRET not in answer.text


# each its own state


def test_one_that_cannot_be_indexed_does_not_stop_the_others(tmp_path: Path) -> None:
    shop, office = write_files(tmp_path / "shop", FILES), write_files(tmp_path / "office", STAFF)
    (office / ".assay").write_text("no folder")
    with run_server(shop, "--root", str(office)) as server:
        until(lambda: [one["state"] for one in server.get("/api/status").json["repositories"]] == ["failed", "fresh"])
        broken, whole = server.get("/api/status").json["repositories"]
        assert ".assay" in broken["why"]
        assert not broken["fresh"]
        assert whole["files"] == 4

        context = server.get("/api/context", task=TASK).json
        assert repositories(context["items"]) == {"shop"}
        assert not context["fresh"]
        for answer in (
            context,
            server.get("/api/search", query="discounts").json,
            server.get("/api/ask", question="When are discounts applied?").json,
            server.get("/api/why", task=TASK, symbol="apply_discounts").json,
            server.get("/api/symbols", pattern="nothing-has-this").json,
            server.get("/api/impact", symbol="apply_discounts").json,
        ):
            assert answer["without"].keys() == {"office"}
        until(lambda: ".assay" in server.get("/api/context", task=TASK).json["without"]["office"])
        for view in ("code", "passages", "answer"):
            page = server.get("/", task="discounts", view=view).text
            assert "shop/" in page
            assert "<strong>Without office</strong>" in page
        assert "<strong>Without office</strong>" in server.get("/").text
        until(lambda: "The index of office could not be built" in server.get("/index").text)
        assert ">python<" in server.get("/index").text

        (office / ".assay").unlink()
        (office / "new.ts").write_text("export function hire() {}\n")
        until(lambda: "without" not in server.get("/api/context", task=TASK).json)
        assert repositories(server.get("/api/context", task=TASK).json["items"]) == {"shop", "office"}


def test_while_none_has_an_index_the_files_of_all_are_looked_at(tmp_path: Path) -> None:
    shop, office = write_files(tmp_path / "shop", FILES), write_files(tmp_path / "office", STAFF)
    for root in (shop, office):
        (root / ".assay").write_text("no folder")
    with run_server(shop, "--root", str(office)) as server:
        until(lambda: all(one["state"] == "failed" for one in server.get("/api/status").json["repositories"]))
        found = server.get("/api/context", task="wages discounts").json
        assert repositories(found["items"]) == {"shop", "office"}
        assert not found["fresh"]
        assert "the index of office is" in found["freshness"]
        page = server.get("/", task="wages discounts").text
        assert "office/src/wages.ts" in page
        until(lambda: "The index of shop could not be built" in server.get("/", task="wages discounts").text)

        shutil.rmtree(office)
        until(lambda: repositories(server.get("/api/context", task="discounts").json["items"]) == {"shop"})


def test_a_change_of_any_is_soon_found(tmp_path: Path) -> None:
    shop, office = write_files(tmp_path / "shop", FILES), write_files(tmp_path / "office", STAFF)
    with run_server(shop, "--root", str(office)) as server:
        until(lambda: all(one["state"] == "fresh" for one in server.get("/api/status").json["repositories"]))
        for root in (shop, office):
            (root / "zebra.py").write_text("def count_zebras():\n    return 3\n")

            def is_included(label: str = root.name) -> bool:
                items = server.get("/api/context", task="count zebras").json["items"]
                return any(item["id"] == f"{label}/zebra.py::count_zebras" for item in items)

            until(is_included)
            assert "count_zebras" in server.get("/", task="count zebras").text


# answers that are remembered


@pytest.mark.parametrize("watch", [True, False], ids=["watched", "not watched"])
def test_an_answer_is_remembered_until_any_of_them_changes(tmp_path: Path, rankings: list[str], watch: bool) -> None:
    shop, office = write_files(tmp_path / "shop", FILES), write_files(tmp_path / "office", STAFF)
    own = write_files(tmp_path / "all", {"assay.toml": "[context]\nk = 9\n"})
    assert assay(tmp_path, "index", shop, office).code == 0

    with WorkspaceResident(roots([shop, office]), own, watch, partly=True) as resident:
        bench = Bench(resident, own / ".assay" / "runs.db")
        until(lambda: resident.state.name == "fresh" and _remembers(bench, rankings))

        def changes(change: Callable[[], object]) -> None:
            until(lambda: _remembers(bench, rankings))
            before = len(rankings)
            change()
            until(lambda: (api.context(bench, CONTEXT), len(rankings) > before)[1])

        changes(lambda: (shop / "shop" / "more.py").write_text("def more_discounts(): ...\n"))
        changes(lambda: (office / "src" / "wages.ts").write_text("export function payWagesLate() {}\n"))
        changes(lambda: assay(office, "feedback", "useful", "payWagesLate") if watch else _touched(office))
        changes(lambda: (office / "assay.toml").write_text("[context]\nk = 3\n"))
        changes(lambda: (own / "assay.toml").write_text("[context]\nk = 1\n"))
        assert str(api.context(bench, CONTEXT)).count('"repository"') == 1
        changes(lambda: shutil.rmtree(shop))
        until(lambda: "without" in api.context(bench, CONTEXT))


def _touched(root: Path) -> None:
    (root / "guide.md").write_text("# Wages\n\nNone.\n")


def _remembers(bench: Bench, rankings: list[str]) -> bool:
    """Whether what was asked a moment ago is not ranked again."""
    api.context(bench, CONTEXT)
    before = len(rankings)
    api.context(bench, CONTEXT)
    return len(rankings) == before
