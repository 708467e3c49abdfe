"""Experiment log in Markdown: hypothesis, before, after, conclusion. The figures always come from two stored runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.evaluate.files import write_text
from assay.evaluate.markdown import signed
from assay.system.inputs import read_text

_MAX_LOG_SIZE = 16_000_000  # bytes

_HEADING = re.compile(r"^## Experiment (\d+): (.*)$", re.MULTILINE)
_OPEN = "(open: `assay eval experiment conclude` fills this in)"
_PREFACE = "# Experiments\n\nWhat was tried, what was expected, what came out. Entries are written by `assay eval experiment`.\n"


@dataclass(frozen=True, slots=True)
class Entry:
    """An open experiment: its number, title and the run it starts from."""

    number: int
    title: str
    before: str


def begin(log: Path, title: str, hypothesis: str, what: str, before: str, today: date) -> int:
    """Append an open experiment and return its number."""
    text = _read(log) or _PREFACE
    number = max((int(heading[1]) for heading in _HEADING.finditer(text)), default=0) + 1
    entry = (
        f"## Experiment {number}: {_one_line(title)}\n\n**Date:** {today.isoformat()}\n**Hypothesis:** {_one_line(hypothesis)}\n"
        f"**What:** {_one_line(what)}\n**Before:** run {before}\n**Result:** {_OPEN}\n\n**Conclusion:** {_OPEN}\n"
    )
    write_text(log, text.rstrip("\n") + "\n\n" + entry)
    return number


def open_entry(log: Path, number: int | None = None) -> Entry:
    """Return the open experiment of that number, or the only open one; raise AssayError otherwise."""
    text = _read(log)
    entries = []
    for heading in _HEADING.finditer(text):
        body = _entry_text(text, heading)
        before = re.search(r"^\*\*Before:\*\* run (\S+)$", body, re.MULTILINE)
        if before and f"**Result:** {_OPEN}" in body and (number is None or int(heading[1]) == number):
            entries.append(Entry(int(heading[1]), heading[2], before[1]))
    if not entries:
        problem = "no experiment is open" if number is None else f"no experiment {number} is open"
        raise AssayError(f"{log}: {problem}. Start one with: assay eval experiment new TITLE --hypothesis … --what …")
    if len(entries) > 1:
        raise AssayError(
            f"{log}: several experiments are open ({', '.join(str(e.number) for e in entries)}); give --number N"
        )
    return entries[0]


def conclude(
    log: Path,
    entry: Entry,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    comparison: Mapping[str, Any],
    conclusion: str,
) -> str:
    """Fill in the result of two runs and the conclusion; return the finished entry."""
    text = _read(log)
    heading = next(match for match in _HEADING.finditer(text) if int(match[1]) == entry.number)
    body = _entry_text(text, heading)
    result = "\n".join(["", *result_lines(before, after, comparison)])
    finished = body.replace(f"**Result:** {_OPEN}", f"**After:** run {after['run_id']}\n**Result:**{result}")
    finished = finished.replace(f"**Conclusion:** {_OPEN}", f"**Conclusion:** {_one_line(conclusion)}")
    write_text(log, text[: heading.start()] + finished + text[heading.start() + len(body) :])
    return finished.strip()


def result_lines(before: Mapping[str, Any], after: Mapping[str, Any], comparison: Mapping[str, Any]) -> list[str]:
    """Return the result: every tier and metric before → after in points, then the statistics."""
    k = after["k"]
    lines = [
        f"- {tier.capitalize()}: " + _format_changes(before["tiers"][tier]["metrics"], group["metrics"], k)
        for tier, group in after["tiers"].items()
        if tier in before["tiers"]
    ]
    lines.append("- Overall: " + _format_changes(before["metrics"], after["metrics"], k))
    for name in (f"RR@{k}", f"nDCG@{k}"):
        paired = comparison["statistics"].get(name)
        if paired:
            lines.append(
                f"- {name}: Δ {paired['delta']:+.4f}, 95 % interval {signed(paired['low'])} … {signed(paired['high'])}, "
                f"p = {paired['p_holm']:.4f} (Holm), detectable {paired['detectable'] if paired['detectable'] is not None else '–'}"
            )
    counts = comparison["counts"]
    lines.append(
        f"- Queries: {counts['Win']} won, {counts['Loss']} lost, {counts['Regression']} regressed, {counts['Draw']} drawn"
    )
    regressed = [r for r in comparison["per_query"] if r["kind"] == "Regression"]
    if regressed:
        lines.append(
            f"- Regressed: {', '.join(r['query_id'] for r in regressed[:10])}" + (" …" if len(regressed) > 10 else "")
        )
    return lines


def _format_changes(before: Mapping[str, Any], after: Mapping[str, Any], k: int) -> str:
    parts = []
    for name in (f"P@{k}", f"R@{k}", f"RR@{k}"):
        a, b = before.get(name), after.get(name)
        if a is not None and b is not None:
            parts.append(f"{name} {a * 100:.1f}% -> {b * 100:.1f}% ({(b - a) * 100:+.1f}pp)")
    return ", ".join(parts) or "nothing measured in both"


def _entry_text(text: str, heading: re.Match[str]) -> str:
    following = _HEADING.search(text, heading.end())
    return text[heading.start() : following.start() if following else len(text)]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _read(log: Path) -> str:
    try:
        return read_text(log, _MAX_LOG_SIZE)
    except FileNotFoundError:
        return ""
