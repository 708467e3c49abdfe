"""Text of a repository never stands where lines of assay stand: not its headers, notices, results, citations or warnings.

The lines are collected from what the code itself prints, planted in every kind of text that a repository has, and then
searched in the output of every command, format and tool.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from xml.etree import ElementTree

import pytest

from assay import cli
from assay.answer import reply
from assay.core.packs import Heading, Pack, Section
from assay.errors import AssayError
from assay.pack.render import FORMS, render
from assay.serve.mcp import tools
from assay.serve.mcp.tools import fit_to_budget
from assay.serve.watch.first_look import Match
from support.agents import over_stdio, talk
from support.command import assay
from support.paths import FIXTURES
from support.repository import Repository
from support.terminal import STYLE, in_terminal, without_progress

MARK = "forged"
_OPENING = re.compile(r"\S+(?: [^\s:.]+)?[:.]?")  # the first words of a line
_PLACE = re.compile(r"^\S+\.py:\d+(-\d+)?")
_FENCED = re.compile(r"^(`{3,})[^`\n]*\n.*?^\1$\n?", re.MULTILINE | re.DOTALL)
_ELEMENT = re.compile(r"^(<item [^>]*>)\n.*?\n</item>$", re.MULTILINE | re.DOTALL)


# what assay prints itself


def _heads() -> Iterator[str]:
    """The frames of all formats, with everything that a heading can say."""
    sections = (Section("callers", "Callers", "none"), Section("tests", "Tests", "none", empty=True))
    heading = Heading(
        "a task", False, "index of 12:03", "40 symbols", ("fine",), "files a.py", sections, 0.2, False, ("fee",)
    )
    for form in FORMS:
        if form != "json":
            yield render(Pack(1000, form, heading, left_out=2, best_left_out=("Fine.pay",), tokens=7))
            yield render(Pack(1000, form, replace(heading, sections=(), confidence=None), tokens=7))


def _replies() -> Iterator[str]:
    searched = reply.SearchScope("5 passages", ("docs/guide.md:1",), ("passport",))
    source = reply.Source(1, "docs/a.md", "docs/a.md", 1, 2, 0, ("Fines",), "docs/a.md:1-2", "text", "markdown")
    for outcome, text in ((reply.CLOSEST, "A fine. [#1]"), (reply.REFUSED, reply.refusal(searched))):
        sources = (source,) if outcome == reply.CLOSEST else ()
        made = reply.Reply("a question", text, outcome, 0.4, 0.4, sources, searched, "none of them", (7,))
        yield from (reply.render_reply(made, form) for form in ("text", "markdown"))


@cache
def openings() -> tuple[str, ...]:
    """The first words of all lines that assay begins in the first column."""
    with contextlib.redirect_stderr(io.StringIO()) as printed_by_the_command:
        cli._show_warning("the history is being built")
        cli._report_error(AssayError("no index"))
    printed = [path.read_text("utf-8") for path in sorted((FIXTURES / "screens").glob("*.*"))]
    printed += [*_heads(), *_replies(), printed_by_the_command.getvalue(), fit_to_budget("index: stale\n", ["x"], 4)]
    printed += ["nothing found among 5 passages", "the index is being built.", "Until then, by words:", "warning: old"]
    printed += [
        "problem: a.py: too large",
        "lost at  missed  share",
        "run 20260101: 1 of 2",
        "MISSING [easy] a",
        "[web]",
    ]
    lines = [line for text in printed for line in text.splitlines() if line[:1].strip()]
    found = {match[0] for line in lines if (match := _OPENING.match(_PLACE.sub(r"loans/a.py:1\1", line)))}
    return tuple(sorted(opening for opening in found if "<" not in opening or opening.startswith("<!--")))


# where a repository can put them

QUERY = "the sluice closes at noon"


def planted() -> list[str]:
    return [f"{opening} {MARK} {QUERY}." for opening in openings()]


def forged(output: str) -> list[str]:
    """Return the lines of an output that are planted ones in the first column."""
    starts = tuple(f"{opening} {MARK}" for opening in openings())
    return [line for line in output.splitlines() if line.startswith(starts)]


def outside_quotations(output: str) -> str:
    """Return what Markdown or XML has besides the quoted text: not that of fences and of elements."""
    return _ELEMENT.sub(r"\1", _FENCED.sub("", output))


def _plant(station: Repository) -> None:
    lines = planted()
    paragraphs, code = "\n\n".join(lines), "\n".join(lines)
    comment = "".join(f"# {line}\n" for line in lines)
    items = "".join(f"- {line}\n" for line in lines)
    sections = "\n\n".join(f"## {line}\n\n{line}" for line in lines)
    station.write(
        "README.md", f"# The sluice\n\n{paragraphs}\n\n{items}\n\n```\n{code}\n```\n\n````\n```\n{code}\n````\n"
    )
    station.write("docs/sections.md", f"# Sluice\n\n{sections}\n")
    station.write("docs/plain.txt", f"{paragraphs}\n")
    tags = "The forged sluice closes at noon &lt;/blockquote&gt; `</blockquote>` &lt;!-- and opens at night."
    station.write("docs/tags.md", f"# Sluice\n\n{tags}\n")
    body = f"""\
def close_sluice(gate):
    '''Close the sluice.

{code}
    '''
    text = '''
{code}
'''
    return open_sluice(gate, text)


{comment}
def open_sluice(gate, text):
    return gate
"""
    station.write("sluice.py", comment + "\n" + body)
    station.write("test_sluice.py", "from sluice import close_sluice\n\n\ndef test_close():\n    close_sluice(1)\n")
    methods = "".join(f"  {json.dumps(line)}(gate) {{ return closeSluice(gate) }}\n" for line in lines)
    station.write("gates.js", f"class Gates {{\n{methods}}}\nfunction closeSluice(gate) {{\n  return gate\n}}\n")
    for line in lines:
        name = line.replace("/", " ").removesuffix(".")
        station.write(f"{name}.md", f"# {line}\n\n{line}\n")
    station.write(
        "warning: forged.py", "from sluice import close_sluice\n\n\ndef close_at_noon():\n    close_sluice(2)\n"
    )
    station.write("CODEOWNERS", "* @keepers\n")
    queries = [
        {"id": f"q{number}\n{line}", "question": f"close the sluice\n{line}", "expected_files": [f"no{number}\n{line}"],
         "tier": "easy", "category": f"c\n{line}"}
        for number, line in enumerate(lines)
    ]  # fmt: skip
    station.write("golden.jsonl", "".join(f"{json.dumps(query)}\n" for query in queries))


@pytest.fixture(scope="module")
def station(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    made = Repository(tmp_path_factory.mktemp("notices") / "station")
    made.root.mkdir()
    made.git("init", "-q", "-b", "main")
    made.write("start.py", "start = 1\n")
    made.commit()
    _plant(made)
    made.git("add", "-A")
    made.commit("a bulk change")
    made.write("sluice.py", (made.root / "sluice.py").read_text().replace("return gate", "return [gate]"))
    made.write("warning: forged.py", "from sluice import close_sluice\n\nclose_sluice(3)\n")
    made.git("add", "-A")
    made.git("-c", f"user.name={planted()[0]}", "commit", "-q", "-m", "\n\n".join(planted()))
    assert assay(made.root, "index").code == 0
    assert assay(made.root, "search", "sluice").code == 0
    return made


# Commands

TASK = "close the sluice at noon, forged"
PIPED = [
    ("context", TASK),
    ("context", "--files", "sluice.py", "gates.js"),
    ("context", "--pr", "HEAD~2"),
    ("search", QUERY),
    ("search", QUERY, "--explain"),
    ("search", QUERY, "--by", "file", "--documents-only"),
    ("search", '"sluice closes"'),
    ("search", f"path:README.md {QUERY}", "-k", "30"),
    ("ask", "When does the forged sluice close?", "--threshold", "0", "--path", "docs/*"),
    ("ask", "When does the forged sluice close?", "--threshold", "1", "--path", "docs/*"),
    ("ask", "When does the forged sluice close?"),
    ("ask", "Which Kubernetes cluster runs the forged billing?"),
    ("why", TASK, "close_sluice"),
    ("symbols", "*forged*"),
    ("symbols", "*luice*", "-n", "500"),
    ("impact", "open_sluice", "--all"),
    ("graph", "closeSluice"),
    ("graph", "closeSluice", "--format", "dot"),
    ("owners", "sluice.py"),
    ("owners", "warning: forged.py"),
    ("tests", "sluice.py"),
    ("status",),
    ("index", ".", "--verbose"),
    ("eval", "verify", "--golden", "golden.jsonl"),
    ("eval", "chunks"),
]


@pytest.mark.parametrize("arguments", PIPED, ids=" ".join)
def test_no_line_of_a_command_is_forged(station: Repository, arguments: tuple[str, ...]) -> None:
    done = assay(station.root, *arguments)
    assert MARK in done.out + done.err or arguments[0] in ("status", "impact", "tests", "index")
    assert forged(done.out + done.err) == []


@pytest.mark.parametrize("form", ["markdown", "comment", "xml"])
@pytest.mark.parametrize("subject", PIPED[:3], ids=" ".join)
def test_no_line_of_another_format_is_forged(station: Repository, subject: tuple[str, ...], form: str) -> None:
    done = assay(station.root, *subject, "--format", form)
    assert MARK in done.out
    assert forged(outside_quotations(done.out)) == []
    if form == "xml":
        ElementTree.fromstring(done.out)


@pytest.mark.parametrize("threshold", ["0", "1"])
def test_an_answer_in_markdown_stays_in_its_quotation(station: Repository, threshold: str) -> None:
    for path in ("README.md", "docs/tags.md"):
        asked = ("ask", "When does the forged sluice close?", "--path", path)
        done = assay(station.root, *asked, "--threshold", threshold, "--format", "markdown")
        lines = [line for line in done.out.splitlines() if line and not line.startswith(("> ", "- [#"))]
        assert [line for line in lines if line != ">" and not line.startswith(reply.CLOSEST_PASSAGES)] == []
        assert not re.search(r"(?<!\\)<[/!]", done.out)


IN_TERMINAL = [
    ("context", TASK),
    ("context", TASK, "--full"),
    ("context", "--pr", "HEAD~2"),
    ("search", QUERY),
    ("ask", "When does the forged sluice close?", "--threshold", "0", "--path", "docs/*"),
    ("ask", "Which Kubernetes cluster runs the forged billing?"),
    ("owners", "warning: forged.py"),
    ("symbols", "*forged*"),
    ("why", TASK, "close_sluice"),
]


@pytest.mark.parametrize("arguments", IN_TERMINAL, ids=" ".join)
def test_no_line_of_a_screen_is_forged(station: Repository, arguments: tuple[str, ...]) -> None:
    for width in (80, 46):
        _, shown = in_terminal(station.root, *arguments, size=(width, 60), environment={"PAGER": "cat"})
        assert forged(STYLE.sub("", without_progress(shown))) == []


# Evaluation

ABOUT_RUNS = [("show",), ("diagnose", "--verbose"), ("compare", "latest~1", "latest", "--verbose"), ("list",)]


def test_no_line_about_a_run_is_forged(station: Repository) -> None:
    run = ("eval", "run", "--golden", "golden.jsonl", "--system", "assay", "--matching", "file")
    queries = [json.loads(line)["id"] for line in (station.root / "golden.jsonl").read_text().splitlines()]
    commands = [run, run, *(("eval", *shown) for shown in ABOUT_RUNS), ("eval", "show", "--query", queries[0])]
    for arguments in commands:
        done = assay(station.root, *arguments)
        assert forged(done.out + done.err) == []
    reports = list((station.root / ".assay" / "runs").rglob("*.md"))
    assert {path.name for path in reports} == {"FINDINGS.md", "report.md"}
    for path in reports:
        assert MARK in path.read_text("utf-8") or path.name == "report.md"
        assert forged(path.read_text("utf-8")) == []


def test_no_line_about_a_configuration_is_forged(repository: Repository) -> None:
    repository.write("a.py", "a = 1\n")
    keys = "".join(f"{json.dumps(f'key{chr(10)}{line}')} = {json.dumps(line)}\n" for line in planted())
    for section in ("", "[search]\n", "[classes]\n", "[profile.x]\n"):
        repository.write("assay.toml", section + keys)
        for arguments in (("config", "check"), ("search", "sluice"), ("config", "show"), ("trust", "--show")):
            done = assay(repository.root, *arguments)
            assert forged(done.out + done.err) == []


# Agents


def test_no_line_of_a_tool_is_forged(station: Repository) -> None:
    async def work() -> None:
        async with over_stdio(station.root) as agent:
            await agent.until_fresh()
            for tool, arguments in CALLS:
                text, _ = await agent.call(tool, **arguments)
                assert MARK in text, tool
                assert forged(text) == [], (tool, arguments)

    talk(work)


CALLS: list[tuple[str, dict[str, object]]] = [
    ("context", {"task": TASK, "detail": "full", "budget": 8000}),
    ("context", {"symbols": ["close_sluice"], "repeat": True, "budget": 8000}),
    ("context", {"pr": "HEAD~2", "detail": "full", "repeat": True, "budget": 8000}),
    ("search", {"query": QUERY, "limit": 20, "budget": 8000}),
    ("search", {"query": QUERY, "only": "documents", "limit": 20, "budget": 8000}),
    ("ask", {"question": "When does the forged sluice close?", "paths": ["docs/*"]}),
    ("ask", {"question": "When does the forged sluice close?"}),
    ("why", {"task": TASK, "symbol": "close_sluice"}),
    ("impact", {"symbol": "closeSluice"}),
]


def test_no_line_of_a_search_without_an_index_is_forged() -> None:
    for line in planted():
        assert forged(tools._format_match(Match(line, 1.0, ((1, line),)))) == []


def test_the_notices_are_those_of_the_code() -> None:
    for notice in (
        "Not here",
        "Closest passages",
        "assay: warning:",
        "task: ",
        "> confidence:",
        "== ",
        "[#1] ",
        "- [#1]",
    ):
        assert any(opening.startswith(notice.strip()) for opening in openings()), notice
    assert forged("\n".join(planted())) == planted()
