"""Hand-written formats: files of records with named fields.

fixtures          one YAML file per task, in folders by tier, optionally below a folder per repository
golden, queries   one YAML file with a list under `queries:`
pairs             JSON lines
"""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath

from assay.core.golden import GoldenQuery
from assay.evaluate.golden import nodes
from assay.evaluate.golden.format import Format, Problems, Rendered, fit, read_head, read_lines, read_text, without_gz
from assay.evaluate.golden.nodes import Fields, Items, Scalar, Unreadable, describe_node
from assay.evaluate.golden.records import Schema, read_query, record, unknown_field

TIERS = ("easy", "medium", "hard", "exact", "concept", "multi_hop")

# `source` is the origin of a task: the category in the cross-repository set
FIXTURES_SCHEMA = Schema.of("""
    id repo=repository task=text description=text difficulty=tier tier category source=category tags refuse
    ground_truth=symbol expected_files=file notes commit
""")
_SUFFIXES = (".yaml", ".yml")
_IS_FIXTURE = re.compile(r"""^["']?(task|ground_truth)["']?\s*:""", re.MULTILINE)
_SAFE_NAME = re.compile(r"\w[\w.-]{0,59}")  # valid as a file or folder name on any system
_SLUG_WORDS = 6


def _files(path: Path) -> list[Path]:
    """Return the YAML files of a set sorted by path, without hidden ones."""
    if not path.is_dir():
        return [path]
    files: list[Path] = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(folder, name) for name in names if name.endswith(_SUFFIXES) and not name.startswith(".")]
    return sorted(files, key=lambda file: file.relative_to(path).parts)


def _detect(path: Path) -> bool:
    if path.is_file() and path.suffix not in _SUFFIXES:
        return False
    return any(_IS_FIXTURE.search(read_head(file)) for file in _files(path))


def _read(path: Path, problems: Problems) -> list[GoldenQuery]:
    queries = []
    for file in _files(path):
        try:
            query = _read_file(file, path if path.is_dir() else path.parent, problems)
        except Unreadable as reason:
            problems.unreadable(file, reason)
        else:
            queries += [query] if query else []
    return queries


def _read_file(file: Path, root: Path, problems: Problems) -> GoldenQuery | None:
    node = nodes.parse(read_text(file))
    if node is None:
        raise Unreadable(0, "is empty; a fixture needs `task` and `ground_truth`")
    if isinstance(node, Fields) and "queries" in node.values:
        raise Unreadable(node.lines["queries"], "is a list of queries, not a fixture; give its own path to use it")
    relative = file.relative_to(root)
    query = read_query(FIXTURES_SCHEMA, node, file, problems, default_id=relative.with_suffix("").as_posix())
    if query is None or file.absolute().parent.name not in TIERS:
        return query
    tier = file.absolute().parent.name
    if query.tier and query.tier != tier:
        problems.error(
            query.where,
            0,
            f"the tier is `{query.tier}`, but the file lies in the folder `{tier}`; move it or change the tier",
        )
    parent_folder = relative.parts[-3] if len(relative.parts) > 2 else ""
    return replace(query, tier=tier, repository=query.repository or parent_folder)


def _render(queries: Sequence[GoldenQuery]) -> Rendered:
    writable, lost = fit(queries, FIXTURES_SCHEMA.roles)
    files: dict[str, str] = {}
    width = max(2, len(str(len(writable))))
    own_paths = {query.id: _path_from_id(query) for query in writable}
    used_paths = set(own_paths.values())
    numbers: dict[PurePosixPath, int] = {}
    for query in writable:
        target = own_paths[query.id]
        folder = _folder(query)
        while target is None:
            numbers[folder] = numbers.get(folder, 0) + 1
            numbered = folder / f"{numbers[folder]:0{width}d}-{_slug(query.text)}.yaml"
            target = numbered if numbered not in used_paths else None
        files[str(target)] = _render_query(query, target)
    return Rendered(files, lost)


def _extend(query: GoldenQuery, path: Path) -> Rendered:
    writable, lost = fit([query], FIXTURES_SCHEMA.roles)
    if not path.is_dir():
        raise Unreadable(0, "a fixture file holds one task; give the folder of the set to add another")
    files = {}
    for addition in writable:
        folder = _folder(addition)
        if addition.repository and (path / folder.name).is_dir():  # a set of one repository has its tiers at the top
            folder = PurePosixPath(folder.name)
        names = [file.name for file in _files(path) if file.parent == path / folder]
        number = max((int(digits[0]) for name in names if (digits := re.match(r"\d+", name))), default=0) + 1
        target = folder / f"{number:02d}-{_slug(addition.text)}.yaml"
        files[str(target)] = _render_query(addition, target)
    return Rendered(files, lost)


def _folder(query: GoldenQuery) -> PurePosixPath:
    """Return the folder of a query's file: repository/tier, or the root when the tier is not a safe name."""
    if not _SAFE_NAME.fullmatch(query.tier):
        return PurePosixPath()
    return PurePosixPath(*filter(_SAFE_NAME.fullmatch, (query.repository, query.tier)))


def _path_from_id(query: GoldenQuery) -> PurePosixPath | None:
    """Return the path whose default id is the query's id, if the id is such a path."""
    path = PurePosixPath(query.id + ".yaml")
    is_default_id = (
        path.parent == _folder(query) and _SAFE_NAME.fullmatch(path.stem) and str(path) == query.id + ".yaml"
    )
    return path if is_default_id else None


def _render_query(query: GoldenQuery, target: PurePosixPath) -> str:
    fields = record(FIXTURES_SCHEMA, query)
    if query.id == str(target.with_suffix("")):
        del fields["id"]
    return nodes.dump(fields)


def _slug(text: str) -> str:
    words = re.findall(r"[a-z0-9]+", text.lower())[:_SLUG_WORDS]
    return "-".join(words)[:60] or "task"


FIXTURES = Format(
    "fixtures",
    "folder of YAML files with `task` and `ground_truth`, below easy/, medium/, hard/",
    _detect,
    _read,
    _render,
    _extend,
    folder=True,
)


# Both YAML formats share these fields; they differ in purpose and in how they mark a query to refuse.
_FIELDS = """
    id query=text category difficulty=tier tier expected_doc_ids=doc expected_chunk_ids=chunk expected_spans=span
    expected_files=file expected_symbols=symbol refuse must_contain forbidden expected_answer=answer tags notes
    repository commit
"""
GOLDEN_SCHEMA, QUERIES_SCHEMA = Schema.of(_FIELDS, negative="doc"), Schema.of(_FIELDS)
_TOP_LEVEL = ("queries", "version", "description")  # allowed top-level keys
_QUERY_LIST = re.compile(r"""^\{?[ \t]*["']?queries["']?[ \t]*:""", re.MULTILINE)
_HAS_PASSAGE_FIELD = re.compile(
    r"""\b(expected_doc_ids|expected_chunk_ids|expected_spans|must_contain|forbidden|expected_answer)["']?\s*:"""
)
_HEADER = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)+")
_FIRST_ENTRY = re.compile(r"^queries\s*:[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\n)*( *)- ", re.MULTILINE)


def _is_query_list(path: Path, of_passages: bool) -> bool:
    """Return True for a YAML file with a `queries:` list that uses (or does not use) passage fields."""
    if not (path.is_file() and without_gz(path).endswith((".yaml", ".yml"))):
        return False
    text = read_text(path)
    return bool(_QUERY_LIST.search(text)) and bool(_HAS_PASSAGE_FIELD.search(text)) == of_passages


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


def _render_list(schema: Schema, header: str, queries: Sequence[GoldenQuery]) -> Rendered:
    """Render a header comment and the queries in order."""
    writable, lost = fit(queries, schema.roles)
    return Rendered({"": f"{header}queries:\n" + "\n".join(_entry(schema, query, "  ") for query in writable)}, lost)


def _extend_list(schema: Schema, header: str, query: GoldenQuery, path: Path) -> Rendered:
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
    head = (own_header[0] if own_header else header) + _other_fields(text)
    return Rendered(_render_list(schema, head, [*before, *additions]).files, lost)


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
        partial(_is_query_list, of_passages=of_passages),
        lambda path, problems: _parse_queries(schema, read_text(path), path, problems),
        partial(_render_list, schema, header),
        partial(_extend_list, schema, header),
    )


GOLDEN = _yaml_format(
    "golden",
    "YAML list `queries:` with expected_chunk_ids, expected_doc_ids, must_contain, forbidden",
    GOLDEN_SCHEMA,
    """\
# Golden queries. An entry of expected_doc_ids or expected_chunk_ids is an id, or a mapping {id: …, grade: …}.
# `expected_doc_ids: []` means: nothing in the corpus answers this query, the right answer is a refusal.
""",
    of_passages=True,
)
QUERIES = _yaml_format(
    "queries",
    "YAML list `queries:` with category, expected_files, expected_symbols",
    QUERIES_SCHEMA,
    "# Golden queries: what is asked, and the files and symbols it should bring.\n",
    of_passages=False,
)


# pairs: one JSON object per line

MOST_QUERIES = 200_000  # parsed in 10 s with 200 MB; running that many queries takes hours
_PAIRS_FIELDS = """
    id question=text query=text expected_chunks=chunk expected_docs=doc expected_files=file expected_symbols=symbol
    expected_spans=span refuse expected_answer=answer must_contain forbidden difficulty=tier tier category tags notes
    repository commit
"""
PAIRS_SCHEMA = Schema.of(_PAIRS_FIELDS, negative="chunk")


def read_pairs(lines: Iterable[tuple[int, str]], path: Path, problems: Problems) -> list[GoldenQuery]:
    """Parse numbered lines of JSON."""
    queries: list[GoldenQuery] = []
    for number, line in lines:
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
    "pairs",
    "JSON lines with `question` and `expected_chunks`",
    lambda path: path.is_file() and without_gz(path).endswith((".jsonl", ".ndjson")),
    lambda path, problems: read_pairs(read_lines(path), path, problems),
    _render_pairs,
    _extend_pairs,
)
