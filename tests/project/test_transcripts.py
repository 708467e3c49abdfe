"""Transcripts of README and docs against what the commands print now. Write them again with `make docs`, and read the difference."""

from __future__ import annotations

import re

import pytest

from support.paths import ROOT
from support.transcripts import PAGES, Page

# console blocks that nothing checks, by page
NOT_RUN = {
    "docs/answers.md": 9,
    "docs/guides/agents.md": 1,
    "docs/guides/ask.md": 1,
    "docs/guides/context.md": 1,
    "docs/guides/cluster.md": 3,
    "docs/guides/enrich.md": 2,
    "docs/guides/store.md": 5,
    "docs/guides/team.md": 2,
    "docs/guides/traces.md": 1,
    "docs/guides/tune.md": 1,
    "docs/guides/watch.md": 1,
}


def _named(pattern: str) -> list[str]:
    return [str(page.relative_to(ROOT)) for page in PAGES if re.search(pattern, page.read_text("utf-8"), re.M)]


def _page(name: str) -> Page:
    return Page((ROOT / name).read_text("utf-8"))


@pytest.mark.parametrize("name", _named("^(<!-- transcripts:|```console(?! no-run))"))
def test_a_page_shows_what_the_commands_print(name: str) -> None:
    assert _page(name).run().splitlines() == (ROOT / name).read_text("utf-8").splitlines(), "run: make docs"


def test_a_transcript_that_is_not_run_says_why() -> None:
    reasons = {name: _page(name).not_run for name in _named("^```console no-run")}
    assert all(reason for page in reasons.values() for reason in page)
    assert {name: len(page) for name, page in reasons.items()} == NOT_RUN, "nothing checks them; is there no other way?"


def test_commands_with_their_output_are_console_blocks() -> None:
    blocks = {
        (page.name, info)
        for page in PAGES
        for info, body in re.findall(r"^```([^\n`]*)\n(.*?)^```$", page.read_text("utf-8"), re.S | re.M)
        if re.search(r"^\$ ", body, re.M) and not info.startswith("console")
    }
    assert blocks == set()


# how a page is read


LOANS = "<!-- transcripts: empty shop\necho pears > fruit\n-->\n"


def test_commands_run_in_order_and_in_a_terminal() -> None:
    text = f"{LOANS}```sh\necho figs >> fruit\n```\n\n```console\n$ cat \\\n  fruit   # all\nplums\n$ test -t 1 && cd /\n$ pwd\n```\nEnd\n"
    shown = "$ cat \\\n  fruit   # all\npears\nfigs\n$ test -t 1 && cd /\n$ pwd\n/\n"
    assert Page(text).run() == text.partition("$")[0] + shown + "```\nEnd\n"


def test_as_much_is_left_out_as_before() -> None:
    text = f"{LOANS}```console\n$ seq 9\n1\n…\n8\n9\n$ seq 2\n…\n2\n```\n"
    assert Page(text).run() == text.replace("…\n2\n", "…\n2\n")
    assert Page(text.replace("1\n…", "one\n…")).run() == text


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("<!-- transcripts: empty shop -->\n```console\n$ exit 2\n```\n", "exit code 2: exit 2"),
        ("<!-- transcripts: empty shop -->\n```console\n$ (exit 2)\n```\n", "exit code 2: (exit 2)"),
        ("<!-- transcripts: empty shop -->\n```sh\nfalse\ntrue\n```\n", "exit code 1: false"),
        ("<!-- transcripts: empty shop -->\n```console\nassay\n```\n", "begins with a command"),
        ("```console\n$ assay\n```\n", "in front of any <!-- transcripts"),
        ("<!-- transcripts: empty shop -->\n```console\n$ seq 9\n1\n…\n3\n…\n```\n", "more than one line …"),
    ],
)
def test_what_cannot_be_shown_is_an_error(body: str, problem: str) -> None:
    with pytest.raises((RuntimeError, ValueError), match=re.escape(problem)):
        Page(body).run()


def test_what_varies_is_masked_by_rule() -> None:
    printed = "indexed 3 files in 1.25 s, run 20261119-101010-0badc0 of $PWD"
    page = Page(f"<!-- transcripts: loans -->\n```console\n$ echo {printed}\n```\n").run()
    assert "indexed 3 files in … s, run 20260105-090000-3fa9c1 of /home/me/loans\n" in page
