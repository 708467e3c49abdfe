"""The MCP server with the SDK's client over stdio and HTTP."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError

from assay.serve.mcp.conversation import SENT, Conversation, UsageLog
from assay.serve.mcp.offered import TOOLS
from assay.serve.mcp.tools import Call, fit_to_budget
from assay.serve.requests import MIN_BUDGET
from assay.serve.watch import Resident
from assay.serve.watch.first_look import FirstLook
from assay.text.display import printable
from assay.text.tokens import count
from support.agents import Agent, http_server, over_stdio, talk, text_of
from support.command import ENVIRONMENT, assay
from support.property_tests import examples
from support.repository import Repository

SHOP = '''
class Cart:
    """What a customer is going to buy."""

    def total_price(self, discounts):
        """Adds up the prices of the goods, less the discounts."""
        price = sum(good.price for good in self.goods)
        return apply_discounts(price, discounts)


def apply_discounts(amount, discounts):
    """Takes off what each discount is worth."""
    for discount in discounts:
        amount -= discount.value
    return amount


def send_invoice(cart, address):
    print(address, cart.total_price([]))
'''
TEST = "from shop import apply_discounts\n\n\ndef test_no_discounts():\n    assert apply_discounts(3, []) == 3\n"
GUIDE = "# Discounts\n\nA discount is taken off the amount before taxes are added.\n"


def fill(repository: Repository) -> Repository:
    repository.write("shop.py", SHOP)
    repository.write("test_shop.py", TEST)
    repository.write("guide.md", GUIDE)
    repository.commit("A shop with discounts")
    return repository


@pytest.fixture
def shop(repository: Repository) -> Repository:
    return fill(repository)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server of an indexed shop."""
    made = Repository(tmp_path_factory.mktemp("served") / "shop")
    made.root.mkdir()
    made.git("init", "-q", "-b", "main")
    fill(made).index()
    with http_server(made.root) as url:
        talk(lambda: _fresh(url))
        yield url


async def _fresh(url: str) -> None:
    async with Client(url) as client:
        await Agent(client).until_fresh()


def asked(url: str, work: Callable[[Agent], Awaitable[None]], mode: str = "auto") -> None:
    """What an agent does over HTTP."""

    async def run() -> None:
        async with Client(url, mode=mode) as client:
            await work(Agent(client))

    talk(run)


# every tool


def test_an_outline_names_what_a_task_needs_and_how_to_get_bodies(served: str) -> None:
    async def work(agent: Agent) -> None:
        text = await agent.ask("context", task="apply discounts to the price")
        assert "shop.py:11 function apply_discounts" in text
        assert "def apply_discounts(amount, discounts)" in text
        assert "amount -= discount.value" not in text
        assert "detail=full" in text

    asked(served, work)


def test_the_aim_decides_how_a_task_is_ranked_and_explained(served: str) -> None:
    async def work(agent: Agent) -> None:
        task = "apply discounts to the price"
        know, change = [await agent.ask("context", task=task, aim=aim) for aim in ("know", "change")]
        assert "confidence:" in know
        assert "confidence:" in change
        assert "function apply_discounts" in change
        asked_to_change = await agent.ask("why", task=task, symbol="apply_discounts", aim="change")
        assert "ranker:" in asked_to_change
        assert asked_to_change != await agent.ask("why", task=task, symbol="apply_discounts")

    asked(served, work)


def test_bodies_come_on_demand_by_name_by_detail_and_by_file(served: str) -> None:
    async def work(agent: Agent) -> None:
        for arguments in (
            {"symbols": ["apply_discounts"]},
            {"task": "apply discounts", "detail": "full"},
            {"files": ["shop.py"], "detail": "full"},
        ):
            assert "amount -= discount.value" in await agent.ask("context", **arguments)

    asked(served, work)


def test_a_body_that_was_sent_is_referred_to_and_sent_again_on_request(served: str) -> None:
    async def work(agent: Agent) -> None:
        first = await agent.ask("context", symbols=["apply_discounts"])
        second = await agent.ask("context", symbols=["apply_discounts"])
        again = await agent.ask("context", symbols=["apply_discounts"], repeat=True)
        assert "amount -= discount.value" in first
        assert "amount -= discount.value" not in second
        assert f"shop.py:11 function apply_discounts [{SENT}]" in second
        assert "amount -= discount.value" in again

    asked(served, work, mode="legacy")  # has sessions


def test_conversations_know_nothing_of_each_other(served: str) -> None:
    async def work(agent: Agent) -> None:
        assert "amount -= discount.value" in await agent.ask("context", symbols=["apply_discounts"])

    asked(served, work, mode="legacy")
    asked(served, work, mode="legacy")


def test_a_review_speaks_of_what_changed(served: str) -> None:
    async def work(agent: Agent) -> None:
        assert "nothing changed since" in await agent.ask("context", pr="HEAD")
        text, failed = await agent.call("context", pr="no-such-branch")
        assert failed
        assert "no-such-branch" in text

    asked(served, work)


def test_search_cites_documents_and_code(served: str) -> None:
    async def work(agent: Agent) -> None:
        both = await agent.ask("search", query="discount taken off the amount")
        assert "guide.md:1-3" in both
        assert "shop.py" in both
        assert "shop.py" not in await agent.ask("search", query="discount amount", only="documents")
        assert "guide.md" not in await agent.ask("search", query="discount amount", paths=["*.py"])

    asked(served, work)


def test_search_takes_exact_phrases_expressions_and_filters(served: str) -> None:
    async def work(agent: Agent) -> None:
        lines = await agent.ask("search", query=r'/def \w+_discounts/ "amount" lang:python')
        assert lines == (
            "shop.py:11-15  function apply_discounts\n"
            "    11: def apply_discounts(amount, discounts):\n"
            "    14:         amount -= discount.value\n"
            "    15:     return amount\n"
        )
        assert "best 1 of 5 results shown" in await agent.ask("search", query='"discount"', limit=1)
        assert "try without some of the filters" in await agent.ask("search", query='"zzqx" path:shop.py')
        for query, complaint in {"/a(/": "missing )", "x lang:pyton": "Did you mean 'python'?"}.items():
            text, failed = await agent.call("search", query=query)
            assert failed
            assert complaint in text
        assert "[#1]" in await agent.ask("ask", question='what is taken off the "amount" before -taxes?')

    asked(served, work)


def test_ask_answers_with_citations_or_says_that_it_does_not_know(served: str) -> None:
    async def work(agent: Agent) -> None:
        answer = await agent.ask("ask", question="what is taken off the amount before taxes?")
        assert "discount" in answer
        assert "[#1] guide.md" in answer
        assert "guide.md" not in await agent.ask("ask", question="who won the world cup in 1954?")

    asked(served, work)


def test_impact_names_callers_and_the_tests_to_run(served: str) -> None:
    async def work(agent: Agent) -> None:
        everybody = await agent.ask("impact", symbol="apply_discounts")
        assert everybody.startswith("3 symbols would notice a change of apply_discounts (shop.py:11)")
        assert "send_invoice" in everybody
        tests = await agent.ask("impact", symbol="apply_discounts", tests=True)
        assert "test_no_discounts" in tests
        assert "send_invoice" not in tests

    asked(served, work)


def test_why_explains_a_rank(served: str) -> None:
    async def work(agent: Agent) -> None:
        text = await agent.ask("why", task="apply discounts", symbol="apply_discounts")
        assert "function apply_discounts  shop.py:11" in text
        assert "rank 1" in text

    asked(served, work)


def test_feedback_is_kept_and_moves_later_answers(shop: Repository) -> None:
    shop.index()

    async def work() -> None:
        async with over_stdio(shop.root) as agent:
            said = await agent.ask("feedback", useful=["send_invoice"], not_useful=["Cart"], task="totals")
            assert said == "noted: 1 useful, 1 not useful\n"

    talk(work)
    known = {
        row["id"]: row["useful"] for row in assay(shop.root, "feedback", "list", "--format", "json").json["symbols"]
    }
    assert known == {"shop.py::send_invoice": 1, "shop.py::Cart": 0}


def test_reading_teaches_nothing_and_an_edit_does_unless_learning_is_off(shop: Repository) -> None:
    shop.index()

    async def read(agent: Agent) -> None:
        await agent.ask("context", task="apply discounts")
        await agent.ask("context", symbols=["apply_discounts", "Cart"])
        await agent.ask("context", files=["shop.py"])
        await agent.ask("impact", symbol="apply_discounts")
        await agent.ask("why", task="apply discounts", symbol="apply_discounts")

    async def without_learning() -> None:
        async with over_stdio(shop.root, "--no-learning") as agent:
            await read(agent)
            refused, failed = await agent.call("feedback", useful=["Cart"])
            assert failed, refused

    async def reading() -> None:
        async with over_stdio(shop.root) as agent:
            await read(agent)
            await agent.ask("context", task="another task")

    async def editing() -> None:
        async with over_stdio(shop.root) as agent:
            await read(agent)
            shop.write("shop.py", SHOP.replace("amount -= discount.value", "amount -= discount.worth"))
            await agent.until(lambda found: not found["fresh"] or found["state"]["name"] != "fresh")
            await agent.until_fresh()

    def useful() -> dict[str, int]:
        rows = assay(shop.root, "feedback", "list", "--format", "json").json["symbols"]
        return {row["id"]: row["useful"] for row in rows}

    talk(without_learning)
    assert not (shop.home.folder / "learned.db").exists()
    talk(reading)
    assert useful() == {}
    talk(editing)
    assert useful() == {"shop.py::apply_discounts": 1}


def test_resources_tell_figures_and_freshness_and_prompts_begin_work(served: str) -> None:
    async def work(agent: Agent) -> None:
        status = await agent.read("assay://status")
        assert status["files"] == 2
        assert status["state"]["name"] == "fresh"
        assert (await agent.read("assay://freshness"))["stale"] == []
        names = [prompt.name for prompt in (await agent.client.list_prompts()).prompts]
        assert names == ["plan_a_change", "review_a_pr"]
        planned = await agent.client.get_prompt("plan_a_change", {"task": "round {prices}"})
        assert "round {prices}" in text_of(planned.messages[0].content)
        reviewed = await agent.client.get_prompt("review_a_pr", {})
        assert "Review the changes" in text_of(reviewed.messages[0].content)
        with pytest.raises(MCPError, match="task is missing"):
            await agent.client.get_prompt("plan_a_change", {})
        with pytest.raises(MCPError, match="unknown resource"):
            await agent.read("assay://statu")

    asked(served, work)


def test_every_tool_has_a_budget_an_example_and_says_when_not_to_use_it(served: str) -> None:
    async def work(agent: Agent) -> None:
        tools = (await agent.client.list_tools()).tools
        assert [tool.name for tool in tools] == list(TOOLS)
        for tool in tools:
            assert "budget" in tool.input_schema["properties"] or tool.name == "feedback"
            assert tool.input_schema["additionalProperties"] is False
            assert tool.description is not None
            assert "Not " in tool.description
            assert "Example: {" in tool.description

    asked(served, work)


# bad arguments


@pytest.mark.parametrize(
    ("tool", "arguments", "complaint"),
    [
        ("context", {}, "what is the task?"),
        ("context", {"task": "  "}, "what is the task?"),
        ("context", {"task": "x", "pr": ""}, "ask about one thing"),
        ("context", {"symbols": ["a"], "files": ["b"]}, "ask about one thing"),
        ("context", {"task": "x", "budget": 3}, "context: budget must be at least 100, not 3"),
        ("context", {"task": "x", "budget": "many"}, 'budget must be an integer, not "many"'),
        ("context", {"tsk": "x"}, "no parameter called \"tsk\". Did you mean 'task'? Known: task, symbols"),
        ("context", {"task": "x", "detail": "all"}, 'detail must be one of full, outline, not "all"'),
        ("context", {"files": ["../secret"]}, "outside"),
        ("context", {"files": ["/etc/passwd"]}, "outside"),
        ("context", {"files": ["a\0b"]}, "NUL"),
        ("context", {"symbols": ["aply_discounts"]}, "Nearest: apply_discounts"),
        ("impact", {"symbol": ""}, "symbol is empty"),
        ("impact", {"symbol": "nobody"}, "no symbol called 'nobody'"),
        ("search", {}, "query is missing: Words that the passage"),
        ("search", {"query": "   "}, "query is empty: Words that the passage"),
        ("why", {"task": "x", "symbol": "nobody"}, "no symbol called"),
        ("feedback", {}, "name symbols"),
        ("feedback", {"useful": ["nobody"]}, "no symbol called"),
        ("contxt", {"task": "x"}, "Did you mean 'context'?"),
    ],
)
def test_bad_arguments_are_errors_of_one_line_that_say_what_to_do(
    served: str, tool: str, arguments: dict[str, Any], complaint: str
) -> None:
    async def work(agent: Agent) -> None:
        text, failed = await agent.call(tool, **arguments)
        assert failed, text
        assert complaint in text
        assert "\n" not in text

    asked(served, work)


def test_what_is_not_found_is_said_with_what_was_searched_and_what_to_try(served: str) -> None:
    async def work(agent: Agent) -> None:
        nothing = await agent.ask("context", task="zzqx")
        assert "nothing in" in nothing
        assert "try: other words" in nothing
        assert "try with other words" in await agent.ask("search", query="zzqx")
        assert "no callers of send_invoice" in await agent.ask("impact", symbol="send_invoice")

    asked(served, work)


# budgets


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    """A call of its own, without a transport."""
    made = Repository(tmp_path_factory.mktemp("call") / "shop")
    made.root.mkdir()
    made.git("init", "-q", "-b", "main")
    fill(made)
    made.write("日本.py", "def 割引(額):\n    '''Zieht den Rabatt ab: 割引 🎉🎉🎉'''\n    return 額\n" * 3)
    made.index()
    with Resident(made.root, watch=False) as resident:
        assert resident.wait_to_search(60)
        yield Call(resident, FirstLook(made.root), Conversation(), UsageLog(resident, on=False), threading.Event())


QUESTIONS = st.sampled_from(
    [
        ("context", {"task": "apply discounts to the total price"}),
        ("context", {"task": "割引 🎉"}),
        ("context", {"task": "zzqx"}),
        ("context", {"files": ["shop.py", "日本.py"]}),
        ("context", {"symbols": ["Cart", "apply_discounts"], "repeat": True}),
        ("context", {"pr": "HEAD"}),
        ("search", {"query": "discount"}),
        ("search", {"query": "zzqx"}),
        ("ask", {"question": "what is taken off the amount?"}),
        ("ask", {"question": "zzqx"}),
        ("impact", {"symbol": "apply_discounts"}),
        ("impact", {"symbol": "send_invoice"}),
        ("why", {"task": "apply discounts", "symbol": "apply_discounts"}),
    ]
)


@settings(max_examples=examples(150))
@given(QUESTIONS, st.integers(MIN_BUDGET, 1_500), st.sampled_from(["outline", "full"]))
def test_no_answer_ever_has_more_tokens_than_its_budget(
    call: Call, question: tuple[str, dict[str, Any]], budget: int, detail: str
) -> None:
    tool, arguments = question
    told = {"detail": detail} if tool == "context" else {}
    text = TOOLS[tool].call(call, {**arguments, **told, "budget": budget})
    assert 0 < count(text) <= budget


LINES = st.lists(st.text(max_size=40).map(lambda text: f"{text}\n"), max_size=8)


@given(LINES, LINES, st.integers(0, 200))
def test_whatever_is_fitted_fits(head: list[str], pieces: list[str], budget: int) -> None:
    text = fit_to_budget("".join(head), pieces, budget)
    assert count(text) <= budget
    if count(printable("".join(head + pieces))) <= budget:
        assert text == printable("".join(head + pieces))


@settings(max_examples=examples(50))
@given(st.text(max_size=60), st.integers(MIN_BUDGET, 600))
def test_a_first_look_keeps_to_the_budget_whatever_is_asked(call: Call, task: str, budget: int) -> None:
    from assay.serve.mcp.tools import _search_without_index

    assert 0 < count(_search_without_index(call, task, budget)) <= budget


# before there is an index


def test_an_unindexed_repository_is_answered_at_once_and_ranked_when_it_is_indexed(shop: Repository) -> None:
    async def work() -> None:
        async with over_stdio(shop.root) as agent:
            first = await agent.ask("context", task="apply discounts")
            assert "apply_discounts" in first
            await agent.until_fresh()
            assert "shop.py:11 function apply_discounts" in await agent.ask("context", task="apply discounts")

    talk(work)


def test_while_another_process_holds_the_index_answers_are_a_first_look_that_says_so(shop: Repository) -> None:
    async def work() -> None:
        with shop.home.writing():
            async with over_stdio(shop.root) as agent:
                for tool, arguments in (
                    ("context", {"task": "apply discounts"}),
                    ("search", {"query": "discounts"}),
                    ("ask", {"question": "what are discounts?"}),
                    ("impact", {"symbol": "apply_discounts"}),
                ):
                    text = await agent.ask(tool, **arguments)
                    assert "ask again in" in text or "waiting for another process" in text
                    assert "11: def apply_discounts(amount, discounts):" in text
                calls: tuple[tuple[str, dict[str, Any]], ...] = (
                    ("context", {"files": ["shop.py"]}),
                    ("why", {"task": "x", "symbol": "Cart"}),
                    ("feedback", {"useful": ["Cart"]}),
                )
                for tool, needing in calls:
                    text, failed = await agent.call(tool, **needing)
                    assert failed, text
                    assert text.startswith("this needs the index")

    talk(work)


def test_an_index_of_another_version_is_made_anew_and_answered_without_until_then(shop: Repository) -> None:
    shop.index()
    with shop.home.writing():
        current = shop.home.current()
        assert current is not None
        (current / "catalogue.db").write_bytes(b"not a database")

        async def work() -> None:
            async with over_stdio(shop.root) as agent:
                assert "11: def apply_discounts" in await agent.ask("context", task="apply discounts")

        talk(work)


@pytest.mark.parametrize("command", ["mcp", "watch", "init"])
def test_a_whole_home_is_never_taken_for_a_repository(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "HOME", str(tmp_path))
    done = assay(tmp_path, command)
    assert done.code == 2
    assert "is not a repository" in done.err
    assert not list(tmp_path.iterdir())


# while it runs


def test_an_edit_is_in_the_next_answers_by_itself(shop: Repository) -> None:
    shop.index()

    async def work() -> None:
        async with over_stdio(shop.root) as agent:
            await agent.until_fresh()
            shop.write("stock.py", "def reserve_goods(goods):\n    return goods\n")
            await agent.until(lambda found: found["files"] == 3, "assay://status")
            assert "stock.py:1 function reserve_goods" in await agent.ask("context", task="reserve goods")

    talk(work)


def test_a_body_that_changed_since_it_was_sent_is_sent_again(shop: Repository) -> None:
    shop.index()

    async def work() -> None:
        async with over_stdio(shop.root) as agent:
            await agent.ask("context", symbols=["apply_discounts"])
            shop.write("shop.py", SHOP.replace("amount -= discount.value", "amount -= discount.worth"))
            await agent.until(lambda found: not found["fresh"] or found["state"]["name"] != "fresh")
            await agent.until_fresh()
            assert "amount -= discount.worth" in await agent.ask("context", symbols=["apply_discounts"])

    talk(work)


def test_lines_that_changed_this_very_moment_are_never_shown_as_they_were(shop: Repository) -> None:
    shop.index()

    async def work() -> None:
        async with over_stdio(shop.root) as agent:
            await agent.until_fresh()
            await agent.ask("context", task="apply discounts")
            for number in range(5):
                shop.write("shop.py", SHOP.replace("amount -= discount.value", f"amount -= discount.worth{number}"))
                text = await agent.ask("context", symbols=["apply_discounts"], repeat=True)
                assert "discount.value" not in text
                assert f"discount.worth{number}" in text or "changed since it was indexed" in text

    talk(work)


def test_an_index_that_is_rebuilt_or_deleted_meanwhile_does_no_harm(shop: Repository) -> None:
    shop.index()

    async def work() -> None:
        async with over_stdio(shop.root) as agent:
            await agent.until_fresh()
            for _ in range(4):  # more than the generations that are kept
                shop.index(rebuild=True)
                assert "apply_discounts" in await agent.ask("context", task="apply discounts")
            shop.home.folder.rename(shop.root.parent / "deleted")  # in one step: something may just be written
            text, failed = await agent.call("context", task="apply discounts")
            assert "apply_discounts" in text or failed
            await agent.until_fresh()
            assert "shop.py:11 function" in await agent.ask("context", task="apply discounts")

    talk(work)


def test_a_repository_that_is_deleted_meanwhile_is_an_error_of_one_line_and_one_that_comes_back_is_served(
    shop: Repository, tmp_path: Path
) -> None:
    shop.index()
    away = tmp_path / "away"

    async def work() -> None:
        async with over_stdio(shop.root) as agent:
            await agent.until_fresh()
            shutil.move(shop.root, away)
            text, failed = await agent.call("context", task="apply discounts")
            assert failed, text
            assert "\n" not in text
            assert str(shop.root) in text
            shutil.move(away, shop.root)
            await agent.until_fresh()
            assert "apply_discounts" in await agent.ask("context", task="apply discounts")

    talk(work)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_many_calls_at_once_are_all_answered_each_with_its_own(served: str, mode: str) -> None:
    answers: dict[int, str] = {}

    async def work(agent: Agent) -> None:
        async def one(number: int) -> None:
            name = ("apply_discounts", "Cart", "send_invoice")[number % 3]
            answers[number] = await agent.ask("why", task="discounts", symbol=name)

        async with anyio.create_task_group() as group:
            for number in range(30):
                group.start_soon(one, number)

    asked(served, work, mode)
    for number, text in answers.items():
        assert ("apply_discounts", "Cart", "send_invoice")[number % 3] in text.splitlines()[0]
    assert len(answers) == 30


def test_a_cancelled_call_ends_and_the_next_one_is_answered(shop: Repository) -> None:
    async def work() -> None:
        with shop.home.writing():  # so that answers take as long as they may
            async with over_stdio(shop.root) as agent:
                await agent.ask("context", task="apply discounts")
                for _ in range(10):
                    with anyio.move_on_after(0.05) as scope:
                        await agent.ask("context", task="apply discounts")
                    assert scope.cancelled_caught
                assert "apply_discounts" in await agent.ask("context", task="apply discounts")

    talk(work)


# over HTTP


def test_only_our_own_hosts_and_origins_are_answered(served: str) -> None:
    asking = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Host": "127.0.0.1.evil.example:80"}):
        assert httpx2.post(served, json=asking, headers=headers).status_code in (403, 421)


def test_another_address_demands_a_token_and_the_token_is_demanded(shop: Repository) -> None:
    refused = assay(shop.root, "mcp", "--http", "0", "--host", "0.0.0.0")
    assert refused.code == 2
    assert "ASSAY_TOKEN" in refused.err
    short = assay(shop.root, "mcp", "--http", "0", "--token", "short")
    assert "at least 16" in short.err
    token = "t" * 32
    with http_server(shop.root, "--token", token) as url:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {token}"}):
            assert httpx2.post(url, json={}, headers=headers).status_code == 401
        assert httpx2.post(url, json={}, headers={"Authorization": f"Bearer {token}"}).status_code != 401


def test_a_port_in_use_is_an_error_of_one_line(served: str, shop: Repository) -> None:
    port = served.rpartition(":")[2].partition("/")[0]
    done = assay(shop.root, "mcp", "--http", port)
    assert done.code == 2
    assert f"cannot listen on 127.0.0.1:{port}" in done.err


def test_a_body_that_is_too_large_is_refused(served: str) -> None:
    assert (
        httpx2.post(served, content=b" " * 5_000_000, headers={"Content-Type": "application/json"}).status_code == 413
    )
