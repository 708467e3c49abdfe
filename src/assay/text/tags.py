"""HTML tags, JSX components and module lines in Markdown, and MDX without them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.text.markup import FENCE, closes, front_matter

# the attributes are consumed even if the tag does not end, so that no text is read twice
_TAG = re.compile(
    r"<(/?)([A-Za-z][\w.:-]*+)((?:[^<>\"'{}]|\"[^\"]*\"|'[^']*'|\{(?:[^{}]|\{[^{}]*\})*+\})*+)(>?)|<(/?)>"
)
_HTML = frozenset(
    re.findall(
        r"\w+",
        """
        a abbr address article aside audio b blockquote body br button caption center cite code col colgroup dd del
        details dfn div dl dt em figcaption figure font footer form g h1 h2 h3 h4 h5 h6 head header hr html i iframe
        img input ins kbd label li link main mark meta nav object ol option p path picture pre q s samp section select
        small source span strike strong sub summary sup svg table tbody td tfoot th thead time title tr tt u ul var
        video wbr
        """,
    )
)
_REPLACED = {"br": " ", "/td": " | ", "/th": " | ", "li": "- ", "/summary": ":", "/dt": ":", "hr": " "}
_ALT = re.compile(r"\balt=(?:\"([^\"]*)\"|'([^']*)')")
_SHOWN = re.compile(r"\b(?:title|label|header|heading|question|summary)=(?:\"([^\"]*)\"|'([^']*)')")  # of a component
# of ECMAScript modules, complete or open
MODULE_LINE = re.compile(
    r"(?:import\s+(?:[\w*{][^'\"]*\sfrom\s+)?['\"][^'\"]+['\"]|export\s+[*{][^'\"]*(?:['\"][^'\"]+['\"])?);?\s*$"
)
MODULE_BLOCK = re.compile(r"import\s+\{[^}'\"]*$|export\s+(?:const|let|var|default|function|async|class)\s.*[({\[=;]")
_MAX_MODULE_LINES = 100  # of an open module line; if its braces do not match by then, it ends at a blank line


def without_tags(text: str) -> str:
    """Remove tags of HTML and components, but not `<name>`, a placeholder, or `List<String>`.

    Of a picture and of a component the text in their attributes stays.
    """
    return _TAG.sub(_untagged, text) if "<" in text else text


def _untagged(match: re.Match[str]) -> str:
    slash, name, attributes, end = match.groups()[:4]
    if name is None:  # a fragment of JSX
        return ""
    lower = name.lower()
    if not end:
        return match[0]
    if lower == "img":
        return _attribute(_ALT, attributes)
    after_word = not slash and match.start() > 0 and match.string[match.start() - 1].isalnum()  # `Map<String>`
    is_component = name[0].isupper() and len(name) > 1
    if lower in _HTML and not is_component:
        return _REPLACED.get(slash + lower, "")
    if after_word or not (slash or "-" in name or is_component or attributes[:1].isspace() or attributes == "/"):
        return match[0]
    return _attribute(_SHOWN, attributes) if is_component else ""


def _attribute(pattern: re.Pattern[str], attributes: str) -> str:
    value = pattern.search(attributes)
    return (value[1] or value[2] or "") if value else ""


def end_of_module(lines: Sequence[str], at: int) -> int:
    """Return the line after a module block that starts at a line: where its braces match."""
    depth = 0
    for number in range(at, min(len(lines), at + _MAX_MODULE_LINES)):
        line = lines[number]
        depth += sum(map(line.count, "({[")) - sum(map(line.count, ")}]"))
        if depth <= 0 and line.strip():
            return number + 1
    while at < len(lines) and lines[at].strip():
        at += 1
    return at


# MDX

_CODE_SPAN = re.compile(r"((?<!`)`+[^`]+`+)")
_EXPRESSION = re.compile(r"\{(?:/\*[^*]*\*/|['\"] *['\"])\}")  # a comment or a blank; others may be text


def without_jsx(lines: Sequence[str]) -> list[str]:
    """Return MDX as Markdown, line by line: without imports, exports, comments and tags of components."""
    out: list[str] = []
    fence = ""
    at = front_matter(lines)[1]
    out += lines[:at]
    paragraph: list[str] = []
    while at < len(lines):
        line = lines[at]
        opening = FENCE.match(line.lstrip() if not fence else line)
        if not fence and not paragraph and MODULE_BLOCK.match(line):
            end = end_of_module(lines, at)
            out += [""] * (end - at)
            at = end
            continue
        if fence or opening or not line.strip() or MODULE_LINE.match(line):
            out += _without_components(paragraph)
            paragraph = []
            is_module = not fence and not opening and line.strip()
            out.append("" if is_module else line)
            fence = ("" if closes(line, fence) else fence) if fence else opening[1] if opening else ""
        else:
            paragraph.append(line)
        at += 1
    return out + _without_components(paragraph)


def _without_components(paragraph: Sequence[str]) -> list[str]:
    """Remove the tags of a paragraph outside code; its number of lines stays."""
    if not any("<" in line or "{" in line for line in paragraph):
        return list(paragraph)
    pieces = _CODE_SPAN.split("\n".join(paragraph))
    pieces[::2] = [_TAG.sub(_untagged_lines, _EXPRESSION.sub(_blank_lines, piece)) for piece in pieces[::2]]
    return "".join(pieces).split("\n")


def _untagged_lines(match: re.Match[str]) -> str:
    shown = _untagged(match)
    return shown + "\n" * (match[0].count("\n") - shown.count("\n"))


def _blank_lines(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")
