"""Seeds of the fuzzer: fixture projects of all languages, documents of every format, golden sets, settings and rules."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assay.core.golden import Expected, GoldenQuery
from assay.evaluate.golden import FORMATS, save
from assay.index.enrich.formats import is_project_file
from assay.languages import LANGUAGES
from support.documents import docx, notebook, p, pdf

HERE = Path(__file__).parents[1]
FIXTURES = HERE / "fixtures"


@dataclass(frozen=True)
class Seed:
    """A text to mutate; `pack` makes a file of it where the file is more than the text."""

    suffix: str
    data: bytes
    pack: Callable[[bytes], bytes] = bytes


@cache
def sources() -> tuple[Seed, ...]:
    """The files of all fixture projects, each language as often as any other."""
    known = {extension for language in LANGUAGES for extension in language.extensions}
    return tuple(
        Seed(path.suffix, path.read_bytes())
        for path in sorted(FIXTURES.glob("*/project/**/*"))
        if path.is_file() and path.suffix in known
    )


_MARKDOWN = b"""---
title: Prices
---
# Prices

The total is `Basket.total_price`; see [the shop](shop.md#discounts) and ![a picture](a.png "t").

## Discounts

1. First
   - nested *emphasis* and **strong**
2. Second

| name | price |
|------|------:|
| tea  | 3     |

```python
def total(basket):
    return sum(good.price for good in basket)
```

> quoted
> > twice

<div align="center"><b>raw</b></div>

Setext
======

[shop]: https://example.org "Shop"
"""
_RST = b"""Prices
======

:Author: somebody

The total is :func:`total_price`. See `the shop`_.

Discounts
---------

.. code-block:: python

   def total(basket):
       return 1

.. note:: Prices are
   rounded.

+------+-------+
| name | price |
+======+=======+
| tea  | 3     |
+------+-------+

.. _the shop: https://example.org
"""
_ADOC = b"""= Prices
:toc:

The total is `total_price`. See <<discounts>>.

[[discounts]]
== Discounts

[source,python]
----
def total(basket):
    return 1
----

|===
|name |price
|tea |3
|===

* first
** nested
"""
_HTML = b"""<!DOCTYPE html><html><head><title>Prices</title><style>p { color: red }</style></head><body>
<nav><a href="/">home</a></nav><main><h1 id="prices">Prices</h1><p>The <code>total_price</code> &amp; more &#x41; text.
<h2>Discounts</h2><ul><li>first<li>second</ul><table><tr><th>name<th>price<tr><td>tea<td>3</table>
<pre><code class="python">def total(): pass</code></pre><script>var x = "<p>";</script><!-- comment --></main></body></html>
"""
_TEXT = (
    b"PRICES\n\nThe total price of a basket is computed after discounts.\n\n1. Discounts\n\n  They are applied first.\n"
)
_NOTEBOOK = notebook(
    ("markdown", "# Prices\n\nThe total."), ("code", "def total(basket):\n    return 1\n"), ("raw", "x")
)
_DOCX_BODY = (
    p("Prices", "Heading1") + p("The total price.") + "<w:tbl><w:tr><w:tc>" + p("tea") + "</w:tc></w:tr></w:tbl>"
).encode()
_DOCX_XML = zipfile.ZipFile(io.BytesIO(docx(_DOCX_BODY.decode()))).read("word/document.xml")
_PDF = pdf("Prices\nThe total price of a basket.", "Discounts\nare applied first.", bookmarks=(("Prices", 0),))


def _zipped(data: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", data)
    return target.getvalue()


@cache
def documents() -> tuple[Seed, ...]:
    texts = {
        ".md": _MARKDOWN,
        ".rst": _RST,
        ".adoc": _ADOC,
        ".html": _HTML,
        ".txt": _TEXT,
        ".ipynb": _NOTEBOOK,
        ".pdf": _PDF,
    }
    seeds = [Seed(suffix, data) for suffix, data in texts.items()]
    return (*seeds, Seed(".docx", _DOCX_XML, _zipped), Seed(".docx", docx(_DOCX_BODY.decode())))


_OWNERS = b"""# who answers for what
* @acme/everybody
/shop/ @acme/shop ada@example.org
*.sql @acme/data

^[Documents][2] @acme/writers
docs/**/*.md
"""


@cache
def project_files() -> tuple[tuple[str, bytes], ...]:
    """Manifests, deployments and owners: a path in its project, and the content."""
    folder = FIXTURES / "manifests"
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    files = [(path.relative_to(folder).as_posix().partition("/")[2], path.read_bytes()) for path in found]
    return (*(file for file in files if is_project_file(file[0])), ("CODEOWNERS", _OWNERS))


@cache
def golden_files() -> tuple[tuple[str, dict[str, bytes]], ...]:
    """Of each format: its name, and the files of a small set in it."""
    asked = [
        GoldenQuery(
            f"q{number}",
            f"where is the total price {number}",
            (Expected("Cart.total"), Expected("src/cart.py", "file", 2), Expected("prices.md", "doc")),
            tier="easy",
            category="prices",
            tags=("a", "b"),
            notes="2026-01-02",
        )
        for number in range(3)
    ]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in FORMATS:
            place = Path(folder, name)
            suffix = next((suffix for suffix in (".yaml", ".jsonl", "") if _saved(asked, place, suffix, name)), None)
            if suffix is not None:
                written = place.with_name(name + suffix)
                files = (
                    [written] if written.is_file() else sorted(path for path in written.rglob("*") if path.is_file())
                )
                found.append((name, {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}))
    return tuple(found)


def _saved(asked: list[GoldenQuery], place: Path, suffix: str, name: str) -> bool:
    from assay.errors import AssayError

    try:
        save(asked, place.with_name(place.name + suffix), name)
    except (AssayError, OSError):
        return False
    return True


SETTINGS = b"""# settings of a project
[context]
k = 7
budget = 2000
format = "text"
profile = "mine"

[search]
k = 5
chunker = "structure:512"
embedder = "lsa"
reranker = "features"

[ask]
threshold = 0.4

[workspace]
roots = ["."]

[profile.mine]
base = "default"
walk = 0.5
edge_weights = { calls = 1.0, tests = 0.2 }

[classes.sign-in]
phrases = ["sign in", "log in"]
targets = ["login", "Session"]
"""
RULES = b"""# rules
*.log
/build/
!keep.log
docs/**/draft?.md
[a-c]*.py
\\#odd
**/node_modules
a/**/b
"""
