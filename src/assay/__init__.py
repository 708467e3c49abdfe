"""assay: find the code and documents a task needs, and measure how well that was done.

    with assay.open("path/to/repository", index=True) as repo:
        print(repo.context("how are sessions signed", budget=20_000).render("markdown"))

    run = assay.evaluate("questions.jsonl", my_search)  # my_search(query, k) returns ids, best first

What is listed in `__all__` is imported when it is first used: `import assay` alone costs nothing.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # for type checkers it is true; importing typing costs a command 5 ms
if TYPE_CHECKING:
    from typing import Any

    from assay.api import Repository as Repository
    from assay.api import Workspace as Workspace
    from assay.api import open as open
    from assay.api import open_all as open_all
    from assay.core.golden import Hit as Hit
    from assay.core.items import Item as Item
    from assay.core.packs import PackedItem as PackedItem
    from assay.core.packs import Ranked as Ranked
    from assay.errors import AssayError as AssayError
    from assay.evaluate.workbench import Comparison as Comparison
    from assay.evaluate.workbench import Golden as Golden
    from assay.evaluate.workbench import Run as Run
    from assay.evaluate.workbench import Verdict as Verdict
    from assay.evaluate.workbench import compare as compare
    from assay.evaluate.workbench import evaluate as evaluate
    from assay.evaluate.workbench import gate as gate
    from assay.evaluate.workbench import load_golden as load_golden
    from assay.pack.context import Context as Context
    from assay.rank.explain import Explanation as Explanation
    from assay.rank.impact import Affected as Affected
    from assay.rank.symbols import NoSuchSymbol as NoSuchSymbol
    from assay.store.index import NoIndex as NoIndex
    from assay.store.index import UnusableIndex as UnusableIndex

_HOMES = {
    "Affected": "assay.rank.impact",
    "AssayError": "assay.errors",
    "Comparison": "assay.evaluate.workbench",
    "Context": "assay.pack.context",
    "Explanation": "assay.rank.explain",
    "Golden": "assay.evaluate.workbench",
    "Hit": "assay.core.golden",
    "Item": "assay.core.items",
    "NoIndex": "assay.store.index",
    "NoSuchSymbol": "assay.rank.symbols",
    "PackedItem": "assay.core.packs",
    "Ranked": "assay.core.packs",
    "Repository": "assay.api",
    "Run": "assay.evaluate.workbench",
    "UnusableIndex": "assay.store.index",
    "Verdict": "assay.evaluate.workbench",
    "Workspace": "assay.api",
    "compare": "assay.evaluate.workbench",
    "evaluate": "assay.evaluate.workbench",
    "gate": "assay.evaluate.workbench",
    "load_golden": "assay.evaluate.workbench",
    "open": "assay.api",
    "open_all": "assay.api",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    # `evaluate` is also a package, which is set here by importing it and may be called like the function
    return globals().setdefault(name, value)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
