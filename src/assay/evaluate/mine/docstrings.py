"""Queries from doc comments: the first paragraph asks, the symbol it describes answers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

from assay.core.golden import Expected, GoldenQuery
from assay.core.items import item_id
from assay.evaluate.mine import message
from assay.evaluate.mine.definitions import Definition, Locator
from assay.evaluate.mine.mined import LeftOut, Mined, Options, Progress
from assay.evaluate.mine.snapshot import Snapshot

HELD_OUT = "held-out"
_TAG = re.compile(r"[@:\\]\w|<\w+|TODO|FIXME|XXX|\.\. |Copyright|Licen[sc]e|SPDX", re.I)
_MARK = re.compile(r"^:(?:[ \t]|$)", re.M)  # what Sphinx's `#:` comments leave at the start of each line
_PARAGRAPH = re.compile(r"\n\s*\n")


def mine_docstrings(
    repository: Path, locate: Locator, options: Options | None = None, progress: Progress | None = None
) -> Mined:
    """One query per documented symbol of HEAD, by path and line, and why the other documented symbols make none."""
    options = options or Options()
    counts: Counter[str] = Counter()
    asked: dict[str, list[GoldenQuery]] = defaultdict(list)
    with Snapshot.open(repository) as snapshot:
        for path, found in snapshot.definitions(locate, options, progress):
            if not found.doc.strip():
                continue
            try:
                query = _query(path, found, options)
            except LeftOut as reason:
                counts[str(reason)] += 1
                continue
            asked[message.fingerprint(query.text)].append(query)
    queries: dict[str, GoldenQuery] = {}  # one for a getter and its setter, and for other definitions of the same name
    for same in asked.values():
        # the same words about several symbols ask for none of them
        if len({query.id for query in same}) == 1:
            queries.setdefault(same[0].id, same[0])
        else:
            counts["duplicate text"] += len(same)
    return Mined(list(queries.values())[: options.limit or None], dict(sorted(counts.items())))


def _query(path: str, found: Definition, options: Options) -> GoldenQuery:
    """The query a documented symbol makes."""
    paragraph = _PARAGRAPH.split(_MARK.sub("", found.doc).strip(), maxsplit=1)[0]
    text = message.tidy(" ".join(paragraph.split()))
    if _TAG.match(text):
        raise LeftOut("starts with a tag")
    if options.strip_names:
        text = message.without_names(text, [found.symbol], [path])
    message.require_words(text, options.min_words)
    where = item_id(path, found.symbol)
    return GoldenQuery(
        id=where,
        text=text,
        expected=(Expected(found.symbol), Expected(path, "file")),
        tier="easy",
        category="docstring",
        tags=(found.language, HELD_OUT) if options.held_out else (found.language,),
        notes=f"hide the doc comment of {where} from the index" if options.held_out else f"{path}:{found.start}",
    )
