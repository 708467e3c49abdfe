"""Rows of other tools as golden queries: columns under the names in use, cells as spreadsheets and notebooks write them.

row (column → value) ──▶ convert_row ──▶ GoldenQuery, or None for a row that expects nothing a retriever can return

Unlike records, which people write for assay, rows may have further columns; `Columns` counts what was passed over.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.core.golden import Expected, GoldenQuery
from assay.evaluate.golden.format import Problems

# Role of a column by its lower-case name: an attribute of GoldenQuery, a level, or one of the two below.
CONTEXTS, ANSWERS = "contexts", "answers"
_NAMES = {
    "text": ("query", "question", "user_input", "input", "prompt", "task"),
    "id": ("id", "_id", "query_id", "qid", "question_id"),
    "symbol": ("expected_symbols", "symbols"),
    "file": ("expected_files", "expected_file", "files", "file", "path", "paths", "source", "sources"),
    "doc": ("expected_docs", "expected_doc_ids", "expected", "expected_ids", "relevant_docs", "relevant_doc_ids",
            "relevant_documents", "relevant_ids", "doc_id", "doc_ids", "document_id", "document_ids", "documents"),
    "chunk": ("expected_chunks", "expected_chunk_ids", "reference_context_ids", "chunk_id", "chunk_ids"),
    "must_contain": ("must_contain", "phrases"),
    "forbidden": ("forbidden", "must_not_contain"),
    CONTEXTS: ("reference_contexts", "ground_truth_contexts", "contexts", "context"),
    ANSWERS: ("answers",),
    "answer": ("expected_answer", "answer", "reference", "ground_truth", "reference_answer", "output"),
    "refuse": ("refuse", "unanswerable", "is_impossible"),
    "tier": ("difficulty", "tier"),
    "category": ("category", "synthesizer_name"),
    "tags": ("tags",),
    "notes": ("notes", "description"),
    "repository": ("repository", "repo"),
}  # fmt: skip
_ROLES = {name: role for role, names in _NAMES.items() for name in names}
_LEVELS = ("symbol", "file", "doc", "chunk")
_TEXTS = ("must_contain", "forbidden", "tags")
_TRUE = frozenset({"true", "1", "yes"})

_LONGEST_CELL = 1_000_000  # characters of a cell that is parsed as a list
_PROBE = 200  # characters kept of a reference context: chunks of another size still contain its beginning
_HOP = re.compile(r"^<\d+-hop>\s*")  # ragas numbers the contexts of a multi-hop question
_NAME_SEPARATORS, _TEXT_SEPARATORS = re.compile(r"[|;\n]"), re.compile(r"[|\n]")
_SPACES = re.compile(r"\s+")


@dataclass(slots=True)
class Columns:
    """Columns that were passed over, and rows without an expectation, for the warnings of a set."""

    ignored: Counter[str] = field(default_factory=Counter)
    expecting_nothing: int = 0

    def report(self, path: Path, queries: int, problems: Problems) -> None:
        """Warn about what was passed over; it is an error when no row expects anything."""
        if self.ignored:
            names = ", ".join(f"`{name}`" for name in sorted(self.ignored)[:10])
            problems.warn(f"{path}: columns that are not read: {names}")
        if not self.expecting_nothing:
            return
        message = f"{self.expecting_nothing} rows name no document, file, symbol, chunk or phrase to retrieve"
        if queries:
            problems.warn(f"{path}: {message}; they are left out")
        else:
            problems.error(path, 0, f"{message}. Add a column such as `expected_docs`, or `must_contain` phrases")


def role_of(column: str) -> str:
    """Return the role of a column; empty for one that is not read."""
    return _ROLES.get(column.strip().lower(), "")


def convert_row(
    row: Mapping[str, Any], path: Path, number: int, problems: Problems, columns: Columns
) -> GoldenQuery | None:
    """Return the query of a row; None, counted or with its problem, for a row without text or expectations."""
    values: dict[str, Any] = {}
    for column, value in row.items():
        role = role_of(str(column))
        if not role:
            columns.ignored[str(column)[:50]] += 1
        elif value is not None and value != "":
            values.setdefault(role, value)
    text = _text(values.get("text"))
    if not text:
        problems.error(path, number, f"needs a text under {' or '.join(f'`{name}`' for name in _NAMES['text'])}")
        return None
    expected = tuple(Expected(name, level) for level in _LEVELS for name in names_in(values.get(level)))
    phrases = (*texts_in(values.get("must_contain")), *map(_probe, texts_in(values.get(CONTEXTS))))
    accepted = values.get(ANSWERS)  # a list of texts, or SQuAD's `{"text": […]}`
    answers = texts_in(accepted.get("text") if isinstance(accepted, Mapping) else accepted)
    refuse = str(values.get("refuse", "")).lower() in _TRUE or (ANSWERS in values and not answers)
    query = GoldenQuery(
        id=_text(values.get("id")) or str(number),
        text=text,
        expected=() if refuse else expected,
        refuse=refuse,
        answer=_text(values.get("answer")) or next(iter(answers), ""),
        must_contain=() if refuse else tuple(dict.fromkeys(filter(None, (*phrases, *answers[:1])))),
        forbidden=tuple(texts_in(values.get("forbidden"))),
        tags=tuple(names_in(values.get("tags"))),
        where=f"{path}:{number}",
        **{name: _text(values.get(name)) for name in ("tier", "category", "notes", "repository")},
    )
    if query.expected or query.refuse or query.must_contain or query.forbidden:
        return query
    columns.expecting_nothing += 1
    return None


def names_in(value: object) -> list[str]:
    """Return the names in a cell: a list, a list written as text, or names with `|`, `;` or line breaks between."""
    return list(dict.fromkeys(_texts(value, _NAME_SEPARATORS)))


def texts_in(value: object) -> list[str]:
    """Return the texts in a cell; a `;` belongs to the text."""
    return list(dict.fromkeys(_texts(value, _TEXT_SEPARATORS)))


def _texts(value: object, separators: re.Pattern[str]) -> Iterable[str]:
    if isinstance(value, str):
        listed = _written_list(value)
        value = separators.split(value) if listed is None else listed
    if isinstance(value, Mapping):  # a document: its id, else its path or its text
        value = [
            next(
                (value[name] for name in ("id", "_id", "path", "source", "text", "page_content") if name in value), None
            )
        ]
    if isinstance(value, list | tuple):
        for item in value:
            if text := _text(item) if not isinstance(item, Mapping) else next(iter(_texts(item, separators)), ""):
                yield text
    elif text := _text(value):
        yield text


def _written_list(text: str) -> list[Any] | None:
    """Return the list that a cell spells in JSON, or in Python as pandas writes it; None for other text."""
    text = text.strip()
    if not text.startswith("[") or not text.endswith("]") or len(text) > _LONGEST_CELL:
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        return value if isinstance(value, list) else None
    return None


def _probe(context: str) -> str:
    """Return the beginning of a reference context, to be looked for in the returned texts."""
    text = _SPACES.sub(" ", _HOP.sub("", context)).strip()
    return text if len(text) <= _PROBE else text[:_PROBE].rpartition(" ")[0] or text[:_PROBE]


def _text(value: object) -> str:
    return str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
