"""Queries and judgements that stand in different files: what TREC and BEIR have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from assay.core.golden import Expected, GoldenQuery
from assay.evaluate.golden.problems import Problems, Unreadable
from assay.evaluate.golden.records import MAX_GRADE

MOST_ROWS = 2_000_000  # topics, and judgements: four times the largest public set; each takes some 250 bytes
_INTEGER = re.compile(r"[-+]?[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Topic:
    """A query as its file has it."""

    id: str
    text: str
    line: int
    notes: str = ""


@dataclass(slots=True)
class Judgements:
    """Grades by query and document, each with the line it is from."""

    path: Path
    problems: Problems
    grades: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
    count: int = 0
    repeated: list[int] = field(default_factory=list)  # lines that say what another line said before

    def add(self, query: str, document: str, grade: str, line: int) -> None:
        """Notes a judgement. One that is repeated counts once; with another grade it is an error."""
        if not _INTEGER.fullmatch(grade) or abs(int(grade)) > MAX_GRADE:
            self.problems.error(
                self.path, line, f"the grade must be a whole number between -{MAX_GRADE} and {MAX_GRADE}, not `{grade}`"
            )
            return
        self.count += 1
        if self.count > MOST_ROWS:
            raise Unreadable(line, f"more than {MOST_ROWS:,} judgements, which is the most that is read", self.path)
        known = self.grades.setdefault(query, {}).setdefault(document, (int(grade), line))
        if known[0] != int(grade):
            self.problems.error(
                self.path, line, f"document `{document}` of query `{query}` has another grade in line {known[1]}"
            )
        elif known[1] != line:
            self.repeated.append(line)


def join(topics: Iterable[Topic], path: Path, judgements: Judgements, problems: Problems) -> list[GoldenQuery]:
    """The topics that were judged. Topics without judgements, and judgements without topic, are counted in warnings."""
    lines: dict[str, int] = {}
    queries: list[GoldenQuery] = []
    for topic in topics:
        first = lines.setdefault(topic.id, topic.line)
        if len(lines) > MOST_ROWS:
            raise Unreadable(topic.line, f"more than {MOST_ROWS:,} queries, which is the most that is read", path)
        if first != topic.line:
            problems.error(path, topic.line, f"id `{topic.id}` is used twice, first in line {first}")
        elif not topic.text.strip():
            problems.error(path, topic.line, f"the text of query `{topic.id}` is empty")
        elif topic.id in judgements.grades:
            expected = tuple(Expected(name, "doc", grade) for name, (grade, _) in judgements.grades[topic.id].items())
            queries.append(GoldenQuery(topic.id, topic.text, expected, notes=topic.notes, where=f"{path}:{topic.line}"))
    unknown = [query for query in judgements.grades if query not in lines]
    if not queries and not problems.errors and lines and unknown:
        problems.error(
            judgements.path,
            0,
            f"judges none of the queries of {path}: ids there are like `{next(iter(lines))}`, here like `{unknown[0]}`",
        )
    elif unknown:
        problems.warn(
            f"{judgements.path}: judges {len(unknown)} queries that {path.name} does not have, e.g. `{unknown[0]}`"
        )
    if judgements.repeated:
        problems.warn(
            f"{judgements.path}:{judgements.repeated[0]}: {len(judgements.repeated)} repeated judgements are counted once"
        )
    if len(queries) < len(lines):
        problems.warn(
            f"{path}: {len(lines) - len(queries)} queries without judgements in {judgements.path.name} are left out"
        )
    return queries
