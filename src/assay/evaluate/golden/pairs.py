"""Question pairs: one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from assay.core.golden import GoldenQuery
from assay.evaluate.golden.format import Format, Rendered, fit
from assay.evaluate.golden.nodes import Problems, Unreadable, parse_json, read_lines, read_text, without_gz
from assay.evaluate.golden.records import Schema, check_size, read_query, record

SCHEMA = Schema(
    {
        "id": "id",
        "question": "text",
        "expected_chunks": "chunk",
        "expected_docs": "doc",
        "expected_files": "file",
        "expected_symbols": "symbol",
        "expected_spans": "span",
        "refuse": "refuse",
        "expected_answer": "answer",
        "must_contain": "must_contain",
        "forbidden": "forbidden",
        "difficulty": "tier",
        "tier": "tier",
        "category": "category",
        "tags": "tags",
        "notes": "notes",
        "repository": "repository",
        "commit": "commit",
    },
    negative="chunk",
)


def _detect(path: Path) -> bool:
    return path.is_file() and without_gz(path).endswith((".jsonl", ".ndjson"))


def _read(path: Path, problems: Problems) -> list[GoldenQuery]:
    queries: list[GoldenQuery] = []
    for number, line in read_lines(path):
        try:
            query = read_query(SCHEMA, parse_json(line, number), path, problems)
        except Unreadable as reason:
            problems.unreadable(path, reason)
        else:
            queries += [query] if query else []
        check_size(queries, number)
    return queries


def _to_lines(queries: Sequence[GoldenQuery]) -> str:
    return "".join(json.dumps(record(SCHEMA, query), ensure_ascii=False) + "\n" for query in queries)


def _render(queries: Sequence[GoldenQuery]) -> Rendered:
    writable, lost = fit(queries, SCHEMA.roles)
    return Rendered({"": _to_lines(writable)}, lost)


def _extend(query: GoldenQuery, path: Path) -> Rendered:
    writable, lost = fit([query], SCHEMA.roles)
    text = read_text(path)
    return Rendered({"": text + ("" if text.endswith("\n") or not text else "\n") + _to_lines(writable)}, lost)


PAIRS = Format("pairs", "JSON lines with `question` and `expected_chunks`", _detect, _read, _render, _extend)
