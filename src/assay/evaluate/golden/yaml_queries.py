"""YAML files with a list under `queries:`: the formats `golden` and `queries`."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from assay.core.golden import GoldenQuery
from assay.evaluate.golden import nodes as yaml_lines
from assay.evaluate.golden.format import Format, Rendered, fit
from assay.evaluate.golden.nodes import Fields, Items, Problems, Scalar, Unreadable, read_text, spoken, without_gz
from assay.evaluate.golden.records import Schema, read_query, record, unknown_field

# Both formats know the same fields; they differ in what they are for, and in how they say that a query should be refused.
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
_TOP = ("queries", "version", "description")  # what may stand at the top of a file
_LISTED = re.compile(r"""^\{?[ \t]*["']?queries["']?[ \t]*:""", re.MULTILINE)
_PASSAGES = ("expected_doc_ids", "expected_chunk_ids", "expected_spans", "must_contain", "forbidden", "expected_answer")
_OF_PASSAGES = re.compile(rf"""\b({"|".join(_PASSAGES)})["']?\s*:""")
_HEADER = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)+")
_FIRST_ENTRY = re.compile(r"^queries\s*:[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\n)*( *)- ", re.MULTILINE)


def is_query_list(path: Path, of_passages: bool) -> bool:
    """Whether a file is a list of queries, and whether it speaks of passages and answers (or of files and symbols)."""
    if not (path.is_file() and without_gz(path).endswith((".yaml", ".yml"))):
        return False
    text = read_text(path)
    return bool(_LISTED.search(text)) and bool(_OF_PASSAGES.search(text)) == of_passages


def read(schema: Schema, path: Path, problems: Problems) -> list[GoldenQuery]:
    """The queries of a file."""
    return _queries(schema, read_text(path), path, problems)


def _queries(schema: Schema, text: str, path: Path, problems: Problems) -> list[GoldenQuery]:
    node = yaml_lines.parse(text)
    if node is None:
        return []
    if not isinstance(node, Fields) or "queries" not in node.values:
        raise Unreadable(node.line, "needs a list under `queries:` at the top of the file")
    for name in node.values:
        if name not in _TOP:
            problems.error(path, node.lines[name], unknown_field(name, _TOP))
    listed = node.values["queries"]
    if isinstance(listed, Scalar) and listed.kind == "nothing":
        return []
    if not isinstance(listed, Items):
        raise Unreadable(listed.line, f"`queries` must be a list, not {spoken(listed)}")
    return [query for one in listed.items if (query := read_query(schema, one, path, problems))]


def render(schema: Schema, header: str, queries: Sequence[GoldenQuery]) -> Rendered:
    """A file with a header comment and the queries in order."""
    kept, lost = fit(queries, schema.roles)
    return Rendered({"": f"{header}queries:\n" + "\n".join(_entry(schema, query, "  ") for query in kept)}, lost)


def extend(schema: Schema, header: str, query: GoldenQuery, path: Path) -> Rendered:
    """The text of a file with one query more: the old text and an entry below it, where that reads as it should;
    otherwise the whole list written anew below the header comments."""
    text = read_text(path)
    own_header = _HEADER.match(text)
    before = _queries(schema, text, path, Problems())
    entry, lost = fit([query], schema.roles)
    first = _FIRST_ENTRY.search(text)
    if first:
        longer = text.rstrip() + "\n\n" + "".join(_entry(schema, one, first[1]) for one in entry)
        if _reads_as(schema, longer, path, [*before, *entry]):
            return Rendered({"": longer}, lost)
    anew = render(schema, (own_header[0] if own_header else header) + _other_fields(text), [*before, *entry])
    return Rendered(anew.files, lost)


def _other_fields(text: str) -> str:
    """What stands beside the list at the top of a file."""
    node = yaml_lines.parse(text)
    fields = node.values if isinstance(node, Fields) else {}
    return yaml_lines.dump(
        {name: it.text for name, it in fields.items() if isinstance(it, Scalar) and name != "queries"}
    )


def _entry(schema: Schema, query: GoldenQuery, indent: str) -> str:
    lines = textwrap.indent(yaml_lines.dump(record(schema, query)), indent + "  ")
    return f"{indent}- {lines[len(indent) + 2 :]}"


def _reads_as(schema: Schema, text: str, path: Path, wanted: list[GoldenQuery]) -> bool:
    try:
        found = _queries(schema, text, path, Problems())
    except Unreadable:
        return False
    return [replace(query, where="") for query in found] == [replace(query, where="") for query in wanted]


# Golden YAML: queries with the chunks, documents or spans they should bring, and what an answer must say.

GOLDEN_SCHEMA = Schema(FIELDS, negative="doc")
_GOLDEN_HEADER = """\
# Golden queries. An entry of expected_doc_ids or expected_chunk_ids is an id, or a mapping {id: …, grade: …}.
# `expected_doc_ids: []` means: nothing in the corpus answers this query, the right answer is a refusal.
"""

GOLDEN = Format(
    "golden",
    "YAML list `queries:` with expected_chunk_ids, expected_doc_ids, must_contain, forbidden",
    partial(is_query_list, of_passages=True),
    partial(read, GOLDEN_SCHEMA),
    partial(render, GOLDEN_SCHEMA, _GOLDEN_HEADER),
    partial(extend, GOLDEN_SCHEMA, _GOLDEN_HEADER),
)


# Categorised queries YAML: queries with the files and symbols they should bring.

QUERIES_SCHEMA = Schema(FIELDS)
_QUERIES_HEADER = "# Golden queries: what is asked, and the files and symbols it should bring.\n"

QUERIES = Format(
    "queries",
    "YAML list `queries:` with category, expected_files, expected_symbols",
    partial(is_query_list, of_passages=False),
    partial(read, QUERIES_SCHEMA),
    partial(render, QUERIES_SCHEMA, _QUERIES_HEADER),
    partial(extend, QUERIES_SCHEMA, _QUERIES_HEADER),
)
