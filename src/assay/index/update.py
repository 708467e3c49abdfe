"""Incremental index: replace changed files in a copy of the last generation and resolve dependent files again."""

from __future__ import annotations

import shutil
import time
from collections import defaultdict
from pathlib import Path

import msgspec
import numpy as np

from assay.core.items import EXTERNAL
from assay.core.progress import Progress, Report
from assay.index.facts import FILE, decode_facts
from assay.index.file import File, StoredSymbols, stem
from assay.index.freshness import REBUILD_SHARE, Changes
from assay.index.parse import ParseCache, Parsed, TextParser, parse_files
from assay.index.resolve import Resolved, Resolver
from assay.index.resolve.parallel import EdgeRows
from assay.index.scan import Scan, read_configs, read_source
from assay.index.table import Dependencies, FullIndexNeeded, Table, file_token
from assay.index.write import (
    accept,
    add_items,
    file_row,
    finish,
    imported_edges,
    imported_rows,
    note_problem,
    symbol_rows,
    with_counts,
)
from assay.languages.conventions import is_test_path
from assay.store import columns as column_store
from assay.store import edges as edge_store
from assay.store import postings
from assay.store.arrays import DAMAGE, Array
from assay.store.catalogue import NAME as CATALOGUE_NAME
from assay.store.catalogue import Catalogue, FileRow
from assay.store.generation import Generation
from assay.store.layout import Home, content_hash


def changed_keys(path: str, old: File | None, new: File | None) -> set[str]:
    """Return the keys of all lookups whose result may differ between two versions of a file (None: absent)."""
    keys: set[str] = set()
    before, after = _visible_facts(old), _visible_facts(new)
    for key in before.keys() | after.keys():
        if before.get(key) != after.get(key):
            keys.add(key)
    if old is None or new is None:
        folder = path.rpartition("/")[0]
        keys |= {f"file:{stem(path)}", f"file:{folder.rpartition('/')[2]}", f"imports:{path}"}
    return keys


def _visible_facts(file: File | None) -> dict[str, list[object]]:
    """Return everything other files can look up in this one, by lookup key."""
    out: dict[str, list[object]] = defaultdict(list)
    if file is None:
        return out
    bases = {index: [(r.role, r.chain) for r in rows] for index, rows in file.bases.items()}
    for index, fact in enumerate(file.facts.symbols):
        sym = file.sym(index)
        holder = file.facts.symbols[fact.parent].symbol if fact.parent != FILE else ""
        # positions are excluded: they shift with every edit above
        record: tuple[object, ...] = (
            msgspec.structs.replace(sym, index=0),
            holder,
            file.facts.namespace,
            fact.scope,
            fact.type,
            fact.values,
            fact.arity,
            fact.stub,
        )
        record += (fact.optional, fact.variadic, fact.static, _type_parameters(file, index))
        out[sym.name].append((*record, bases.get(index), _locals_behind(file, index)))
        if sym.owner:
            out[f"members:{sym.owner}"].append((sym.name, sym.kind, sym.id))
        if sym.kind == "interface":
            out[f"interfaces:{sym.kin}"].append(sym.id)
    for row in file.impls:
        out[row.literal].append(("impl", row.chain))
    rows = [(r.module, r.name, r.alias, r.export, file.sym(r.source).symbol) for r in file.facts.imports]
    out[f"imports:{file.path}"] = [file.facts.namespace, rows]
    if file.language.visible.packages:
        out[f"imports:{file.path}"].append(sorted(file.top))
    return out


def _type_parameters(file: File, index: int) -> list[tuple[str, str]]:
    """Return the bounds of a symbol's type parameters, and the type that an extension method extends."""
    return [
        (b.name, b.type) for name, rows in file.bindings.get(index, {}).items() if name.startswith("<") for b in rows
    ]


def _locals_behind(file: File, index: int) -> list[object]:
    """Return the locals that may determine the type of a function's result, if it is not declared."""
    fact = file.facts.symbols[index]
    if fact.type or not fact.values:
        return []
    out: list[object] = []
    if fact.kind == "field":  # assigned in a method, from its locals
        heads = {value.partition(".")[0].rstrip("()[]{}") for value in fact.values}
        for at, names in file.bindings.items():
            if at != FILE and file.facts.symbols[at].parent == fact.parent and heads & names.keys():
                out += [(b.name, b.type, b.value) for rows in names.values() for b in rows]
    at = index
    while at != FILE:
        start = file.facts.symbols[at].start
        out += [
            (b.name, b.type, b.value, b.line - start, b.until and b.until - start)
            for rows in file.bindings.get(at, {}).values()
            for b in rows
        ]
        at = file.facts.symbols[at].parent
    return out


# Update


def update(
    root: Path, home: Home, scanned: Scan, changes: Changes, previous: Generation, cache: ParseCache, progress: Progress
) -> Report:
    """Replace changed files in a copy of the last generation and resolve dependent files again.

    Raises FullIndexNeeded if a full index is necessary or faster.
    """
    report = Report("update", skipped=dict(scanned.skipped), problems=dict(scanned.problems))
    started = time.monotonic()
    progress.start("parsing", len(changes.changed))
    parsed = {p.path: p for p in parse_files(root, changes.changed, cache, progress.advance)}
    fresh = {
        p.path: File(p.path, decode_facts(p.extracted.facts), is_test_path(p.path))
        for p in parsed.values()
        if accept(p, report) and p.extracted is not None
    }
    carry_over_skips(previous, scanned, parsed, report)
    rows = previous.files.copy()
    removed = [path for path in [*changes.removed, *(p for p in parsed if p not in fresh)] if path in rows]
    keys: set[str] = set()
    configs = read_configs(root, scanned)
    with TextParser() as parser, home.new_generation() as folder:
        for path in [*fresh, *removed]:
            keys |= changed_keys(path, _indexed_file(root, rows.get(path), cache, parser), fresh.get(path))
        shutil.copyfile(previous.folder / CATALOGUE_NAME, folder / CATALOGUE_NAME)
        catalogue = Catalogue.edit(folder / CATALOGUE_NAME)
        words, columns = _write_changed_files(catalogue, previous, rows, fresh, removed, parsed, scanned)
        dependencies = _dependencies(previous)
        affected = sorted(set(fresh) | dependencies.affected(keys, rows))
        if len(affected) > REBUILD_SHARE * len(rows) + 20:
            catalogue.close()
            raise FullIndexNeeded("")

        def load(path: str) -> File | None:
            return fresh.get(path) or _indexed_file(root, rows.get(path), cache, parser)

        table = Table(StoredSymbols(catalogue.connection), rows, load, configs)
        progress.start("resolving", len(affected))
        resolver, resolved = Resolver(table), {}
        for path in affected:
            resolved[path] = resolver.resolve(path)
            note_problem(path, resolved[path].problem, report)
            rows[path] = with_counts(rows[path], resolved[path].calls)
            progress.advance()
        reads = {file_token(path): result.reads for path, result in resolved.items()} | table.behind
        dependencies.replaced(Dependencies.of(reads), map(file_token, removed)).save(folder)
        edges = _merge_edges(previous, catalogue, rows, resolved, removed)
        catalogue.add_files(rows[path] for path in affected)
        report.files, report.parsed = len(rows), len(fresh)
        report.resolved, report.removed = len(affected), len(removed)
        digests = {"words": words.write(folder), "columns": columns.write(folder)}
        finish(folder, catalogue, edges, digests, scanned, configs, report, started)
    return report


def _dependencies(previous: Generation) -> Dependencies:
    try:
        return Dependencies.load(previous.folder)
    except DAMAGE as error:
        raise FullIndexNeeded(f"{previous.folder}: the index is damaged ({error})") from None


def carry_over_skips(previous: Generation, scanned: Scan, parsed: dict[str, Parsed], report: Report) -> None:
    """Carry over skip reasons and notes of files that were read before and whose stat is unchanged."""
    for path, reason, problem in previous.catalogue.connection.execute(
        "SELECT path, reason, problem FROM skipped WHERE size >= 0"
    ):
        if path in scanned.files and path not in parsed:
            (report.problems if problem else report.skipped)[path] = reason
    report.notes |= {
        path: row.note
        for path, row in previous.files.items()
        if row.note and path in scanned.files and path not in parsed
    }


def _indexed_file(root: Path, row: FileRow | None, cache: ParseCache, parser: TextParser) -> File | None:
    """Return the facts of a file as last indexed.

    An unchanged file whose facts are not cached, as in an index that was pulled, is parsed again. Raises
    FullIndexNeeded if the file changed.
    """
    if row is None:
        return None
    extracted = cache.get(row.hash, row.language)
    if extracted is None:
        data = read_source(root, row.path).data
        extracted = parser.extract(row.path, data) if content_hash(data) == row.hash else None
        if extracted is None:
            raise FullIndexNeeded("the parse cache is missing")
        cache.put_all([(row.hash, row.language, extracted)])
    return File(row.path, decode_facts(extracted.facts), bool(row.test))


def _write_changed_files(
    catalogue: Catalogue,
    previous: Generation,
    rows: dict[str, FileRow],
    fresh: dict[str, File],
    removed_paths: list[str],
    parsed: dict[str, Parsed],
    scanned: Scan,
) -> tuple[postings.Segment, column_store.Columns]:
    """Write the new symbols of changed files; return postings and columns of all items.

    Ids that still exist keep their numbers.
    """
    numbers: dict[str, int] = {}
    new_words: list[postings.Words] = []
    new_columns: list[Array] = []
    next_number = catalogue.connection.execute("SELECT coalesce(max(number), 0) + 1 FROM symbols").fetchone()[0]
    next_file = max((row.number for row in rows.values()), default=0) + 1
    removed: dict[str, int] = {}
    for path in removed_paths:
        removed |= catalogue.remove_file(rows[path].number)
        catalogue.connection.execute("DELETE FROM files WHERE number = ?", (rows.pop(path).number,))
    for path in sorted(fresh):
        existing = rows.get(path)
        if existing is not None:
            old = catalogue.remove_file(existing.number)
            numbers |= old
            removed |= old
        number = existing.number if existing is not None else next_file
        next_file += existing is None
        rows[path] = file_row(number, parsed[path], fresh[path], scanned)
        symbols = symbol_rows(fresh[path], number, numbers, next_number)
        next_number = max(next_number, max(row.number for row in symbols) + 1)
        extracted = parsed[path].extracted
        assert extracted is not None
        catalogue.add_files([rows[path]])
        new_words += add_items(catalogue, symbols, path, extracted)
        new_columns.append(column_store.describe_symbols(symbols))
    removed_numbers = removed.values()
    words = previous.postings.replaced(removed_numbers, postings.joined(new_words))
    return words, previous.columns.replaced(removed_numbers, new_columns)


def _merge_edges(
    previous: Generation,
    catalogue: Catalogue,
    rows: dict[str, FileRow],
    resolved: dict[str, Resolved],
    removed: list[str],
) -> Array:
    """Return the edges of untouched files together with those of resolved files."""
    old = previous.edges.all
    replaced_files = [rows[path].number for path in resolved] + [previous.files[path].number for path in removed]
    file_stays = np.ones(max((row.number for row in previous.files.values()), default=0) + 1, bool)
    file_stays[0] = False
    file_stays[[number for number in replaced_files if number < len(file_stays)]] = False
    unchanged = (old["file"] > 0) & file_stays[np.maximum(old["file"], 0)]
    imported = imported_rows(catalogue)
    ids = {i for r in resolved.values() for _, *ends in r.edges for i in ends if not i.startswith(EXTERNAL)}
    numbers = catalogue.numbers(ids | {i for row in imported for i in row[:2]})
    fresh = EdgeRows(numbers, {path: row.number for path, row in rows.items()})
    for path, result in resolved.items():
        fresh.add(path, result)
    edges = fresh.array()
    is_external = edges["target"] < 0
    common = np.array([catalogue.external(name) for name in fresh.externals], dtype="<i4")
    edges["target"][is_external] = -common[-1 - edges["target"][is_external]]
    return edge_store.replaced(old, unchanged, np.concatenate([edges, imported_edges(imported, numbers, rows)]))
