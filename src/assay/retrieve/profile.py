"""Profiles: every number the ranking depends on, named. A profile is chosen in a configuration, never by the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# What a step along an edge is worth, forwards and backwards (seed 003; backwards half, where it has no name of its own).
EDGE_WEIGHTS = {
    "calls": 1.0, "implements": 0.8, "overrides": 0.8, "contains": 0.8, "handles_route": 0.7, "extends": 0.7, "tests": 0.6,
    "accesses_field": 0.6, "imports": 0.5, "type_hint_of": 0.5, "co_tested_with": 0.5, "executes_process": 0.5, "references": 0.4,
    "throws": 0.4, "reads_env": 0.4, "decorates": 0.3, "inherits": 0.3, "similar_to": 0.15,
}  # fmt: skip
BACKWARDS = {"contains": 0.6, "tests": 0.5}
_BACKWARDS_SHARE = 0.5

CHANNELS = ("names", "lexical", "classes", "vectors")  # that fusion joins

DEFAULT, CHANGE = "default", "change"  # names of profiles


@dataclass(frozen=True, slots=True)
class Profile:
    """How a ranking is made. Setting a weight to 0 switches its mechanism off."""

    name: str = DEFAULT
    # words: a field's weight in BM25F, and how much its length counts
    field_weights: tuple[float, ...] = (5.0, 2.0, 2.0, 1.0, 1.5, 0.6, 0.6)
    field_lengths: tuple[float, ...] = (0.3, 0.3, 0.3, 0.5, 0.6, 0.75, 0.75)
    saturation: float = 1.2
    repeats: int = 3  # a word of the task counts at most so often
    later: float = 0.8  # what the words of a clause count, those of the one before being 1
    thesaurus: float = 0.0  # what a related word counts, the task's own being 1
    # what multiplies the lexical score
    coverage: float = 0.7  # the share of the task's words found, by rarity
    name_precision: float = 0.3  # the share of the name's words that the task has
    phrase: float = 0.0  # two words that are neighbours in the task are in the name
    authority: float = 0.7  # how often it is called and referred to
    history: float = 0.35  # commits with such messages touched its file
    touched: float = 0.1  # … or the symbol itself
    documents: float = 0.5  # sections of documents that speak of the task name it
    place: float = 1.0  # the task names its file
    test_weight: float = 0.25  # tests, unless the task is about tests
    kind_weights: Mapping[str, float] = field(
        default_factory=lambda: {"field": 0.3, "variable": 0.3, "constant": 0.3, "property": 0.3}
    )
    # channels: ranked lists of candidates, fused by reciprocal rank; what the first of all lists gains
    channels: Mapping[str, float] = field(default_factory=lambda: {"names": 1.0, "classes": 0.5})
    fusion: float = 0.5
    certain: float = (
        0.5  # what the task points at (a place in a file, a class of the project) gains, as a share of the best
    )
    # containers and members
    container_share: float = 0.4  # of its best members' scores, halved from one to the next
    member_share: float = 0.5  # of its container's score, divided among them where they are many
    # seeds of the walk
    seeding: str = "scores"  # or "fusion"
    seed_counts: tuple[tuple[int, int], ...] = ((0, 40),)  # from so many items on, so many seeds
    implementors: bool = False  # of the interfaces among the seeds
    dense: int = 0  # from so many items on, types go before functions among the seeds; 0 = never
    focused: bool = False  # the folder with most candidates goes first
    noise: bool = False  # build output, minified code, stand-ins of tests are left out; `build/` and `Mock` are product code somewhere
    path_seeds: float = 0.0  # the weight of types under the paths the task speaks of
    # the walk
    walk: float = 2.0  # its part of the final score, the direct score's being 1
    restart: float = 0.2
    steps: int = 15
    edge_weights: Mapping[str, float] = field(default_factory=lambda: dict(EDGE_WEIGHTS))
    # after the walk
    hits: float = 0.5  # the part of the adjustment by authorities and hubs
    folder: float = 0.3  # what the folder with most of the best items gains
    overload: float = 0.25  # what each next overload of a symbol counts; 1 = as much
    namesake: float = 0.5  # … and each next symbol of the same qualified name in another file
    own: float = 2.0  # how much what is said of each of the first ten itself decides their order, unless it is learned
    scoring: str = "shares"  # or "composite"
    ranker: float = 0.0  # how much the learned order counts: 1 = alone

    def backwards(self, edge: str) -> float:
        """What a step against an edge is worth."""
        return BACKWARDS.get(edge, self.edge_weights.get(edge, 0.0) * _BACKWARDS_SHARE)

    def seeds(self, items: int) -> int:
        """How many seeds a walk on so many items starts from."""
        return max((least, count) for least, count in self.seed_counts if least <= items)[1]


# the specification's settings as written; docs/retrieval.md says where the two differ
_SEED = Profile(
    "seed",
    field_weights=(10.0, 3.0, 4.0, 1.0, 3.0, 0.0, 0.0), repeats=1, later=1, thesaurus=0.5, coverage=0, name_precision=0, phrase=0.5,
    authority=0, history=0, touched=0, documents=0, place=0, test_weight=0.3, kind_weights={},
    channels={"names": 2.0, "lexical": 2.0, "classes": 2.0}, fusion=0, certain=0,
    container_share=0, member_share=0, seeding="fusion", seed_counts=((0, 15), (10_000, 20), (40_000, 25)), implementors=True, noise=True,
    dense=40_000, focused=True, path_seeds=0.3, steps=20, walk=1, hits=1.0, folder=0, overload=1, namesake=1, own=0, scoring="composite",
)  # fmt: skip

PROFILES = {
    profile.name: profile
    for profile in (
        Profile(),
        # for golden sets mined from the history of the repository that is searched: there, history would know the answers
        Profile("no-history", history=0, touched=0),
        # what a change is likely to touch, as learned from the commits of public repositories; the others rank what there is to know
        Profile(CHANGE, ranker=1.0),
        Profile(
            "lexical", later=1, coverage=0, name_precision=0, authority=0, history=0, touched=0, documents=0, place=0, kind_weights={},
            channels={}, fusion=0, certain=0, container_share=0, member_share=0, walk=0, hits=0, folder=0, overload=1, namesake=1, own=0,
        ),
        _SEED,
    )
}  # fmt: skip
