"""A subgraph as a diagram: Mermaid and Graphviz. Names come from a repository and are escaped."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.rank.neighbourhood import Node, Subgraph
from assay.text.display import one_line

_MAX_LABEL = 60  # characters of a name in a box
_MERMAID_SAFE = frozenset(" .,:_-/()*$@+=?!'")
_DOTTED = ("inferred",)  # provenances drawn with a dotted line


def mermaid(graph: Subgraph) -> str:
    """Render a Mermaid flowchart."""
    numbers = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart LR"]
    for node in graph.nodes:
        first, last = ("[", "]") if node.number else ("([", "])")
        lines.append(f'    {numbers[node.id]}{first}"{_lines(node, _mermaid_text, "<br/>")}"{last}')
    for relation in graph.relations:
        arrow = "-.->" if relation.provenance in _DOTTED else "-->"
        ends = numbers[relation.source], numbers[relation.target]
        lines.append(f"    {ends[0]} {arrow}|{relation.type.replace('_', ' ')}| {ends[1]}")
    lines += [f"    style {numbers[id]} stroke-width:3px" for id in graph.centre]
    return "\n".join(lines) + "\n"


def _mermaid_text(text: str) -> str:
    """Escape everything but letters, digits and harmless signs as a character code."""
    return "".join(c if c.isalnum() or c in _MERMAID_SAFE else f"#{ord(c)};" for c in text)


def dot(graph: Subgraph) -> str:
    """Render a Graphviz digraph."""
    numbers = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["digraph assay {", "    rankdir=LR;", "    node [shape=box, fontsize=10];", "    edge [fontsize=9];"]
    for node in graph.nodes:
        style = ", penwidth=3" if node.id in graph.centre else "" if node.number else ", style=rounded"
        lines.append(f'    {numbers[node.id]} [label="{_lines(node, _dot_text, chr(92) + "n")}"{style}];')
    for relation in graph.relations:
        style = ", style=dotted" if relation.provenance in _DOTTED else ""
        ends = f"{numbers[relation.source]} -> {numbers[relation.target]}"
        lines.append(f'    {ends} [label="{relation.type.replace("_", " ")}"{style}];')
    return "\n".join([*lines, "}"]) + "\n"


def _dot_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _lines(node: Node, escape: Callable[[str], str], line_break: str) -> str:
    """Return the label of a node: its name, and below it the place of an item or the kind of a name."""
    below = f"{node.path}:{node.line}" if node.number and node.kind != "file" else node.kind
    return line_break.join(escape(_shortened(text)) for text in (node.name, below))


def _shortened(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= _MAX_LABEL else f"…{text[1 - _MAX_LABEL :]}"


DIAGRAMS: Mapping[str, Callable[[Subgraph], str]] = {"mermaid": mermaid, "dot": dot}
