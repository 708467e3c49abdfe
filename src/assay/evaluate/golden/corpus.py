"""The corpus of an exported BEIR set: texts of the expected documents and of the other files of a folder.

queries × folder ──▶ corpus.jsonl: {"_id", "title", "text"} a line
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from assay.core.golden import Expected, GoldenQuery
from assay.errors import AssayError
from assay.evaluate.files import list_files
from assay.evaluate.golden.format import Rendered, as_documents
from assay.evaluate.matching import path_in
from assay.system.files import TooLarge, read_regular

CORPUS = "corpus.jsonl"
_LARGEST_FILE = 2_000_000  # bytes: generated files and data are larger
_LARGEST_CORPUS = 200_000_000  # bytes of text; the files of a set are rendered in memory


def with_corpus(rendered: Rendered, queries: Sequence[GoldenQuery], root: Path) -> Rendered:
    """Return a rendered set with its corpus: expected documents first, then every other text file below `root`.

    Expected documents without a text are named in `lost`; they are not in the corpus.
    """
    if not root.is_dir():
        raise AssayError(f"{root}: no such folder; --root is the folder of the documents")
    documents, size, absent = dict[str, str](), 0, list[str]()
    names = {expected.name for query in as_documents(queries)[0] for expected in query.at("doc")}
    documented = {expected.name: expected for query in queries for expected in query.expected if expected.name in names}
    for name, expected in documented.items():
        text = _text_of(expected, root)
        if text:
            documents[name] = text
        else:
            absent.append(name)
    for path in list_files(root):
        if path not in documents and (text := _read(root, path)):
            documents[path] = text
            size += len(text)
            if size > _LARGEST_CORPUS:
                raise AssayError(f"{root}: more than {_LARGEST_CORPUS / 1e6:,.0f} MB of text; give a smaller --root")
    lines = (
        json.dumps(
            {"_id": name, "title": PurePosixPath(name.partition("::")[0]).name, "text": text}, ensure_ascii=False
        )
        for name, text in documents.items()
    )
    files = {CORPUS: "".join(line + "\n" for line in lines), **rendered.files}
    lost = [f"{len(absent)} expected documents have no text below {root}: {', '.join(absent[:5])}"] if absent else []
    return Rendered(files, rendered.lost + lost)


def _text_of(expected: Expected, root: Path) -> str:
    """Return the lines of an expected span or chunk, else the file that its name or document is in."""
    for path in (expected.doc, path_in(expected.name), expected.name):
        text = _read(root, path) if path else ""
        if text and expected.start and expected.end:
            return "\n".join(text.split("\n")[expected.start - 1 : expected.end])
        if text:
            return text
    return ""


def _read(root: Path, path: str) -> str:
    """Return the text of a file below the folder; empty for links, binary, large and missing files."""
    place = PurePosixPath(path)
    if place.is_absolute() or ".." in place.parts:
        return ""
    if any((root / parent).is_symlink() for parent in (place, *place.parents) if parent.parts):
        return ""
    try:
        content = read_regular(root / path, _LARGEST_FILE, follow=False)
        return "" if b"\0" in content else content.decode("utf-8-sig")
    except (OSError, TooLarge, UnicodeDecodeError, ValueError):
        return ""
