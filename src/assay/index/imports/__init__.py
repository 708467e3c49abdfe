"""Import styles: one per module system, behind the interface of `style.ImportStyle`. A language's row names its style."""

from __future__ import annotations

from assay.index.imports.javascript import JavaScript
from assay.index.imports.namespaces import Includes, Namespaces
from assay.index.imports.paths import Go, Paths
from assay.index.imports.python import Python
from assay.index.imports.rust import Rust
from assay.index.imports.style import ImportStyle

STYLES: dict[str, ImportStyle] = {
    "": ImportStyle(),
    "python": Python(),
    "javascript": JavaScript(),
    "go": Go(),
    "rust": Rust(),
    "namespace": Namespaces(),
    "ruby": Paths(".rb"),
    "include": Includes(),
    "lua": Paths(".lua", "/init.lua", dotted=True),
    "bash": Paths(".sh", ".bash"),
}
