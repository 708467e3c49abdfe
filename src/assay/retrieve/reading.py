"""Reading a task once, for all that asks about it: its words, their relatives, its keywords, and whether it is about tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.retrieve import keywords
from assay.retrieve.keywords import Keywords
from assay.retrieve.lexical import phrases, query_terms
from assay.retrieve.noise import is_about_tests
from assay.retrieve.profile import Profile
from assay.text.limits import LONGEST_TASK
from assay.text.terms import terms


@dataclass(frozen=True, slots=True)
class Reading:
    """What a task says."""

    task: str
    terms: Mapping[str, float]  # stems, and how often each counts
    related: Mapping[str, float]  # stems of words that mean nearly the same, and what each counts
    phrases: tuple[tuple[str, str], ...]
    keywords: Keywords
    about_tests: bool


def read(task: str, profile: Profile) -> Reading:
    """Reads a task, as much of it as a person would have written."""
    text = task[:LONGEST_TASK]
    named = keywords.extract(text)
    own = query_terms(text, profile.repeats, profile.later)
    related = _related(named, profile.thesaurus) if profile.thesaurus else {}
    return Reading(
        task,
        own,
        {term: weight for term, weight in related.items() if term not in own},
        tuple(phrases(text)),
        named,
        is_about_tests(text.strip().partition("\n")[0]),  # a body that says "tests added" is not about tests
    )


def _related(named: Keywords, weight: float) -> dict[str, float]:
    from assay.retrieve import thesaurus  # few profiles have a use for it

    return {
        term: weight
        for relatives in thesaurus.expand(named.components).values()
        for word in relatives
        for term in terms(word)
    }
