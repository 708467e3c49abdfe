"""`assay eval chunks`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from assay.cli.common import echo, find_root, format_option, print_json
from assay.cli.evaluation import options
from assay.cli.evaluation.golden import ids_in, new_id
from assay.cli.evaluation.options import print_result
from assay.core.golden import Expected, GoldenQuery, Hit
from assay.errors import AssayError
from assay.evaluate.golden import append
from assay.evaluate.systems import open_system
from assay.text.display import collapsed, counted

_OPENING = 70  # characters of a chunk's text in the list


@click.command("chunks")
@click.argument("question", default="")
@click.option(
    "--path", "prefix", default="", metavar="PREFIX", help="Only chunks of files whose path begins with this."
)
@options.count("-n", "--limit", default=20, help="The number of chunks to list.")
@click.option("--pick", default="", metavar="N,N", help="Expect these of the listed chunks for QUESTION.")
@options.golden("With --pick: the golden set to add QUESTION to; created if missing.", required=False)
@click.option(
    "--system", "spec", metavar="SPEC", default="search", show_default=True, help="A search: its chunker counts."
)
@options.root
@format_option
def chunks_command(
    question: str,
    prefix: str,
    limit: int,
    pick: str,
    golden_path: Path | None,
    spec: str,
    root: Path | None,
    form: str,
) -> None:
    """List the chunks (passages) of the documents with their ids, best first for QUESTION, else in file order.

    With --pick, QUESTION is added to a golden set and expects the picked chunks: id, document and lines, so that the
    set can still be judged after re-chunking.
    """
    if bool(pick) != bool(golden_path) or (pick and not question):
        raise AssayError("to pick chunks, give QUESTION, --pick N,N and --golden FILE")
    listed = _list(spec, find_root(root), question, prefix)
    shown = listed[:limit]
    if golden_path:
        query = _query(question, _picked(pick, shown), golden_path)
        lost = append(query, golden_path)
        facts = {"id": query.id, "golden": str(golden_path), "expected": [item.name for item in query.expected]}
        message = f"added {query.id} to {golden_path}, expecting {', '.join(facts['expected'])}"
        print_result(form, {**facts, "lost": lost}, message)
        return
    if form == "json":
        print_json({"chunks": len(listed), "listed": [_row(hit, text) for hit, text in shown]})
        return
    for number, (hit, text) in enumerate(shown, 1):
        place = f"page {hit.page}" if hit.page else f"lines {hit.start}-{hit.end}"
        echo(f"{number:4}  {hit.id}  ({place})\n      {collapsed(text, _OPENING)}")
    if len(listed) > limit:
        echo(f"… and {len(listed) - limit:,} more; -n {len(listed)} lists them, --path narrows the list")
    if not listed:
        echo("no chunks" + (f" of files below {prefix}" if prefix else "; documents are chunked by `assay index`"))


def _list(spec: str, root: Path, question: str, prefix: str) -> list[tuple[Hit, str]]:
    """Return the chunks with their texts, best first or in file order."""
    from assay.evaluate.systems.search import SearchSystem

    with closing(open_system(spec, root=root)) as system:
        if not isinstance(system, SearchSystem):
            raise AssayError(f"--system {spec}: chunks are those of a search; give search or search:chunker=…")
        chunks = {hit.id: (hit, text) for hit, text in system.chunks() if hit.path.startswith(prefix)}
        if not question:
            return list(chunks.values())
        ranked = system.retrieve(question, max(len(chunks), 1)).hits
    return [chunks[hit.id] for hit in ranked if hit.id in chunks]


def _picked(pick: str, shown: Sequence[tuple[Hit, str]]) -> list[Hit]:
    hits = []
    for number in pick.split(","):
        if not number.strip().isdecimal() or not 1 <= int(number) <= len(shown):
            raise AssayError(
                f"--pick {pick}: there is no chunk {number.strip()!r}; {counted(len(shown), 'chunk')} listed"
            )
        hits.append(shown[int(number) - 1][0])
    return hits


def _query(question: str, hits: Sequence[Hit], path: Path) -> GoldenQuery:
    expected = tuple(
        Expected(hit.id, "chunk", doc=hit.doc, start=0 if hit.page else hit.start, end=0 if hit.page else hit.end)
        for hit in dict.fromkeys(hits)
    )
    tier = "easy" if len(expected) == 1 else "medium"
    return GoldenQuery(new_id(question, ids_in(path)), question, expected, tier=tier)


def _row(hit: Hit, text: str) -> dict[str, Any]:
    return {"id": hit.id, "path": hit.path, "start": hit.start, "end": hit.end, "page": hit.page or None, "text": text}
