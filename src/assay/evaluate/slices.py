"""Groups of queries that are reported apart: tier, category, tag, repository, file type, language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from assay.core.golden import GoldenQuery

_LANGUAGES = {
    ".py": "Python", ".pyi": "Python", ".go": "Go", ".ts": "TypeScript", ".tsx": "TypeScript", ".js": "JavaScript", ".jsx": "JavaScript",
    ".mjs": "JavaScript", ".rs": "Rust", ".java": "Java", ".cs": "C#", ".rb": "Ruby", ".c": "C", ".h": "C", ".cc": "C++", ".cpp": "C++",
    ".hpp": "C++", ".php": "PHP", ".kt": "Kotlin", ".swift": "Swift", ".scala": "Scala", ".sh": "Bash", ".bash": "Bash", ".lua": "Lua",
    ".md": "Markdown", ".rst": "reStructuredText", ".adoc": "AsciiDoc", ".txt": "Text", ".html": "HTML", ".pdf": "PDF", ".docx": "DOCX",
    ".ipynb": "Notebook", ".sql": "SQL", ".yaml": "YAML", ".yml": "YAML", ".toml": "TOML", ".json": "JSON",
}  # fmt: skip


def _file_types(query: GoldenQuery) -> set[str]:
    """The suffixes of the expected files; of documents and `path::symbol` names too where they look like paths."""
    found = set()
    for expected in query.expected:
        path = expected.doc or expected.name.partition("::")[0]
        stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
        if dot and stem and f".{suffix.lower()}" in _LANGUAGES:
            found.add(f".{suffix.lower()}")
    return found


# name in the report → the groups a query is in
SLICES: dict[str, Callable[[GoldenQuery], Iterable[str]]] = {
    "tiers": lambda query: [query.tier] if query.tier else [],
    "categories": lambda query: [query.category] if query.category else [],
    "tags": lambda query: query.tags,
    "repositories": lambda query: [query.repository] if query.repository else [],
    "file_types": _file_types,
    "languages": lambda query: {_LANGUAGES[suffix] for suffix in _file_types(query)},
}

_KNOWN_ORDER = ("easy", "medium", "hard", "exact", "concept", "multi_hop")


def members(queries: Sequence[GoldenQuery], slice_name: str) -> dict[str, list[int]]:
    """The numbers of the queries in each group: tiers in their order, everything else by name."""
    groups: dict[str, list[int]] = {}
    for number, query in enumerate(queries):
        for group in set(SLICES[slice_name](query)):
            groups.setdefault(group, []).append(number)
    known = {name: place for place, name in enumerate(_KNOWN_ORDER)}
    return dict(sorted(groups.items(), key=lambda pair: (known.get(pair[0], len(known)), pair[0])))
