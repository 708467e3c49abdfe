"""Write docs/answers.md: twenty questions and what `assay ask` prints, and screens of three commands on three repositories.

    python scripts/answers_page.py --corpora CLONES --indexes FOLDER > docs/answers.md

The questions were chosen before any answer was seen: the 1st, 8th and 17th of each repository of a
test split of eval/search (the 17th is to be refused), without the last of all.
"""

from __future__ import annotations

import argparse
import os
import pty
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "src")]

from questions import Corpus, contains, corpora  # noqa: E402

from assay.answer.reply import render_reply  # noqa: E402

SPLIT = "test-3"
CHOSEN = ("01", "08", "17")
MOST = 20
WIDTH, HEIGHT = 80, 24
SCREENS = (
    ("context", "reload the configuration without a restart"),
    ("search", "command line entry point"),
    ("ask", "How do I turn on debug output?"),
)
SHOWN = 3  # repositories whose screens are shown
NOT_RUN = "clones of other repositories"  # why `make test` does not run them again


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, required=True, help="folder of clones")
    parser.add_argument("--indexes", type=Path, required=True, help="folder of indexes")
    given = parser.parse_args()
    chosen = [corpus for corpus in corpora(given.corpora, given.indexes, SPLIT) if corpus.root.exists()]
    print("# Twenty questions\n")
    print(
        "Written by `scripts/answers_page.py`. The questions were chosen before any answer was seen: the 1st, 8th and 17th\n"
        "of each repository of split `test-3` of [eval/search](../eval/search/README.md); the 17th has no answer there. Code is\n"
        "indexed beside the documents. A mark says whether the reply is right: for an answerable question, whether the printed\n"
        "text contains what it must, under whatever first line; for another, whether it is no answer.\n"
    )
    lines = [line for corpus in chosen for line in questions(corpus)][:MOST]
    print("\n".join(lines))
    print("# One screen\n\nThe same three commands in a terminal of 80 × 24 on three of these repositories.\n")
    for corpus in chosen[:SHOWN]:
        for command, text in SCREENS:
            print(
                f"```console no-run: {NOT_RUN}\n$ assay {command} {shlex.quote(text)}      # {corpus.name}\n{screen(corpus, command, text)}```\n"
            )


def questions(corpus: Corpus) -> Iterator[str]:
    for query in corpus.queries("documentation"):
        if query.id.rpartition("-d")[2] not in CHOSEN:
            continue
        reply = corpus.repository.ask(query.text)
        said = not query.refuse and contains(reply.text, query.must_contain)
        right = reply.outcome != "answered" if query.refuse else said
        printed = "\n".join(
            textwrap.fill(line, 100, subsequent_indent=" " * (len(line) - len(line.lstrip())))
            if len(line) > 100
            else line
            for line in render_reply(reply, "text").split("\n")
        )
        mark = "✓" if right else "✗"
        asked = textwrap.fill(f"> {query.text}", 118, subsequent_indent="> ")
        outcome = f"{reply.outcome}, confidence {reply.confidence:.2f}"
        yield f"## {mark} {query.id}\n\n{asked}\n\n{outcome}\n\n```\n{printed}\n```\n"


def screen(corpus: Corpus, command: str, text: str) -> str:
    """Return what a command prints in a terminal of 80 × 24."""
    arguments = [
        sys.executable,
        "-m",
        "assay",
        command,
        text,
        "--root",
        str(corpus.root),
        "--index-dir",
        str(corpus.index),
    ]
    environment = {
        **os.environ,
        "COLUMNS": str(WIDTH),
        "LINES": str(HEIGHT),
        "NO_COLOR": "1",
        "PYTHONPATH": str(ROOT / "src"),
    }
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [*arguments, "--no-pager"],
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.DEVNULL,
        env=environment,
    ):
        os.close(follower)
        printed = b""
        try:
            while chunk := os.read(leader, 65536):
                printed += chunk
        except OSError:  # the program has ended
            pass
    os.close(leader)
    return printed.decode("utf-8", "replace").replace("\r\n", "\n")


if __name__ == "__main__":
    main()
