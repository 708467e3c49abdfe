"""HTML, PDF, DOCX and notebooks: extracted text, and skipped files with the reason."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.answer.units import units
from assay.index.documents.formats import FORMATS, Format
from assay.index.documents.opened import OpenedDocument, Unreadable, as_text, split
from assay.text.chunk import DEFAULT, Chunk
from support import documents
from support.command import assay
from support.repository import Repository

SAID = "Pumps are started before the valves open, and they are stopped after those have closed again. " * 2


def _sections(document: OpenedDocument) -> list[tuple[str, str]]:
    return [
        (" > ".join(span.headings), " ".join(" ".join(document.lines[span.first - 1 : span.last]).split()))
        for span in split(document)
    ]


def _passages(form: str, data: bytes) -> list[Chunk]:
    return DEFAULT.chunks(as_text(FORMATS[form].open(data)))


# HTML


PAGE = b"""<!doctype html>
<html><head><title>Manual</title><style>p { color: red }</style></head>
<body>
<nav><a href="/">Home</a></nav>
<h1>Pumps<a href="#pumps">\xc2\xb6</a></h1>
<p>Start them
first &amp; <b>stop</b> them last.</p>
<script>alert("never shown")</script>
<h2>Code</h2>
<pre>
start()

  stop()
</pre>
<ul><li>one<li>two</ul>
</body></html>
"""


def test_html_is_read_as_text_with_headings_and_without_scripts_and_navigation() -> None:
    document = FORMATS["html"].open(PAGE)
    assert _sections(document) == [
        ("Pumps", "Pumps Start them first & stop them last."),
        ("Pumps > Code", "Code start() stop() one two"),
    ]
    assert "start()\n\n  stop()" in "\n".join(document.lines)


def test_html_is_cited_by_the_lines_of_the_file() -> None:
    document = FORMATS["html"].open(PAGE)
    at = document.lines.index("Start them first & stop them last.")
    assert document.number(at) == 6
    assert document.number(document.lines.index("  stop()")) == 13


@given(
    st.lists(
        st.sampled_from(
            [
                "<![",
                "<!",
                "</",
                "<p",
                "]]>",
                "]>",
                ">",
                "[",
                "CDATA[",
                "&#x",
                "<?",
                "--",
                "'",
                '"',
                "\x1b[0m",
                " ",
                "word",
            ]
        )
    )
)
def test_no_html_is_too_broken_to_be_read(pieces: list[str]) -> None:
    document = FORMATS["html"].open("".join([*pieces, "<p>the end</p>"]).encode())
    assert len(document.lines) == len(document.numbers)


def test_marked_sections_are_comments_as_in_browsers() -> None:
    assert FORMATS["html"].open(b"a<![\x1b[0m> b<![CDATA[ c ]]> d").lines == ["a b d"]


def test_html_on_one_line_still_has_its_sections() -> None:
    document = FORMATS["html"].open(PAGE.replace(b"\n", b" "))
    assert [headings for headings, _ in _sections(document)] == ["Pumps", "Pumps > Code"]


def test_a_page_without_a_heading_is_called_by_its_title() -> None:
    document = FORMATS["html"].open(b"<title>A  page</title><p>text")
    assert _sections(document) == [("A page", "text")]


@pytest.mark.parametrize(
    "data",
    [
        b"<" * 100_000,
        b"<div>" * 50_000,
        b"</p>" * 50_000,
        b"<!--" * 20_000,
        b"&#" * 50_000,
        b"",
        b"<h1>",
        b"<tr><td>" * 50_000,
        b"<td><p>" * 50_000,
        b"<dl><dt>" * 50_000,
        b"<template>{{" * 50_000,
        b"<script type='text/html'>" * 20_000,
    ],
)
def test_broken_html_is_read_as_far_as_it_goes(data: bytes) -> None:
    started = time.process_time()
    assert isinstance(FORMATS["html"].open(data), OpenedDocument)
    assert time.process_time() - started < 10


def test_navigation_is_left_out_wherever_it_stands() -> None:
    menu = "<ul><li>1. <a href=a>Pumps</a></li><li>2. <a href=b>Valves</a></li><li><p><a href=c>Hoses</a></p></li></ul>"
    text = (
        "<p>See <a href=a>pumps</a> and <a href=b>valves</a>.<ul><li><a href=a>Pumps</a><li><a href=b>Valves</a></ul>"
    )
    document = FORMATS["html"].open(
        f"<h1><a href=x>Guide</a></h1>{menu}<h2>Parts</h2>\n{text}<pre>start()</pre>{menu}".encode()
    )
    assert [line for line in document.lines if line] == [
        "Guide", "Parts", "See pumps and valves.", "Pumps", "Valves", "start()",
    ]  # fmt: skip
    assert [document.lines[one.line] for one in document.outline.headings] == ["Guide", "Parts"]
    assert [document.lines[n] for n in document.outline.code] == ["start()"]
    assert document.number(document.lines.index("See pumps and valves.")) == 2


def test_what_is_around_the_text_by_its_role_is_left_out() -> None:
    page = b"<div role=navigation><div><h3>Menu</h3></div>Next</div><div role=main><div>Start</div> them.</div><p role=search>Go</p><p>End"
    assert [line for line in FORMATS["html"].open(page).lines if line] == ["Start", "them.", "End"]


def _html(page: str) -> list[str]:
    return [line for line in FORMATS["html"].open(page.encode()).lines if line]


@pytest.mark.parametrize(
    "kind",
    ["text/x-handlebars-template", "text/x-handlebars", "text/x-template", "text/html", "text/ng-template", "text/template", "x-tmpl-mustache"],
)  # fmt: skip
def test_templates_in_scripts_are_content_without_their_tags(kind: str) -> None:
    kind = kind if "/" in kind else f"text/{kind}"
    page = f"""<h1>Guide</h1><script>run("code")</script>
<script id="intro" type="{kind}">
<h2>Setup</h2>{{{{#if ready}}}}
<p>Start {{{{name}}}} the pumps.</p>{{{{/if}}}}<pre>{{{{kept}}}}</pre>
</script><p>End</p>"""
    document = FORMATS["html"].open(page.encode())
    assert [line for line in document.lines if line] == ["Guide", "Setup", "Start the pumps.", "{{kept}}", "End"]
    assert [heading.title for heading in document.outline.headings] == ["Guide", "Setup"]
    assert document.number(document.lines.index("Start the pumps.")) == 4


def test_template_elements_are_content_and_other_scripts_are_not() -> None:
    page = "<template><p>{{ hidden }}Shown</p></template><script type=module>let a = '<p>'</script><script type='text/x'>b</script><p>End"
    assert _html(page) == ["Shown", "End"]


def test_a_script_that_never_ends_is_no_template() -> None:
    assert _html('<p>Text</p><script type="text/html"><p>More') == ["Text"]


def test_a_table_is_read_row_by_row() -> None:
    page = (
        "<table><thead><tr><th>Name<th>Use</tr></thead><tr><td><p>pump</p></td><td>moves<br>water</td></tr>"
        "<tr><td></td><td> </td></tr><tr><td>valve</td><td><ul><li>opens</li><li>closes</li></ul></td></tr></table><p>End"
    )
    assert _html(page) == ["Name | Use", "pump | moves water", "valve | opens closes", "End"]


def test_a_table_that_lays_out_a_page_is_read_block_by_block() -> None:
    page = "<table><tr><td><h2>Menu</h2><p>One</p></td><td><pre>a\n b</pre>Two</td></tr></table><td>Three<td>Four"
    assert _html(page) == ["Menu", "One", "a", " b", "Two", "Three", "Four"]


def test_a_term_stands_above_its_text() -> None:
    page = "<dl><dt>pump¶</dt><dd><p>Moves water.</p><p>Fast.</p></dd><dt>valve<dd>Opens.</dl><p>End</p>"
    document = FORMATS["html"].open(page.encode())
    assert document.lines == ["pump", "    Moves water.", "", "    Fast.", "", "valve", "    Opens.", "", "End", ""]
    labels = {unit.text: unit.label.text for unit in units("\n".join(document.lines), (), "html")}
    assert labels == {"Moves water.": "pump", "Fast.": "pump", "Opens.": "valve", "End": ""}


def test_rows_of_extracted_tables_are_quoted_one_by_one() -> None:
    found = units("Some text.\n\nName | Use\npump | moves water\n", (), "html")
    assert [(unit.kind, unit.text) for unit in found] == [
        ("sentence", "Some text."), ("row", "Name | Use"), ("row", "pump | moves water"),
    ]  # fmt: skip


# PDF


def test_a_pdf_is_read_page_by_page_with_its_bookmarks() -> None:
    data = documents.pdf(
        "Pumps\nStart them first.", "Valves\nOpen them later.", bookmarks=(("Pumps", 0), ("Valves", 1))
    )
    assert [(one.page, one.headings, one.text) for one in _passages("pdf", data)] == [
        (1, ("Pumps",), "Pumps\nStart them first."),
        (2, ("Valves",), "Valves\nOpen them later."),
    ]


def test_what_is_repeated_on_every_page_of_a_pdf_is_no_text_of_it() -> None:
    pages = [
        f"Manual of pumps\nChapter {n}: {said}\nOpen the {said}.\nPage {n}"
        for n, said in enumerate(("Pump", "Valve", "Hose"), 1)
    ]
    assert [one.text for one in _passages("pdf", documents.pdf(*pages))] == [
        f"Chapter {n}: {said}\nOpen the {said}." for n, said in enumerate(("Pump", "Valve", "Hose"), 1)
    ]


def test_a_table_of_contents_in_a_pdf_is_no_text_of_it() -> None:
    data = documents.pdf("Contents\nPumps . . . . . . . 2\nValves.......... iv", "Pumps\nStart them first...")
    assert [one.text for one in _passages("pdf", data)] == ["Contents", "Pumps\nStart them first..."]


def test_a_damaged_page_of_a_pdf_does_not_hide_the_others() -> None:
    data = documents.pdf("Pumps", "Valves").replace(b"/Type /Page /Parent", b"/Type /Nope /Parent", 1)
    assert [(one.page, one.text) for one in _passages("pdf", data)] == [(2, "Valves")]


def test_a_pdf_without_bookmarks_has_the_headings_that_are_numbered() -> None:
    text = "1.1 Pumps\nStart them first, as in\n7.3 Anywhere else\n1. Open it.\n1.2. Valves\n1.1 Never goes back\n2.0 bar\n1.3 is enough."
    document = FORMATS["pdf"].open(documents.pdf(text))
    assert [heading.title for heading in document.outline.headings] == ["1.1 Pumps", "1.2. Valves"]


def test_two_bookmarks_of_one_page_divide_it() -> None:
    data = documents.pdf(f"One\n{SAID}\nTwo\n{SAID}", bookmarks=(("One", 0), ("Two", 0)))
    assert [(one.headings, one.page) for one in _passages("pdf", data)] == [(("One",), 1), (("Two",), 1)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (documents.pdf("secret", password="key"), "encrypted PDF"),
        (documents.pdf("", ""), "PDF without text"),
        (b"%PDF-1.7\nnothing of the kind", "damaged PDF"),
        (b"", "damaged PDF"),
        (documents.pdf("text")[:200], "damaged PDF"),
    ],
    ids=["encrypted", "scanned", "garbage", "empty", "truncated"],
)
def test_a_pdf_that_cannot_be_read_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        FORMATS["pdf"].open(data)


def test_a_pdf_whose_password_is_empty_is_read() -> None:
    import io

    import pypdf

    writer = pypdf.PdfWriter(clone_from=io.BytesIO(documents.pdf("Pumps")))
    writer.encrypt("", "owner", algorithm="RC4-128")
    target = io.BytesIO()
    writer.write(target)
    assert [one.text for one in _passages("pdf", target.getvalue())] == ["Pumps"]


# DOCX


def test_a_docx_is_read_with_headings_by_style_and_tables_by_row() -> None:
    styles = '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
    cell = "<w:tc>{}</w:tc>"
    table = f"<w:tbl><w:tr>{cell.format(documents.p('Pump'))}{cell.format(documents.p('on'))}</w:tr></w:tbl>"
    body = documents.p("Manual", "Title") + documents.p("Pumps", "berschrift1") + documents.p("Start them.") + table
    assert _sections(FORMATS["docx"].open(documents.docx(body, styles))) == [
        ("Manual", "Manual"),
        ("Manual > Pumps", "Pumps Start them. Pump | on"),
    ]


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><x>&b;</x>'


def _archive(name: str, text: str) -> bytes:
    import io
    import zipfile

    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, text)
    return target.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PK\x03\x04 nothing", "damaged DOCX"),
        (b"", "damaged DOCX"),
        (_archive("other.xml", "<x/>"), "damaged DOCX"),
        (_archive("word/document.xml", "<x"), "damaged DOCX"),
        (_archive("word/document.xml", BOMB), "declares entities"),
        (_archive("word/document.xml", "<x>" + " " * 60_000_000 + "</x>"), "large DOCX"),
    ],
    ids=["garbage", "empty", "another archive", "broken XML", "entities", "bomb"],
)
def test_a_docx_that_cannot_be_read_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        FORMATS["docx"].open(data)


# notebooks


def test_a_notebook_is_read_cell_by_cell() -> None:
    data = documents.notebook(("markdown", f"# Pumps\n\n{SAID}"), ("code", "start()\n\nstop()"), ("raw", "notes"))
    found = _passages("notebook", data)
    assert [(one.page, one.headings) for one in found] == [(1, ("Pumps",)), (2, ("Pumps",)), (3, ("Pumps",))]
    assert found[1].text == "start()\n\nstop()"


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"cells": 3}', b'"text"', b"[" * 100_000])
def test_a_notebook_that_cannot_be_read_says_why(data: bytes) -> None:
    with pytest.raises(Unreadable, match="damaged notebook"):
        FORMATS["notebook"].open(data)


# in an index


def test_documents_that_cannot_be_read_are_passed_over_with_the_reason(repository: Repository) -> None:
    repository.write("good.pdf", documents.pdf("Pumps are started first."))
    repository.write("locked.pdf", documents.pdf("secret", password="key"))
    repository.write("scan.pdf", documents.pdf(""))
    repository.write("broken.docx", b"PK nothing")
    repository.write("broken.txt", b"\0\1\2")
    for _ in range(2):  # also when nothing changed
        skipped = repository.index().skipped
        assert skipped["locked.pdf"] == "encrypted PDF"
        assert skipped["scan.pdf"].startswith("PDF without text")
        assert skipped["broken.docx"].startswith("damaged DOCX")
        assert "binary" in skipped["broken.txt"]
        assert "good.pdf" not in skipped
    done = assay(repository.root, "index", "-v")
    assert done.code == 0
    assert "locked.pdf: encrypted PDF" in done.out


def test_a_format_whose_library_is_missing_is_passed_over_and_says_what_to_install(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.write("manual.pdf", documents.pdf("Pumps"))
    monkeypatch.setattr("assay.index.documents.formats._installed", lambda module: False)
    assert repository.index().skipped == {"manual.pdf": "pdf (pip install pypdfium2 to read it)"}
    monkeypatch.undo()
    assert repository.index().skipped == {}


def test_a_folder_of_documents_alone_is_indexed_and_says_so(repository: Repository) -> None:
    repository.write("notes.md", "# Pumps\n\nStart them first.\n")
    done = assay(repository.root, "index")
    assert (done.code, done.lines[0].startswith("indexed 1 document in")) == (0, True)


def test_a_document_above_the_limit_of_its_format_is_passed_over(repository: Repository) -> None:
    repository.write("long.txt", "word " * 500_000)
    repository.write("long.md", "word " * 300_000)
    assert list(repository.index().skipped) == ["long.txt"]


def test_formats_are_told_apart_by_their_endings() -> None:
    endings = [ending for form in FORMATS.values() for ending in form.endings]
    assert len(endings) == len(set(endings))
    assert all(isinstance(form, Format) and form.most_bytes > 0 for form in FORMATS.values())
