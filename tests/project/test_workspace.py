"""Several repositories in one query: one ranking, labelled results, separate indexes."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from pathlib import Path

import anyio
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import assay as package
from assay.api import Workspace, open_all
from assay.config.roots import roots
from assay.errors import AssayError
from assay.pack.render import FORMS
from assay.serve.watch import WorkspaceResident
from assay.serve.watch.first_look import FirstLook
from assay.text.tokens import count
from support.agents import over_stdio
from support.command import COMMAND, ENVIRONMENT, assay
from support.property_tests import examples
from support.repository import Repository
from support.trust import trust_settings
from support.waiting import PATIENCE

API = {
    "src/sessions.py": (
        '"""Sessions of users."""\n\n\n'
        "class SessionStore:\n"
        '    """Keeps sessions and signs their cookies."""\n\n'
        "    def sign_cookie(self, value):\n"
        "        return self.seal(value)\n\n"
        "    def seal(self, value):\n"
        "        return value\n\n\n"
        "def open_session(request):\n"
        "    return SessionStore().sign_cookie(request)\n"
    ),
    "src/billing.py": "def charge(card):\n    return card\n\n\ndef refund(card):\n    return charge(card)\n",
    "tests/test_sessions.py": "from src.sessions import open_session\n\n\ndef test_open():\n    open_session(1)\n",
}
WEB = {
    "src/login.ts": (
        "export class LoginForm {\n  submit(name: string) { return sendLogin(name); }\n}\n\n"
        "export function sendLogin(name: string) { return name; }\n"
    ),
    "src/cookies.ts": "export function readCookie(name: string) { return name; }\n",
}
MANUAL = {
    "signing.md": (
        "# Signing\n\nA session cookie is signed by `SessionStore.sign_cookie` with the key of the server.\n\n"
        "## Rotating keys\n\nKeys are rotated every thirty days. The old key stays valid for a week.\n"
    ),
    "setup.md": "# Setting up\n\nInstall the package and start the server on port 8080.\n",
}


def make(folder: Path, name: str, files: dict[str, str], index: bool = True) -> Repository:
    made = Repository(folder / name)
    made.root.mkdir(parents=True)
    made.git("init", "-q", "-b", "main")
    for path, text in files.items():
        made.write(path, text)
    made.commit("Sign the cookies of sessions" if name == "api" else "Begin")
    if index:
        made.index()
    return made


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An API, a web client and a manual beside each other, and a folder whose assay.toml joins them. Only read."""
    folder = tmp_path_factory.mktemp("team")
    for name, files in (("api", API), ("web", WEB), ("handbook", MANUAL)):
        make(folder, name, files)
    (folder / "all").mkdir()
    (folder / "all" / "assay.toml").write_text('[workspace]\nroots = ["../api", "../web", "docs=../handbook"]\n')
    trust_settings(folder / "all")
    return folder


def opened(team: Path, order: Sequence[str] = ("api", "web", "docs=handbook")) -> Workspace:
    return open_all([part.replace("=", f"={team}/") if "=" in part else team / part for part in order])


# one question over all


def test_one_question_finds_what_every_repository_has_about_it(team: Path) -> None:
    found = assay(team / "all", "context", "sign the cookie of a session after login", "--format", "json").json["items"]

    assert {one["repository"] for one in found} == {"api", "web"}
    assert found[0]["id"].startswith("api/src/sessions.py::SessionStore")
    assert all(one["path"].startswith(f"{one['repository']}/") for one in found)
    assert all(one["id"].startswith(one["path"]) for one in found)


def test_paths_are_shown_with_the_label_of_their_repository(team: Path) -> None:
    assert "\napi/src/sessions.py:4 class SessionStore\n" in assay(team / "all", "context", "session store").out


def test_roots_on_the_command_line_do_the_same_as_a_workspace(team: Path) -> None:
    named = ("--root", "../api", "--root", "../web", "--root", "docs=../handbook")
    task = ("context", "sign cookies", "--format", "json")

    assert assay(team / "all", *task, *named).json["items"] == assay(team / "all", *task).json["items"]


def test_one_root_answers_as_before_without_labels(team: Path) -> None:
    alone = assay(team, "context", "sign cookies", "--root", "api", "--format", "json").json

    assert all("repository" not in one and not one["path"].startswith("api/") for one in alone["items"])


def test_a_repository_inside_a_workspace_is_asked_alone(team: Path) -> None:
    found = assay(team / "api" / "src", "symbols", "open_session", "--format", "json").json["symbols"]

    assert [one["path"] for one in found] == ["src/sessions.py"]


def test_search_and_ask_cite_with_the_label(team: Path) -> None:
    found = assay(team / "all", "search", "how often are keys rotated", "--format", "json").json["results"]
    answer = assay(team / "all", "ask", "How often are keys rotated?", "--format", "json").json

    assert (found[0]["repository"], found[0]["path"]) == ("docs", "docs/signing.md")
    assert found[0]["citation"].startswith("docs/signing.md:")
    assert answer["grounded"]
    assert answer["citations"][0]["repository"] == "docs"
    assert answer["citations"][0]["citation"].startswith("docs/signing.md:")


@pytest.mark.parametrize(("pattern", "found"), [("src/", {"api", "web"}), ("web/", {"web"}), ("*.md", {"docs"})])
def test_a_search_is_confined_by_paths_of_one_or_of_every_repository(team: Path, pattern: str, found: set[str]) -> None:
    with opened(team) as workspace:
        assert {one.repository for one in workspace.search("session cookie login name", 20, paths=[pattern])} == found


def test_a_search_since_a_commit_asks_each_repository(tmp_path: Path) -> None:
    api, web = make(tmp_path, "api", API), make(tmp_path, "web", WEB)
    web.write("src/cookies.ts", WEB["src/cookies.ts"] + "export function writeCookie(name: string) { return name; }\n")
    web.index()

    with open_all([api.root, web.root]) as workspace:
        found = workspace.search("cookie", 20, since="HEAD")

    assert {one.path for one in found} == {"web/src/cookies.ts"}


def test_a_repository_with_none_of_the_words_is_not_found_by_meaning_alone(tmp_path: Path) -> None:
    """Each has vectors of its own, in which something is always nearest."""
    kitchen = {
        "bread.md": "# Bread\n\nKnead the dough, let it rise, bake it in the oven.\n",
        "soup.md": "# Soup\n\nBoil the roots.\n",
    }
    found = [make(tmp_path, "docs", MANUAL).root, make(tmp_path, "kitchen", kitchen).root]

    with open_all(found) as workspace:
        assert {one.repository for one in workspace.search("rotating the keys of the server")} == {"docs"}
        assert workspace.search("dough in the oven")[0].repository == "kitchen"


def test_what_a_manual_names_is_found_in_another_repository(team: Path) -> None:
    with opened(team) as workspace:
        told = workspace.why("rotating keys of the server: signed session cookie", "sign_cookie")[0]

    assert told.factors["documents"] > 1


def test_symbols_and_impact_know_all_repositories_by_name_and_by_id(team: Path) -> None:
    folder = team / "all"

    assert assay(folder, "symbols", "*ookie").out.splitlines()[0].startswith("api/src/sessions.py:7  method")
    assert [one["repository"] for one in assay(folder, "symbols", "*ookie", "--format", "json").json["symbols"]] == [
        "api",
        "web",
    ]
    assert assay(folder, "symbols", "web/src/*", "--format", "json").json["total"] == 4
    assert (
        "api/src/sessions.py:15  open_session  calls"
        in assay(folder, "impact", "api/src/sessions.py::SessionStore.sign_cookie").out
    )
    assert "api/src/billing.py:6  refund" in assay(folder, "impact", "src/billing.py::charge").out


def test_why_explains_the_rank_among_all(team: Path) -> None:
    with opened(team) as workspace:
        ranked = [one.item.id for one in workspace.rank("read the cookie of a login", 50)]
        for place, name in enumerate(ranked, 1):
            assert workspace.why("read the cookie of a login", name)[0].rank == place


def test_files_are_named_with_their_label_or_as_they_are(team: Path) -> None:
    folder = team / "all"
    by_label = assay(folder, "context", "--files", "api/src/billing.py", "--format", "json").json["items"]

    assert {one["symbol"] for one in by_label} == {"charge", "refund"}
    assert assay(folder, "context", "--files", "src/billing.py", "--format", "json").json["items"] == by_label
    assert assay(folder, "context", "--files", "../api/src/billing.py", "--format", "json").json["items"] == by_label
    assert "api/tests/test_sessions.py" in assay(folder, "tests", "api/src/sessions.py").out
    assert "in none of api (" in assay(folder, "context", "--files", "src/none.py").err


def test_a_file_that_several_repositories_have_must_be_told_apart(tmp_path: Path) -> None:
    same = {"src/main.py": "def start():\n    pass\n"}
    found = [make(tmp_path, name, same).root for name in ("one", "two")]

    with (
        open_all(found) as workspace,
        pytest.raises(AssayError, match=r"name one of one/src/main\.py, two/src/main\.py"),
    ):
        workspace.context_of(["src/main.py"])


@pytest.mark.parametrize("arguments", [("context", "--pr"), ("tests",), ("feedback", "useful", "charge")])
def test_what_is_about_one_repository_says_which_to_name(team: Path, arguments: tuple[str, ...]) -> None:
    done = assay(team / "all", *arguments)

    assert done.code == 2
    assert (
        f"is about one repository; name it with --root: api ({team}/api), docs ({team}/handbook), web ({team}/web)"
        in done.err
    )


# laws


TASKS = (
    "sign the cookie",
    "login form",
    "session",
    "refund a card",
    "keys",
    "src/cookies.ts",
    "`charge` and sendLogin",
    "nothing at all",
)


@given(task=st.sampled_from(TASKS), order=st.sampled_from(list(permutations(("api", "web", "docs=handbook")))))
@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_ranking_does_not_depend_on_the_order_of_the_roots(team: Path, task: str, order: tuple[str, ...]) -> None:
    with opened(team) as workspace, opened(team, order) as other:
        assert workspace.rank(task, 50) == other.rank(task, 50)
        assert [(one.id, one.score, one.lexical) for one in workspace.search(task, 20)] == [
            (one.id, one.score, one.lexical) for one in other.search(task, 20)
        ]


@given(task=st.sampled_from(TASKS), budget=st.integers(0, 700), form=st.sampled_from(sorted(FORMS)))
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_budget_holds_over_all_repositories(team: Path, task: str, budget: int, form: str) -> None:
    with opened(team) as workspace:
        answer = workspace.context(task, budget=budget, format=form)

    assert answer.tokens <= budget
    if answer.pack.framed:
        assert count(answer.render()) == answer.tokens
    assert len({one.id for one in answer.items}) == len(answer.items)


def test_words_are_as_rare_as_among_all_repositories(team: Path) -> None:
    with opened(team) as workspace, package.open(team / "api") as alone:
        several, one = workspace.index.postings, alone.index.postings

        assert len(several.get("cooki")[0]) > len(one.get("cooki")[0]) > 0
        assert len(several.numbers) == sum(len(member.index.postings.numbers) for member in workspace.members.values())


def test_the_rarity_of_a_name_is_counted_over_all(team: Path) -> None:
    with opened(team) as workspace:
        words = workspace.index.postings
        terms = [term.decode() for part in workspace.index.parts for term in part.generation.postings.vocabulary()]

        assert words.frequencies.tolist() == [len(words.get(term)[0]) for term in terms]


def test_meaning_counts_as_far_as_the_words_of_its_repository_do(team: Path) -> None:
    with opened(team, ("docs=handbook", "web", "api")) as workspace:
        ranker = workspace.searcher().passage_ranker
        ranker.passages._firsts = [0, 1, 2, 3]  # as if each had a passage
        scores = np.array([1.0, 4.0, 0.0])

        assert ranker._scale_across_repositories(scores, np.arange(3), np.full(3, 0.8)).tolist() == [0.2, 0.8, 0.0]
        assert ranker._scale_across_repositories(np.zeros(3), np.arange(3), np.full(3, 0.8)).tolist() == [0.8, 0.8, 0.8]


def test_several_rank_as_one_index_over_all_files_would(tmp_path: Path) -> None:
    """The same files in the folders of one repository, and as two: by words alone, the scores are the same."""
    whole = make(
        tmp_path,
        "whole",
        {f"{name}/{path}": text for name, files in (("api", API), ("web", WEB)) for path, text in files.items()},
    )
    parts = [make(tmp_path, name, files).root for name, files in (("api", API), ("web", WEB))]

    for task in ("sign_cookie and refund", "submit", "SessionStore"):
        with package.open(whole.root) as one, open_all(parts) as several:
            expected = [(ranked.item.id, ranked.item.signature) for ranked in one.rank(task, 20, profile="lexical")]
            found = [(ranked.item.id, ranked.item.signature) for ranked in several.rank(task, 20, profile="lexical")]

        assert sorted(found) == sorted(expected)
        assert found[0] == expected[0]


# each its own index


def test_index_brings_each_up_to_date_and_prints_a_block_for_each(tmp_path: Path) -> None:
    for name, files in (("api", API), ("web", WEB)):
        make(tmp_path, name, files, index=False)

    done = assay(tmp_path, "index", "api", "client=web")
    again = assay(tmp_path, "index", "api", "client=web", "--format", "json").json["repositories"]

    assert done.code == 0
    assert [line for line in done.lines if line.startswith("[")] == ["[api]", "[client]"]
    assert (tmp_path / "api" / ".assay" / "current").exists()
    assert (tmp_path / "web" / ".assay" / "current").exists()
    assert [(one["repository"], one["mode"]) for one in again] == [("api", "fresh"), ("client", "fresh")]
    assert "repositories" not in assay(tmp_path, "index", "api", "--format", "json").json


def test_one_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    for name, files in (("api", API), ("web", WEB)):
        make(tmp_path, name, files, index=False)
    (tmp_path / "api" / ".assay").write_text("no folder")

    done = assay(tmp_path, "index", "api", "web")

    assert done.code == 2
    assert "api" in done.err
    assert (tmp_path / "web" / ".assay" / "current").exists()
    assert "failed" in assay(tmp_path, "index", "api", "web", "--format", "json").json["repositories"][0]


def test_the_line_about_freshness_names_the_repository(tmp_path: Path) -> None:
    api, web = make(tmp_path, "api", API), make(tmp_path, "web", WEB)
    web.write("src/cookies.ts", "export function readCookies(name: string) { return name; }\n")

    with open_all([api.root, web.root]) as workspace:
        told = workspace.context("read cookie").freshness
    status = assay(tmp_path, "status", "--root", "api", "--root", "web")

    assert told == f"1 file changed since it was made (web/src/cookies.ts); run: assay index {api.root} {web.root}"
    assert status.code == 1
    assert "[web]" in status.out
    assert [
        one["fresh"]
        for one in assay(tmp_path, "status", "--root", "api", "--root", "web", "--format", "json").json["repositories"]
    ] == [True, False]


def test_an_answer_is_remembered_until_one_of_them_changes(tmp_path: Path) -> None:
    api, web = make(tmp_path, "api", API), make(tmp_path, "web", WEB)
    ask = ("context", "read cookie", "--root", "api", "--root", "web", "--index")
    assay(tmp_path, *ask)
    before = assay(tmp_path, *ask).out
    web.write("src/cookies.ts", "export function bakeCookie(name: string) { return name; }\n")

    assert "readCookie" in before
    assert "bakeCookie" in assay(tmp_path, *ask).out
    assert api.root.exists()


def test_what_a_session_was_given_is_kept_by_its_repository(tmp_path: Path) -> None:
    api, web = make(tmp_path, "api", API), make(tmp_path, "web", WEB)

    with open_all([api.root, web.root]) as workspace:
        given = workspace.context("refund a card", session="s", k=1).items
        learned = workspace.learned("refund a card", "s")
        numbers = {one.item.number for one in given}

    assert numbers <= learned.session.keys()
    assert (api.root / ".assay" / "learned.db").exists()
    assert not (web.root / ".assay" / "learned.db").exists()


def test_a_missing_index_is_built(tmp_path: Path) -> None:
    make(tmp_path, "api", API)
    make(tmp_path, "web", WEB, index=False)

    refused = assay(tmp_path, "context", "cookie", "--root", "api", "--root", "web", "--no-refresh")
    done = assay(tmp_path, "context", "cookie", "--root", "api", "--root", "web")

    assert refused.code == 2
    assert f"{tmp_path}/web: no index yet" in refused.err
    assert done.err.startswith("web: indexed ")


def test_empty_repositories_do_no_harm(tmp_path: Path) -> None:
    found = [make(tmp_path, "api", API).root, make(tmp_path, "nothing", {}).root, make(tmp_path, "prose", MANUAL).root]

    with open_all(found) as workspace:
        assert workspace.rank("sign cookie", 5)[0].item.repository == "api"
        assert workspace.search("sign cookie", 5)
        assert workspace.ask("how often are keys rotated?").grounded
    with open_all(found[1:2]) as workspace:
        assert workspace.context("anything").items == ()
        assert workspace.search("anything") == []


# which repositories


def test_labels_are_folder_names_unless_one_is_given(tmp_path: Path) -> None:
    for name in ("api", "a=b", "my shop"):
        (tmp_path / name).mkdir()

    found = roots(["api", "web=api/../my shop", "a=b"], tmp_path)

    assert [(root.label, root.path.name) for root in found] == [("api", "api"), ("web", "my shop"), ("a-b", "a=b")]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (["missing"], "missing: no such folder"),
        (["file"], "file: not a folder; name the folder that contains it"),
        (["api", "./api"], "/api is named twice"),
        (["api", "api/src"], "/api/src is inside"),
        (["api", "other/api"], "two repositories are called 'api'"),
        (["api", "api=web"], "two repositories are called 'api'"),
        (["/"], "/: has no name to call it by; write label=/"),
    ],
)
def test_roots_that_cannot_be_asked_together_are_a_clear_line(tmp_path: Path, written: list[str], said: str) -> None:
    for name in ("api/src", "web", "other/api"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "file").touch()

    with pytest.raises(AssayError) as error:
        roots(written, tmp_path)

    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_repository_inside_another_is_not_asked_twice_and_may_be_a_root(tmp_path: Path) -> None:
    outer = make(tmp_path, "outer", WEB, index=False)
    inner = make(outer.root, "inner", API, index=False)

    with open_all([outer.root, inner.root], index=True) as workspace:
        assert [item.id for item in workspace.symbols("charge")] == ["inner/src/billing.py::charge"]


def test_config_shows_the_workspace_and_check_finds_its_mistakes(team: Path, tmp_path: Path) -> None:
    shown = assay(team / "all", "config", "--format", "json").json["settings"]
    (tmp_path / "assay.toml").write_text('[workspace]\nroots = ["../none", "."]\n')
    trust_settings(tmp_path)
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "assay.toml").write_text('[workspace]\nroots = "api"\n')

    assert {
        "name": "workspace.roots",
        "value": ["../api", "../web", "docs=../handbook"],
        "origin": "assay.toml",
    } in shown
    wrong = assay(tmp_path, "config", "check")
    assert (wrong.code, wrong.out) == (1, f"{tmp_path}/assay.toml: [workspace] ../none: no such folder\n")
    assert "[workspace] roots must be a list of folders" in assay(tmp_path / "wrong", "config", "check").out
    assert assay(team / "all", "config", "check").code == 0


def test_an_index_elsewhere_is_about_one_repository(team: Path) -> None:
    done = assay(team / "all", "context", "cookie", "--index-dir", "x")

    assert done.code == 2
    assert "--index-dir works with a single repository only" in done.err


def test_the_python_interface_is_that_of_a_repository(team: Path) -> None:
    with package.open_all([team / "api", team / "web"]) as workspace:
        assert workspace.context("sign cookies", budget=400).render("json").startswith("{")
        assert (
            json.loads(workspace.context("sign cookies", budget=400).render("json"))["items"][0]["repository"] == "api"
        )
        assert workspace.files["api/src/billing.py"].language == "python"
        assert list(workspace.members) == ["api", "web"]
        assert {label: one.status().files for label, one in workspace.members.items()} == {"api": 3, "web": 2}
        assert workspace.affected_tests(["api/src/sessions.py"])[0].item.path == "api/tests/test_sessions.py"


# servers


def test_agents_ask_all_repositories_through_one_server(tmp_path: Path) -> None:
    api, web = make(tmp_path, "api", API), make(tmp_path, "web", WEB)

    async def talk() -> None:
        async with over_stdio(api.root, "--root", f"client={web.root}") as agent:
            assert "api, client" in (agent.client.instructions or "")
            await agent.until_fresh()
            found = await agent.ask("context", task="sign the cookie of a session, read the cookie after login")
            assert "api/src/sessions.py:" in found
            assert "client/src/cookies.ts:" in found
            body = await agent.ask("context", symbols=["client/src/cookies.ts::readCookie"])
            assert "export function readCookie" in body
            deadline = time.monotonic() + PATIENCE  # passages are divided behind the index
            while "being built" in (found := await agent.ask("search", query="read cookie", paths=["client/"])):
                assert time.monotonic() < deadline, found
                await anyio.sleep(0.1)
            assert "client/src/cookies.ts:1-1  function readCookie" in found
            assert "api/src/sessions.py:15 open_session" in await agent.ask("impact", symbol="sign_cookie")
            assert "client/src/cookies.ts" in await agent.ask("why", task="read cookie", symbol="readCookie")
            assert "noted: 1 useful" in await agent.ask("feedback", useful=["refund"], task="give money back")
            refused, failed = await agent.call("context", pr="")
            assert failed
            assert "a review is about one repository" in refused
            status = await agent.read("assay://status")
            assert [(one["repository"], one["files"]) for one in status["repositories"]] == [("api", 3), ("client", 2)]

    anyio.run(talk)
    with package.open(api.root) as one:
        assert one.learned("give money back").feedback[one.symbol("refund")[0].number] > 0


def test_an_agent_is_told_which_repository_changed_and_soon_has_the_change(tmp_path: Path) -> None:
    api, web = make(tmp_path, "api", API), make(tmp_path, "web", WEB)
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "assay.toml").write_text('[workspace]\nroots = ["../api", "../web"]\n')
    trust_settings(tmp_path / "all")

    async def talk() -> None:
        async with over_stdio(tmp_path / "all") as agent:
            await agent.until_fresh()
            web.write("src/oven.ts", "export function bakeBread(flour: string) { return flour; }\n")
            deadline = time.monotonic() + PATIENCE
            while "web/src/oven.ts" not in (found := await agent.ask("context", task="bake bread")):
                assert time.monotonic() < deadline, found
                await anyio.sleep(0.1)

    anyio.run(talk)
    assert api.open().files.keys() == API.keys()


def test_before_there_is_an_index_a_server_looks_at_the_files_of_all(tmp_path: Path) -> None:
    api, web = make(tmp_path, "api", API, index=False), make(tmp_path, "web", WEB, index=False)
    looked = FirstLook({"api": api.root, "web": web.root}).look("cookie", seconds=30)

    assert {match.path for match in looked.matches} >= {"api/src/sessions.py", "web/src/cookies.ts"}


def test_threads_that_ask_at_once_are_answered_alike(team: Path) -> None:
    found = roots([team / "api", team / "web"])
    with WorkspaceResident(found, watch=False) as residents:
        assert residents.wait(PATIENCE)

        def asked(_: int) -> list[str]:
            with residents.using() as workspace:
                return [one.item.id for one in workspace.rank("sign the cookie", 10)]

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(asked, range(24)))

    assert all(answer == answers[0] for answer in answers)
    assert answers[0]


def test_watch_follows_every_repository(tmp_path: Path) -> None:
    api, web = make(tmp_path, "api", API), make(tmp_path, "web", WEB)
    command = [*COMMAND, "watch", "--root", str(api.root), "--root", str(web.root)]
    process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        told = [process.stderr.readline() for _ in range(3)]
        web.write("src/oven.ts", "export function bakeBread(flour: string) { return flour; }\n")
        line = process.stderr.readline()
        if "waiting for it" in line:  # for the passages, which are made after an index
            line = process.stderr.readline()
        told.append(line)
    finally:
        process.terminate()
        process.wait(PATIENCE)

    assert sorted(line.partition("[")[2].partition("]")[0] for line in told[1:3]) == ["api", "web"]
    assert "[web] updated" in told[3]
