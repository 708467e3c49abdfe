"""Imports by qualified name: Java, Kotlin, Scala, C#, PHP, and C++'s `using`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.core.items import TYPE_KINDS
from assay.index.facts import FILE, Import
from assay.index.imports.style import ImportStyle, Paths
from assay.index.values import External, Item, Search, Value, prefer

if TYPE_CHECKING:
    from assay.index.expressions import Evaluator
    from assay.index.file import File, Sym

_MOST_NAMESPACES = (
    64  # around a name; written by hand, there are ten at most. Memory grows with the square of the depth
)


class Namespaces(ImportStyle):
    """An import is a qualified name, which is looked up among the symbols."""

    qualified = True

    def imported(self, evaluator: Evaluator, row: Import, file: File, seen: Search | None) -> Value | None:
        return _full_name(evaluator, row, file)

    def targets(self, evaluator: Evaluator, row: Import, file: File) -> list[Sym | str]:
        return _targets(evaluator, row, file)


class Includes(Paths):
    """C and C++: a path is included, a name (`using std::swap`) is a qualified name."""

    def imported(self, evaluator: Evaluator, row: Import, file: File, seen: Search | None) -> Value | None:
        return _full_name(evaluator, row, file) if row.name else super().imported(evaluator, row, file, seen)

    def targets(self, evaluator: Evaluator, row: Import, file: File) -> list[Sym | str]:
        return _targets(evaluator, row, file) if row.name else super().targets(evaluator, row, file)


def _full_name(evaluator: Evaluator, row: Import, file: File) -> Item | External:
    r"""Evaluate an import by qualified name (`import a.b.C`, `use A\B\C`); unknown names are external."""
    parts = (row.module.replace("\\", ".").replace("::", "."), row.name)
    dotted = ".".join(part for part in parts if part and part != "*").strip(".")
    sym = named_fully(evaluator, dotted, file)
    if sym:
        return Item(sym)
    head, _, name = dotted.rpartition(".")  # static imports and nested types
    owner = named_fully(evaluator, head, file) if head else None
    members = evaluator.hierarchy.member(owner, name) if owner else []
    return Item(members[0]) if members else External(dotted)


def named_fully(evaluator: Evaluator, dotted: str, file: File) -> Sym | None:
    """Return the symbol with a qualified name."""
    table, matches = evaluator.table, []
    for sym in table.named(dotted.rpartition(".")[2], file.language.kin):
        other = table.file(sym.path)
        if other and other.full(sym.index) == dotted:
            matches.append(sym)
    return prefer(evaluator.scopes.defined(matches), file) if matches else None


def _targets(evaluator: Evaluator, row: Import, file: File) -> list[Sym | str]:
    """Return the namespace in all its files, the item, or the types of the package that an import names."""
    table, language = evaluator.table, file.language
    dotted = f"{row.module}.{row.name}" if row.name and row.name not in ("*", "default") else row.module
    dotted = dotted.replace("\\", ".").replace("::", ".").strip(".")
    if row.name == "*" or (language.visible.using and not row.alias):
        table.reads.add(f"imports:{dotted}")
        namespaces = [s for s in table.named(dotted.rpartition(".")[2], language.kin) if s.kind == "namespace"]
        for name in namespace_names(row, file) if row.name != "*" else [dotted]:
            parts: list[Sym | str] = [s for s in namespaces if s.symbol.replace("::", ".") == name]
            if parts:
                return parts
    value = _full_name(evaluator, row, file)
    if isinstance(value, Item):
        return [value.sym]
    return _package_types(evaluator, dotted, file) if row.name == "*" and language.visible.packages else [dotted]


def _package_types(evaluator: Evaluator, package: str, file: File) -> list[Sym | str]:
    """Return the top-level types of a package: those in files that declare it, in folders named like it."""
    table, tail = evaluator.table, package.replace(".", "/")
    table.record_file_lookup(tail.rpartition("/")[2])
    types: list[Sym] = []
    for folder in sorted(f for f in table.folders if f == tail or f.endswith("/" + tail)):
        for path in table.folders[folder]:
            other = table.scope(path)
            if other and other.facts.namespace == package and not (other.test and not file.test):
                top = (other.sym(index) for indexes in other.top.values() for index in indexes)
                types += [sym for sym in top if sym.kind in TYPE_KINDS]
    table.reads |= {sym.name for sym in types}
    return [*types] or [package]


def namespace_names(row: Import, file: File) -> list[str]:
    """Return the possible full names of an imported namespace, which may be relative to the enclosing one."""
    module = row.module.replace("\\", ".")
    full = file.full(row.source) if row.source != FILE else ""
    return [*(f"{outer}.{module}" for outer in (full, *outer_namespaces(full)) if outer), module]


def outer_namespaces(full: str) -> list[str]:
    """Return the namespaces around a qualified name, from the inside out; of a very deep name, the innermost ones."""
    out: list[str] = []
    while "." in full and len(out) < _MOST_NAMESPACES:
        full = full.rpartition(".")[0]
        out.append(full)
    return out
