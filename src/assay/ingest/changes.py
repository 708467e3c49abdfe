"""What changes for others when a file changes: the keys of the questions whose answers differ."""

from __future__ import annotations

from collections import defaultdict

import msgspec

from assay.ingest import facts as F
from assay.ingest.file import File, stem


def changed_keys(path: str, old: File | None, new: File | None) -> set[str]:
    """The keys of all questions whose answer may differ between two versions of a file (None: absent)."""
    keys: set[str] = set()
    before, after = _answers(old), _answers(new)
    for key in before.keys() | after.keys():
        if before.get(key) != after.get(key):
            keys.add(key)
    if old is None or new is None:
        folder = path.rpartition("/")[0]
        keys |= {f"file:{stem(path)}", f"file:{folder.rpartition('/')[2]}", f"imports:{path}"}
    return keys


def _answers(file: File | None) -> dict[str, list[object]]:
    """Everything other files can learn from this one, by the key under which they ask."""
    out: dict[str, list[object]] = defaultdict(list)
    if file is None:
        return out
    bases = {index: [(r.role, r.chain) for r in rows] for index, rows in file.bases.items()}
    for index, fact in enumerate(file.facts.symbols):
        sym = file.sym(index)
        holder = file.facts.symbols[fact.parent].symbol if fact.parent != F.FILE else ""
        # positions in the file are not part of any answer: they shift with every line above
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
    if file.language.visible == "package":
        out[f"imports:{file.path}"].append(sorted(file.top))
    return out


def _type_parameters(file: File, index: int) -> list[tuple[str, str]]:
    """The bounds of a symbol's type parameters, and the type that an extension method extends."""
    return [
        (b.name, b.type) for name, rows in file.bindings.get(index, {}).items() if name.startswith("<") for b in rows
    ]


def _locals_behind(file: File, index: int) -> list[object]:
    """The locals that may decide the type of what a function returns, when no result type is declared."""
    fact = file.facts.symbols[index]
    if fact.type or not fact.values:
        return []
    out: list[object] = []
    if fact.kind == "field":  # assigned in a function of its type, from what that function binds
        heads = {value.partition(".")[0].rstrip("()[]{}") for value in fact.values}
        for at, names in file.bindings.items():
            if at != F.FILE and file.facts.symbols[at].parent == fact.parent and heads & names.keys():
                out += [(b.name, b.type, b.value) for rows in names.values() for b in rows]
    at = index
    while at != F.FILE:
        start = file.facts.symbols[at].start
        out += [
            (b.name, b.type, b.value, b.line - start, b.until and b.until - start)
            for rows in file.bindings.get(at, {}).values()
            for b in rows
        ]
        at = file.facts.symbols[at].parent
    return out
