"""The weights and limits of seed 003, by its sections. Data only: nobody can change them in a profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# 2. Seed retrieval: weights of the channels, and of the columns of BM25
CHANNELS = {"names": 2.0, "lexical": 2.0, "classes": 2.0}
CANDIDATES = 40  # of the fused channels
LEXICAL_CANDIDATES = 30
COLUMNS = {
    "name": 10.0, "qualifier": 3.0, "path": 4.0, "signature": 1.0, "doc": 3.0, "identifiers": 0.0, "literals": 0.0,
    "concepts": 5.0,
}  # fmt: skip
EXPANSION = 0.5  # weight of a word from the thesaurus, the task's own being 1
EXPANSIONS = 5  # words per word of the task: more would dilute its own
PHRASE = 0.5  # gain of a name with two adjacent words of the task

# 4. Random walk with restart. Left out: `handles_route`, `reads_env`, `executes_process`, `consumes_endpoint`, `depends_on`,
# `deployed_by`, `gated_by_flag` and `documents` lead to names outside the code, which are no nodes of our graph, and
# `owned_by` and `authored_by` weigh 0. Backwards as in `rank/profile.py`: `member_of` 0.6, `tested_by` 0.5.
EDGE_WEIGHTS = {
    "calls": 1.0, "implements": 0.8, "implements_rpc": 0.8, "overrides": 0.8, "contains": 0.8, "extends": 0.7, "tests": 0.6,
    "consumes_rpc": 0.6, "accesses_field": 0.6, "imports": 0.5, "co_tested_with": 0.5, "type_hint_of": 0.5, "references": 0.4,
    "throws": 0.4, "decorates": 0.3, "inherits": 0.3, "similar_to": 0.15,
}  # fmt: skip
TOOL_EDGES = 0.3  # factor of edges from language servers
# seeds of the walk: (minimum number of items, number of seeds); weights of the first, the last and those by path context
SEED_COUNTS = ((0, 15), (10_000, 20), (40_000, 25))
FIRST_SEED, LAST_SEED, PATH_SEED = 1.0, 0.4, 0.3
DENSE = 40_000  # items from which types precede other candidates

# 5. HITS: top items of the walk on which it runs
NEIGHBOURHOOD = 200

# 6. Scoring formula, with HITS
SCORE = {"blast radius": 0.35, "confidence": 0.20, "recency": 0.15, "distance": 0.15}
REACHED = 0.02  # share of the walk's maximum below which items are not scored
LEARNED = {"useful": 0.25, "not_useful": 0.05, "session": 0.2}  # feedback and session proximity
NEXT = 0.5  # distance score of items that are not seeds: one step away, 1 / (1 + 1)

# what BM25, the graph and the arrays by item read of a profile
SETTINGS: Mapping[str, Any] = {
    "field_weights": tuple(COLUMNS.values()), "field_lengths": (0.3, 0.3, 0.3, 0.5, 0.6, 0.75, 0.75, 0.3), "repeats": 1,
    "edge_weights": EDGE_WEIGHTS, "tool_edges": TOOL_EDGES, "restart": 0.2, "steps": 20, "test_weight": 0.3, **LEARNED,
}  # fmt: skip
