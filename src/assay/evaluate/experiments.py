"""Experiments: a hypothesis, a run before, a run after, and a conclusion. The figures always come from two stored runs.

A log is a Markdown file to commit (`FileLog`), or a table of the team's store (`StoreLog`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, Protocol

from assay.errors import AssayError
from assay.evaluate.files import write_text
from assay.evaluate.ledger import Experiment
from assay.evaluate.markdown import cell
from assay.evaluate.metrics import signed
from assay.evaluate.runs import RunStore
from assay.evaluate.verdicts import BETTER, NOT_SHOWN, WORSE
from assay.system.inputs import read_text
from assay.text.display import collapsed

_MAX_LOG_SIZE = 16_000_000  # bytes
_QUESTION_WIDTH = 60  # characters

_HEADING = re.compile(r"^## Experiment (\d+): (.*)$", re.MULTILINE)
_OPEN = "(open: `assay eval experiment conclude` fills this in)"
_PREFACE = "# Experiments\n\nWhat was tried, what was expected, what came out. Entries are written by `assay eval experiment`.\n"
_HOW_TO_START = "Start one with: assay eval experiment new TITLE --hypothesis … --what …"


class Log(Protocol):
    """A log of experiments."""

    place: str  # file or store, for messages

    def begin(self, title: str, hypothesis: str, what: str, before: str) -> int:
        """Add an open experiment that starts from run `before`; return its number."""

    def entries(self) -> list[Experiment]:
        """Return all experiments by number."""

    def conclude(self, entry: Experiment, after: str, result: Sequence[str], conclusion: str) -> str:
        """Fill in an open experiment; return its Markdown."""

    def text(self, number: int | None = None) -> str:
        """Return the log, or one experiment, as Markdown."""


def open_entry(log: Log, number: int | None = None) -> Experiment:
    """Return the open experiment of that number, or the only open one; raise AssayError otherwise."""
    entries = [entry for entry in log.entries() if entry.is_open and number in (None, entry.number)]
    if not entries:
        problem = "no experiment is open" if number is None else f"no experiment {number} is open"
        raise AssayError(f"{log.place}: {problem}. {_HOW_TO_START}")
    if len(entries) > 1:
        raise AssayError(
            f"{log.place}: several experiments are open ({', '.join(str(e.number) for e in entries)}); give --number N"
        )
    return entries[0]


class FileLog:
    """A Markdown file; whatever people wrote around the entries stays."""

    def __init__(self, path: Path) -> None:
        self.place, self._path = str(path), path

    def begin(self, title: str, hypothesis: str, what: str, before: str) -> int:
        text = self._read() or _PREFACE
        number = max((int(heading[1]) for heading in _HEADING.finditer(text)), default=0) + 1
        entry = Experiment(number, date.today().isoformat(), "", title, hypothesis, what, before)
        write_text(self._path, text.rstrip("\n") + "\n\n" + entry_text(entry))
        return number

    def entries(self) -> list[Experiment]:
        """Return the experiments, with what a log needs of their texts."""
        text = self._read()
        entries = []
        for heading in _HEADING.finditer(text):
            facts = _facts(_section(text, heading))
            after = facts.get("After", "" if facts.get("Result") == _OPEN else "?")
            before, author = facts.get("Before", ""), facts.get("By", "")
            entry = Experiment(int(heading[1]), facts.get("Date", ""), author, heading[2], "", "", before, after)
            entries.append(entry if before else replace(entry, after="?"))  # written by hand: nothing to conclude
        return entries

    def conclude(self, entry: Experiment, after: str, result: Sequence[str], conclusion: str) -> str:
        text = self._read()
        heading = next(match for match in _HEADING.finditer(text) if int(match[1]) == entry.number)
        body = _section(text, heading)
        lines = "\n".join(["", *result])
        finished = body.replace(f"**Result:** {_OPEN}", f"**After:** run {after}\n**Result:**{lines}")
        finished = finished.replace(f"**Conclusion:** {_OPEN}", f"**Conclusion:** {collapsed(conclusion)}")
        write_text(self._path, text[: heading.start()] + finished + text[heading.start() + len(body) :])
        return finished.strip()

    def text(self, number: int | None = None) -> str:
        text = self._read()
        if number is None:
            return text.strip()
        for heading in _HEADING.finditer(text):
            if int(heading[1]) == number:
                return _section(text, heading).strip()
        raise _unknown(self.place, number)

    def _read(self) -> str:
        try:
            return read_text(self._path, _MAX_LOG_SIZE)
        except FileNotFoundError:
            return ""


class StoreLog:
    """The experiments of a store, which a team shares."""

    def __init__(self, store: RunStore) -> None:
        self.place, self._ledger = store.place, store.ledger

    def begin(self, title: str, hypothesis: str, what: str, before: str) -> int:
        title, hypothesis, what = map(collapsed, (title, hypothesis, what))
        entry = Experiment(0, date.today().isoformat(), "", title, hypothesis, what, before)
        return self._ledger.add_experiment(entry).number

    def entries(self) -> list[Experiment]:
        return self._ledger.experiments()

    def conclude(self, entry: Experiment, after: str, result: Sequence[str], conclusion: str) -> str:
        concluded = replace(entry, after=after, result="\n".join(result), conclusion=collapsed(conclusion))
        self._ledger.conclude_experiment(concluded)
        return entry_text(concluded).strip()

    def text(self, number: int | None = None) -> str:
        chosen = [entry for entry in self.entries() if number in (None, entry.number)]
        if not chosen and number is not None:
            raise _unknown(self.place, number)
        texts = [entry_text(entry).strip() for entry in chosen]
        return "\n\n".join([_PREFACE.strip(), *texts] if number is None else texts)


def entry_text(entry: Experiment) -> str:
    """Render an experiment as a section of a log."""
    result = f"**Result:** {_OPEN}" if entry.is_open else f"**After:** run {entry.after}\n**Result:**\n{entry.result}"
    author = f"**By:** {entry.author}\n" if entry.author else ""
    return (
        f"## Experiment {entry.number}: {collapsed(entry.title)}\n\n**Date:** {entry.created}\n{author}"
        f"**Hypothesis:** {collapsed(entry.hypothesis)}\n**What:** {collapsed(entry.what)}\n**Before:** run {entry.before}\n"
        f"{result}\n\n**Conclusion:** {_OPEN if entry.is_open else entry.conclusion}\n"
    )


def _unknown(place: str, number: int) -> AssayError:
    return AssayError(f"{place}: no experiment {number}. List them with: assay eval experiment list")


def _facts(section: str) -> dict[str, str]:
    """Return the values of a section's lines, run ids without the word before them."""
    lines = re.findall(r"^\*\*(\w+):\*\* ?(.*)$", section, re.MULTILINE)
    return {name: value.removeprefix("run ") if name in ("Before", "After") else value for name, value in lines}


def _section(text: str, heading: re.Match[str]) -> str:
    following = _HEADING.search(text, heading.end())
    return text[heading.start() : following.start() if following else len(text)]


# results


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
            f"- Regressed: {'; '.join(cell(r.get('text') or r['query_id'], _QUESTION_WIDTH) for r in regressed[:10])}"
            + (" …" if len(regressed) > 10 else "")
        )
    return lines


_NEUTRAL = 0.01  # change of a tier's reciprocal rank, up to which it is neither a gain nor a loss


def draft_conclusion(before: Mapping[str, Any], after: Mapping[str, Any], comparison: Mapping[str, Any]) -> str:
    """Return a conclusion from the figures alone: the verdict, the effect per tier, a trade-off, and what follows."""
    name = f"RR@{after['k']}"
    verdict = comparison["statistics"].get(name, {}).get("verdict", NOT_SHOWN)
    effects = {
        tier: group["metrics"][name] - before["tiers"][tier]["metrics"][name]
        for tier, group in after["tiers"].items()
        if None not in (group["metrics"].get(name), before["tiers"].get(tier, {}).get("metrics", {}).get(name))
    }
    tiers = ", ".join(f"{tier} {_effect(delta)} ({delta * 100:+.1f}pp)" for tier, delta in effects.items())
    words = {_effect(delta) for delta in effects.values()}
    trade_off = {"positive", "negative"} <= words
    if trade_off:
        advice = "A trade-off between tiers: keep it only if the gain is worth the loss."
    elif verdict == BETTER:
        advice = "Keep."
    elif verdict == WORSE:
        advice = "Revert."
    else:
        detectable = comparison["statistics"].get(name, {}).get("detectable")
        advice = "Nothing to keep it for" + (f"; this set detects {detectable:g}." if detectable else ".")
    return f"{name} {verdict}." + (f" Per tier: {tiers}." if tiers else "") + f" {advice} (drafted from the figures)"


def _effect(delta: float) -> str:
    return "neutral" if abs(delta) <= _NEUTRAL else "positive" if delta > 0 else "negative"


def _format_changes(before: Mapping[str, Any], after: Mapping[str, Any], k: int) -> str:
    parts = []
    for name in (f"P@{k}", f"R@{k}", f"RR@{k}"):
        a, b = before.get(name), after.get(name)
        if a is not None and b is not None:
            parts.append(f"{name} {a * 100:.1f}% -> {b * 100:.1f}% ({(b - a) * 100:+.1f}pp)")
    return ", ".join(parts) or "nothing measured in both"
