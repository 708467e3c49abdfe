"""Manual pages and MDX: text, headings and terms, and which files are manual pages at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.answer.units import units
from assay.index.documents.formats import FORMATS
from assay.index.documents.opened import OpenedDocument
from assay.index.scan import scan
from support.command import assay
from support.repository import Repository

MAN = r""".\" A comment
.TH PUMP "1" "May 2024"
.de XX
never shown
..
.if n \{\
.ad l
.\}
.SH NAME
pump \- move water
.SH "SYNOPSIS"
.B pump
.RI [ options "] " file ...
.SH DESCRIPTION
Moves \fIwater\fP,
.BR slowly .
.PP
A \(lqsecond\(rq paragraph\(em with \[u00E9] and C:\e.
.SS Options
.TP
.BR \-f ", " \-\^\-force
Go on,
whatever happens.
.TP
.B \-n
Dry run.
.IP \(bu 2
bullet
.nf
$ pump   now
  done
.fi
.TS
tab(;);
l l.
Name;Use
T{
pump
T};moves
.TE
"""

MDOC = r""".Dd May 1, 2024
.Dt VALVE 8
.Os
.Sh NAME
.Nm valve
.Nd open and close
.Sh SYNOPSIS
.Nm
.Op Fl v
.Op Fl f Ar file
.Ar name ...
.Sh DESCRIPTION
The
.Nm
command opens a valve (see
.Xr pump 1 ) ,
.Dq slowly .
.Bl -tag -width Ds
.It Fl f Ar file
Read
.Pa file .
.It Fl v
Be loud.
.El
.Pp
.Bd -literal
valve -v  main
.Ed
"""


def _man(source: str) -> OpenedDocument:
    return FORMATS["man"].open(source.encode())


def test_macros_of_man_become_text_with_headings_terms_and_code() -> None:
    page = _man(MAN)
    assert page.title == "pump(1)"
    assert [(heading.level, heading.title) for heading in page.outline.headings] == [
        (1, "NAME"), (1, "SYNOPSIS"), (1, "DESCRIPTION"), (2, "Options"),
    ]  # fmt: skip
    assert [line for line in page.lines if line] == [
        "NAME", "pump - move water", "SYNOPSIS", "pump [options] file...", "DESCRIPTION", "Moves water, slowly.",
        "A “second” paragraph— with é and C:\\.", "Options", "-f, --force", "    Go on, whatever happens.", "-n", "    Dry run.",
        "- bullet", "$ pump   now", "  done", "Name | Use", "pump | moves",
    ]  # fmt: skip
    assert [page.lines[number] for number in sorted(page.outline.code) if page.lines[number]] == [
        "$ pump   now",
        "  done",
    ]
    assert page.number(page.lines.index("    Dry run.")) == 26


def test_macros_of_mdoc_become_text_with_options_and_references() -> None:
    page = _man(MDOC)
    assert page.title == "valve(8)"
    assert [line for line in page.lines if line] == [
        "NAME", "valve – open and close", "SYNOPSIS", "valve [-v] [-f file] name ...", "DESCRIPTION",
        "The valve command opens a valve (see pump(1)), “slowly”.", "-f file", "    Read file.", "-v", "    Be loud.",
        "valve -v  main",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("pump-start \\- start it", "pump-start(1)"),
        ("a, b \\- both", "a(1)"),
        ("many words - no name", "tool pump(1)"),
        ("", "tool pump(1)"),
    ],
)
def test_a_page_is_called_by_the_name_it_gives_itself(name: str, title: str) -> None:
    assert _man(f'.TH "TOOL PUMP" 1\n.SH NAME\n{name}\n.SH USE\nText\n').title == title


def test_an_option_explains_the_text_below_it() -> None:
    page = _man(MAN)
    labels = {unit.text: unit.label.text for unit in units("\n".join(page.lines), (), "man")}
    assert labels["Go on, whatever happens."] == "-f, --force"
    assert labels["Dry run."] == "-n"


def test_only_files_that_start_like_troff_are_manual_pages(repository: Repository) -> None:
    repository.write("doc/pump.1", MAN)
    repository.write("doc/valve.8", "\n'\\\" t\n" + MDOC)
    repository.write("doc/generated.1", '.nh\n.TH "X" "1"\n.SH NAME\nx\n')
    repository.write("build.1", "a log of the build\n.TH is mentioned\n")
    repository.write("notes-1.2", "1.2 is out\n")
    repository.write("dots.3", ". only\n. dots\n")
    (repository.root / "lib.so.1").write_bytes(b"\x7fELF\0\0.TH ")
    (repository.root / "link.1").symlink_to(repository.root / "doc" / "pump.1")
    found = scan(repository.root)
    assert sorted(found.documents) == ["doc/generated.1", "doc/pump.1", "doc/valve.8"]
    assert found.problems == {}
    assert found.skipped == {"link.1": "symlink"}


def test_a_manual_page_is_searched_and_cited_by_its_lines(repository: Repository) -> None:
    repository.write("doc/pump.1", MAN)
    assay(repository.root, "index", ".")
    told = assay(repository.root, "search", "force whatever happens", "--format", "json").json
    assert told["results"][0]["path"] == "doc/pump.1"
    assert told["results"][0]["language"] == "man"
    assert told["results"][0]["headings"][0] == "pump(1)"


@given(
    st.lists(
        st.sampled_from(
            [".SH", ".SS x", ".TP", ".IP \\(bu", ".RS", ".RE", ".Bl -tag", ".It Fl v Ar", ".El", ".nf", ".fi", ".TS", "l.", "T{", "T}", ".TE",
             ".de", "..", ".if n \\{\\", ".\\}", ".Op Fl", ".Xr", ".Ns", ".", "'", "\\", "\\f", "\\[", "\\*(", "\\(", 'text "quoted', "", "\\[uD800]",
             ".Oo Op Dq", "\tindented", ".B", ".Dq \\[u110000]"]
        ),
        max_size=30,
    )
)  # fmt: skip
def test_no_manual_page_is_too_broken_to_be_read(lines: list[str]) -> None:
    page = _man("\n".join(lines))
    assert len(page.lines) == len(page.numbers)
    assert all(1 <= number <= len(lines) + 1 for number in page.numbers)
    "\n".join(page.lines).encode()


# MDX

MDX = """---
title: Start
---
import Tabs from '@theme/Tabs'
import {
  A,
} from './a'

export const Note = () => {

  return <b>never</b>
}

# Setup <Badge>new</Badge>

<Tabs>
  <TabItem value="npm" label="With npm">
  Run `<App />` in `Map<K>` of List<String>.
  </TabItem>
</Tabs>

```jsx
import React from 'react'
<App />
```

{/* hidden */}
<Card
  title="Pumps"
  href="x"
/>
Text with {value}.
"""


def test_mdx_is_markdown_without_modules_and_components() -> None:
    document = FORMATS["mdx"].open(MDX.encode())
    assert document.title == "Start"
    assert [heading.title for heading in document.outline.headings] == ["Setup new"]
    assert [line.strip() for line in document.lines[document.start :] if line.strip()] == [
        "# Setup new", "With npm", "Run `<App />` in `Map<K>` of List<String>.", "```jsx", "import React from 'react'", "<App />",
        "```", "Pumps", "Text with {value}.",
    ]  # fmt: skip


def test_mdx_is_cited_by_the_lines_of_the_file() -> None:
    lines = MDX.split("\n")[:-1]
    document = FORMATS["mdx"].open(MDX.encode())
    assert len(document.lines) == len(lines)
    assert document.lines[-1] == lines[-1]


@pytest.mark.parametrize(
    "piece", ["<A ", "<A b={", "{/*", "export const a = {\n\n", "import {\n", "```\n", "<Tabs>\n", "`", "<A b='", "{{{"]
)
def test_broken_mdx_costs_only_itself(piece: str) -> None:
    source = piece * (200_000 // len(piece))
    assert len(FORMATS["mdx"].open(source.encode()).lines) == len(source.split("\n")) - source.endswith("\n")
