"""Sets in one file: a YAML list under `queries:` (formats `golden` and `queries`), or JSON lines (`pairs`)."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from assay.core.golden import GoldenQuery
from assay.evaluate.golden import nodes
from assay.evaluate.golden.format import Format, Problems, Rendered, fit, read_lines, read_text, without_gz
from assay.evaluate.golden.nodes import Fields, Items, Scalar, Unreadable, describe_node
from assay.evaluate.golden.records import Schema, read_query, record, unknown_field

# Both YAML formats share these fields; they differ in purpose and in how they mark a query to refuse.
FIELDS = {
    "id": "id",
    "query": "text",
    "category": "category",
    "difficulty": "tier",
    "tier": "tier",
    "expected_doc_ids": "doc",
    "expected_chunk_ids": "chunk",
    "expected_spans": "span",
    "expected_files": "file",
    "expected_symbols": "symbol",
    "refuse": "refuse",
    "must_contain": "must_contain",
    "forbidden": "forbidden",
    "expected_answer": "answer",
    "tags": "tags",
    "notes": "notes",
    "repository": "repository",
    "commit": "commit",
}
_TOP_LEVEL = ("queries", "version", "description")  # allowed top-level keys
_QUERY_LIST = re.compile(r"""^\{?[ \t]*["']?queries["']?[ \t]*:""", re.MULTILINE)
_PASSAGE_FIELDS = (
    "expected_doc_ids",
    "expected_chunk_ids",
    "expected_spans",
    "must_contain",
    "forbidden",
    "expected_answer",
)
_HAS_PASSAGE_FIELD = re.compile(rf"""\b({"|".join(_PASSAGE_FIELDS)})["']?\s*:""")
_HEADER = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)+")
_FIRST_ENTRY = re.compile(r"^queries\s*:[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\n)*( *)- ", re.MULTILINE)


def is_query_list(path: Path, of_passages: bool) -> bool:
    """Return True for a YAML file with a `queries:` list that uses (or does not use) passage fields."""
    if not (path.is_file() and without_gz(path).endswith((".yaml", ".yml"))):
        return False
    text = read_text(path)
    return bool(_QUERY_LIST.search(text)) and bool(_HAS_PASSAGE_FIELD.search(text)) == of_passages


def read(schema: Schema, path: Path, problems: Problems) -> list[GoldenQuery]:
    """Parse the queries of a file."""
    return _parse_queries(schema, read_text(path), path, problems)


def _parse_queries(schema: Schema, text: str, path: Path, problems: Problems) -> list[GoldenQuery]:
    node = nodes.parse(text)
    if node is None:
        return []
    if not isinstance(node, Fields) or "queries" not in node.values:
        raise Unreadable(node.line, "needs a list under `queries:` at the top of the file")
    for name in node.values:
        if name not in _TOP_LEVEL:
            problems.error(path, node.lines[name], unknown_field(name, _TOP_LEVEL))
    listed = node.values["queries"]
    if isinstance(listed, Scalar) and listed.kind == "nothing":
        return []
    if not isinstance(listed, Items):
        raise Unreadable(listed.line, f"`queries` must be a list, not {describe_node(listed)}")
    return [query for item in listed.items if (query := read_query(schema, item, path, problems))]


def render(schema: Schema, header: str, queries: Sequence[GoldenQuery]) -> Rendered:
    """Render a header comment and the queries in order."""
    writable, lost = fit(queries, schema.roles)
    return Rendered({"": f"{header}queries:\n" + "\n".join(_entry(schema, query, "  ") for query in writable)}, lost)


def extend(schema: Schema, header: str, query: GoldenQuery, path: Path) -> Rendered:
    """Return the file's text with one query added, and what the format drops.

    Appends an entry below the old text where the result parses as expected; otherwise rewrites the list below the
    header comments.
    """
    text = read_text(path)
    own_header = _HEADER.match(text)
    before = _parse_queries(schema, text, path, Problems())
    additions, lost = fit([query], schema.roles)
    first = _FIRST_ENTRY.search(text)
    if first:
        appended = text.rstrip() + "\n\n" + "".join(_entry(schema, addition, first[1]) for addition in additions)
        if _parses_to(schema, appended, path, [*before, *additions]):
            return Rendered({"": appended}, lost)
    rewritten = render(schema, (own_header[0] if own_header else header) + _other_fields(text), [*before, *additions])
    return Rendered(rewritten.files, lost)


def _other_fields(text: str) -> str:
    """Return the scalar top-level fields other than `queries`, as YAML."""
    node = nodes.parse(text)
    fields = node.values if isinstance(node, Fields) else {}
    return nodes.dump(
        {name: value.text for name, value in fields.items() if isinstance(value, Scalar) and name != "queries"}
    )


def _entry(schema: Schema, query: GoldenQuery, indent: str) -> str:
    lines = textwrap.indent(nodes.dump(record(schema, query)), indent + "  ")
    return f"{indent}- {lines[len(indent) + 2 :]}"


def _parses_to(schema: Schema, text: str, path: Path, expected: list[GoldenQuery]) -> bool:
    try:
        parsed = _parse_queries(schema, text, path, Problems())
    except Unreadable:
        return False
    return [replace(query, where="") for query in parsed] == [replace(query, where="") for query in expected]


def _yaml_format(name: str, description: str, schema: Schema, header: str, of_passages: bool) -> Format:
    return Format(
        name,
        description,
        partial(is_query_list, of_passages=of_passages),
        partial(read, schema),
        partial(render, schema, header),
        partial(extend, schema, header),
    )


GOLDEN = _yaml_format(
    "golden",
    "YAML list `queries:` with expected_chunk_ids, expected_doc_ids, must_contain, forbidden",
    Schema(FIELDS, negative="doc"),
    """\
# Golden queries. An entry of expected_doc_ids or expected_chunk_ids is an id, or a mapping {id: …, grade: …}.
# `expected_doc_ids: []` means: nothing in the corpus answers this query, the right answer is a refusal.
""",
    of_passages=True,
)
QUERIES = _yaml_format(
    "queries",
    "YAML list `queries:` with category, expected_files, expected_symbols",
    Schema(FIELDS),
    "# Golden queries: what is asked, and the files and symbols it should bring.\n",
    of_passages=False,
)


# pairs: one JSON object per line

MOST_QUERIES = 200_000  # parsed in 10 s with 200 MB; running that many queries takes hours
PAIRS_SCHEMA = Schema(
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


def _is_pairs(path: Path) -> bool:
    return path.is_file() and without_gz(path).endswith((".jsonl", ".ndjson"))


def _read_pairs(path: Path, problems: Problems) -> list[GoldenQuery]:
    queries: list[GoldenQuery] = []
    for number, line in read_lines(path):
        try:
            query = read_query(PAIRS_SCHEMA, nodes.parse_json(line, number), path, problems)
        except Unreadable as reason:
            problems.unreadable(path, reason)
        else:
            queries += [query] if query else []
        if len(queries) > MOST_QUERIES:
            raise Unreadable(number, f"more than {MOST_QUERIES:,} queries, which is the limit")
    return queries


def _to_lines(queries: Sequence[GoldenQuery]) -> str:
    return "".join(json.dumps(record(PAIRS_SCHEMA, query), ensure_ascii=False) + "\n" for query in queries)


def _render_pairs(queries: Sequence[GoldenQuery]) -> Rendered:
    writable, lost = fit(queries, PAIRS_SCHEMA.roles)
    return Rendered({"": _to_lines(writable)}, lost)


def _extend_pairs(query: GoldenQuery, path: Path) -> Rendered:
    writable, lost = fit([query], PAIRS_SCHEMA.roles)
    text = read_text(path)
    return Rendered({"": text + ("" if text.endswith("\n") or not text else "\n") + _to_lines(writable)}, lost)


PAIRS = Format(
    "pairs", "JSON lines with `question` and `expected_chunks`", _is_pairs, _read_pairs, _render_pairs, _extend_pairs
)
