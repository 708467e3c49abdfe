"""Profiles: every number the ranking depends on, named. A profile is chosen in a configuration, never by the environment."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.errors import AssayError
from assay.text.identifiers import nearest

# What a step along an edge is worth, forwards and backwards (seed 003; backwards half, where it has no name of its own).
EDGE_WEIGHTS = {
    "calls": 1.0, "implements": 0.8, "overrides": 0.8, "contains": 0.8, "handles_route": 0.7, "extends": 0.7, "tests": 0.6,
    "accesses_field": 0.6, "imports": 0.5, "type_hint_of": 0.5, "co_tested_with": 0.5, "executes_process": 0.5, "references": 0.4,
    "throws": 0.4, "reads_env": 0.4, "decorates": 0.3, "inherits": 0.3, "similar_to": 0.15,
}  # fmt: skip
BACKWARDS = {"contains": 0.6, "tests": 0.5}
_BACKWARDS_SHARE = 0.5


DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Profile:
    """How a ranking is made. Setting a weight to 0 switches its mechanism off."""

    name: str = DEFAULT
    # BM25F: a field's weight, and how much its length counts
    field_weights: tuple[float, ...] = (5.0, 2.0, 2.0, 1.0, 1.5, 0.6, 0.6)
    field_lengths: tuple[float, ...] = (0.3, 0.3, 0.3, 0.5, 0.6, 0.75, 0.75)
    saturation: float = 1.2
    repeats: int = 2  # a word of the task counts at most so often
    # what multiplies the lexical score
    coverage: float = 0.6  # the share of the task's words found, by rarity
    name_precision: float = 0.3  # the share of the name's words that the task has
    authority: float = 0.5  # how often it is called and referred to
    history: float = 0.4  # commits with such messages touched its file
    documents: float = 0.5  # sections of documents that speak of the task name it
    test_weight: float = 0.25  # tests, unless the task is about tests
    kind_weights: dict[str, float] = field(
        default_factory=lambda: {"field": 0.3, "variable": 0.3, "constant": 0.3, "property": 0.3}
    )
    # containers and members
    container_share: float = 0.4  # of its best members' scores, halved from one to the next
    member_share: float = 0.3  # of its container's score
    # the walk
    walk: float = 1.0  # its part of the final score, the rest being 1
    restart: float = 0.2
    steps: int = 15
    seeds: int = 40
    edge_weights: dict[str, float] = field(default_factory=lambda: dict(EDGE_WEIGHTS))

    def backwards(self, edge: str) -> float:
        """What a step against an edge is worth."""
        return BACKWARDS.get(edge, self.edge_weights.get(edge, 0.0) * _BACKWARDS_SHARE)


PROFILES = {
    profile.name: profile
    for profile in (
        Profile(),
        # for golden sets mined from the history of the repository that is searched: there, history would know the answers
        Profile("no-history", history=0),
        Profile("lexical", coverage=0, name_precision=0, authority=0, history=0, documents=0, container_share=0, member_share=0, walk=0,
                kind_weights={}),
    )
}  # fmt: skip


def profile(name: str) -> Profile:
    """A profile by name; an unknown name is an error that offers the nearest."""
    found = PROFILES.get(name)
    if found is None:
        near = nearest(name, PROFILES, 1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise AssayError(f"unknown profile '{name}'.{hint} Known: {', '.join(PROFILES)}")
    return found
