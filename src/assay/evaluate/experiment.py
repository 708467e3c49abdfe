"""Experiments: hypothesis, before, after, conclusion, kept in a Markdown log. The figures come from two stored runs, never by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.evaluate.files import write_text
from assay.system.inputs import read_text

_LARGEST = 16_000_000  # bytes of a log of experiments

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
    """Appends an open experiment and returns its number."""
    text = _read(log) or _PREFACE
    number = max((int(found[1]) for found in _HEADING.finditer(text)), default=0) + 1
    entry = (
        f"## Experiment {number}: {_one_line(title)}\n\n**Date:** {today.isoformat()}\n**Hypothesis:** {_one_line(hypothesis)}\n"
        f"**What:** {_one_line(what)}\n**Before:** run {before}\n**Result:** {_OPEN}\n\n**Conclusion:** {_OPEN}\n"
    )
    write_text(log, text.rstrip("\n") + "\n\n" + entry)
    return number


def open_entry(log: Path, number: int | None = None) -> Entry:
    """The open experiment of that number, or the only open one."""
    text = _read(log)
    found = []
    for heading in _HEADING.finditer(text):
        body = _body(text, heading)
        before = re.search(r"^\*\*Before:\*\* run (\S+)$", body, re.MULTILINE)
        if before and f"**Result:** {_OPEN}" in body and (number is None or int(heading[1]) == number):
            found.append(Entry(int(heading[1]), heading[2], before[1]))
    if not found:
        which = "no experiment is open" if number is None else f"no experiment {number} is open"
        raise AssayError(f"{log}: {which}. Start one with: assay eval experiment new TITLE --hypothesis … --what …")
    if len(found) > 1:
        raise AssayError(
            f"{log}: several experiments are open ({', '.join(str(e.number) for e in found)}); give --number N"
        )
    return found[0]


def conclude(
    log: Path,
    entry: Entry,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    comparison: Mapping[str, Any],
    conclusion: str,
) -> str:
    """Fills in the result from two runs and the conclusion; returns the finished entry."""
    text = _read(log)
    heading = next(found for found in _HEADING.finditer(text) if int(found[1]) == entry.number)
    body = _body(text, heading)
    result = "\n".join(["", *result_lines(before, after, comparison)])
    finished = body.replace(f"**Result:** {_OPEN}", f"**After:** run {after['run_id']}\n**Result:**{result}")
    finished = finished.replace(f"**Conclusion:** {_OPEN}", f"**Conclusion:** {_one_line(conclusion)}")
    write_text(log, text[: heading.start()] + finished + text[heading.start() + len(body) :])
    return finished.strip()


def result_lines(before: Mapping[str, Any], after: Mapping[str, Any], comparison: Mapping[str, Any]) -> list[str]:
    """Seed 000's lines: every tier and metric, before → after, in points; then what the difference is worth."""
    k = after["k"]
    lines = [
        f"- {tier.capitalize()}: " + _changes(before["tiers"][tier]["metrics"], told["metrics"], k)
        for tier, told in after["tiers"].items()
        if tier in before["tiers"]
    ]
    lines.append("- Overall: " + _changes(before["metrics"], after["metrics"], k))
    for name in (f"RR@{k}", f"nDCG@{k}"):
        told = comparison["statistics"].get(name)
        if told:
            lines.append(
                f"- {name}: Δ {told['delta']:+.4f}, 95 % interval {_sign(told['low'])} … {_sign(told['high'])}, p = {told['p_holm']:.4f} (Holm), "
                f"detectable {told['detectable'] if told['detectable'] is not None else '–'}"
            )
    counts = comparison["counts"]
    lines.append(
        f"- Queries: {counts['Win']} won, {counts['Loss']} lost, {counts['Regression']} regressed, {counts['Draw']} drawn"
    )
    moved = [r for r in comparison["per_query"] if r["kind"] == "Regression"]
    if moved:
        lines.append(f"- Regressed: {', '.join(r['query_id'] for r in moved[:10])}" + (" …" if len(moved) > 10 else ""))
    return lines


def _changes(before: Mapping[str, Any], after: Mapping[str, Any], k: int) -> str:
    parts = []
    for name in (f"P@{k}", f"R@{k}", f"RR@{k}"):
        a, b = before.get(name), after.get(name)
        if a is not None and b is not None:
            parts.append(f"{name} {a * 100:.1f}% -> {b * 100:.1f}% ({(b - a) * 100:+.1f}pp)")
    return ", ".join(parts) or "nothing measured in both"


def _sign(value: float | None) -> str:
    return "–" if value is None else f"{value:+.4f}"


def _body(text: str, heading: re.Match[str]) -> str:
    following = _HEADING.search(text, heading.end())
    return text[heading.start() : following.start() if following else len(text)]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _read(log: Path) -> str:
    try:
        return read_text(log, _LARGEST)
    except FileNotFoundError:
        return ""
