"""assay: find the code and documents a task needs, and measure how well that was done.

    with assay.open("path/to/repository", index=True) as repo:
        print(repo.context("how are sessions signed", budget=20_000).render("markdown"))

What is listed in `__all__` is imported when it is first used: `import assay` alone costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from assay.api import Repository as Repository
    from assay.api import Workspace as Workspace
    from assay.api import open as open
    from assay.api import open_all as open_all
    from assay.core.items import Item as Item
    from assay.core.packs import PackedItem as PackedItem
    from assay.core.packs import Ranked as Ranked
    from assay.errors import AssayError as AssayError
    from assay.pack.context import Context as Context
    from assay.rank.explain import Explanation as Explanation
    from assay.rank.impact import Affected as Affected
    from assay.rank.symbols import NoSuchSymbol as NoSuchSymbol
    from assay.store.index import NoIndex as NoIndex
    from assay.store.index import UnusableIndex as UnusableIndex

_HOMES = {
    "Affected": "assay.rank.impact",
    "AssayError": "assay.errors",
    "Context": "assay.pack.context",
    "Explanation": "assay.rank.explain",
    "Item": "assay.core.items",
    "NoIndex": "assay.store.index",
    "NoSuchSymbol": "assay.rank.symbols",
    "PackedItem": "assay.core.packs",
    "Ranked": "assay.core.packs",
    "Repository": "assay.api",
    "UnusableIndex": "assay.store.index",
    "Workspace": "assay.api",
    "open": "assay.api",
    "open_all": "assay.api",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
