"""The table of features of the learned rankers: the score component each belongs to, its meaning and its computation.

Features of signals come from the signal table. Only the features that a model names are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from assay.core.items import CALLABLE_KINDS, DATA_KINDS, SPACE_KINDS, TYPE_KINDS
from assay.rank.arrays import Floats
from assay.rank.candidates import Candidates, log_ranks
from assay.rank.signals.signal import Signal, Stage
from assay.rank.signals.table import SIGNALS
from assay.rank.similarity import relative_to_best
from assay.store.postings import DOC, FIELDS, IDENTIFIERS, LITERALS, PATH, QUALIFIER, SIGNATURE


class Feature(NamedTuple):
    """A feature: its score component, meaning and computation.

    `sense` constrains a model: 1 when more of it can only raise a score, -1 when it can only lower it, 0 for either.
    """

    component: str
    meaning: str
    of: Callable[[Candidates], Floats]
    sense: int = 1


FOR, AGAINST, EITHER = 1, -1, 0

# of a signal: its reciprocal rank in a channel, or its value
_READERS = {Stage.CHANNEL: Candidates.channel, Stage.FACTOR: Candidates.factor, Stage.PART: Candidates.part}


def _of_signal(signal: Signal) -> Feature:
    return Feature(signal.component, signal.meaning, partial(_READERS[signal.stage], name=signal.name))


FEATURES: Mapping[str, Feature] = {
    "score": Feature("words", "hand-tuned score", lambda candidates: candidates.log_share(candidates.ranking.scores)),
    "direct": Feature("words", "direct score", lambda candidates: candidates.log_share(candidates.direct)),
    "lexical place": Feature("words", "lexical rank", lambda candidates: candidates.log_rank(candidates.ranking.factors["lexical"]), AGAINST),
    "found": Feature("words", "task terms found", lambda candidates: candidates.term_share),
    "title": Feature("words", "terms of the task's title found", lambda candidates: candidates.title_coverage),
    **{
        f"in {FIELDS[at]}": Feature("words", f"task terms in its {FIELDS[at]}", partial(Candidates.field_coverage, field=at))
        for at in (QUALIFIER, PATH, SIGNATURE, IDENTIFIERS, LITERALS)
    },
    "name precision": Feature("names", "share of its name's terms in the task", lambda candidates: candidates.name_precision),
    "name length": Feature("names", "words of its name", lambda candidates: candidates.name_matches[:, 0], EITHER),
    "name phrase": Feature("names", "adjacent words of its name adjacent in the task", lambda candidates: candidates.name_matches[:, 2]),
    "name position": Feature("names", "place in the task of the first word of its name", lambda candidates: candidates.name_matches[:, 3], EITHER),
    "whole name": Feature("names", "the task says its whole name", lambda candidates: candidates.whole_name),
    "meaning": Feature("meaning", "cosine of the task and its text (word vectors)", lambda candidates: candidates.similarity.cosine),
    "meaning, relative": Feature(
        "meaning", "that cosine relative to the best", lambda candidates: relative_to_best(candidates.similarity.cosine)
    ),
    "meaning place": Feature("meaning", "rank by that cosine", lambda candidates: log_ranks(candidates.similarity.cosine), AGAINST),
    "file meaning": Feature(
        "meaning", "best such cosine in its file", lambda candidates: candidates.similarity.best_of(candidates.files), EITHER
    ),
    "container meaning": Feature(
        "meaning", "best such cosine in its container", lambda candidates: candidates.similarity.best_of(candidates.containers), EITHER
    ),
    "similar name": Feature(
        "meaning", "words of its name are similar to words of the task", lambda candidates: candidates.similarity.name_words
    ),
    "similar name, relative": Feature(
        "meaning", "that similarity relative to the best", lambda candidates: relative_to_best(candidates.similarity.name_words)
    ),
    "similar task": Feature(
        "meaning", "words of the task are similar to words of its name", lambda candidates: candidates.similarity.task_words
    ),
    "container central": Feature("family", "its type stands for a concept of the task", lambda candidates: candidates.container_centrality, EITHER),
    "file central": Feature("family", "a type of its file stands for a concept of the task", lambda candidates: candidates.file_centrality, EITHER),
    "walk": Feature("graph", "visit probability of the graph walk", lambda candidates: candidates.log_share(candidates.ranking.walk.visits)),
    "walk place": Feature("graph", "rank by the graph walk", lambda candidates: candidates.log_rank(candidates.ranking.walk.visits), AGAINST),
    "calls results": Feature("graph", "calls other results", lambda candidates: candidates.calls_candidates),
    "used": Feature("use", "in-degree", lambda candidates: candidates.degree(backwards=True), EITHER),
    "authority": Feature("use", "uses, relative to the most used", lambda candidates: candidates.authority, EITHER),
    "uses": Feature("graph", "out-degree", lambda candidates: candidates.degree(backwards=False), EITHER),
    "container words": Feature(
        "family", "lexical score of its container", lambda candidates: candidates.share_of_parent(candidates.ranking.factors["lexical"])
    ),
    "container terms": Feature("family", "task terms in its container and siblings", lambda candidates: candidates.groups.container.coverage, EITHER),
    "family terms": Feature("family", "task terms in itself and its members", lambda candidates: candidates.groups.family.coverage),
    "best member": Feature("family", "score of its best member", lambda candidates: candidates.best_member),
    "siblings": Feature("family", "candidates with the same container", lambda candidates: candidates.siblings, EITHER),
    "place in container": Feature("family", "rank within its container", lambda candidates: candidates.rank_within(candidates.parents), AGAINST),
    "file best": Feature("family", "best score in its file", lambda candidates: candidates.group_best(candidates.files)),
    "file mass": Feature("family", "sum of scores in its file", lambda candidates: candidates.group_mass(candidates.files), EITHER),
    "file count": Feature("family", "candidates in its file", lambda candidates: candidates.group_count(candidates.files), EITHER),
    "file terms": Feature("family", "task terms in its file", lambda candidates: candidates.groups.file.coverage, EITHER),
    "file name": Feature("family", "share of its file's name in the task", lambda candidates: candidates.stem_precision, EITHER),
    "file lexical": Feature("family", "lexical score of its file", lambda candidates: candidates.groups.file.lexical, EITHER),
    "folder lexical": Feature("family", "lexical score of its folder", lambda candidates: candidates.groups.folder.lexical, EITHER),
    "container lexical": Feature("family", "lexical score of container and siblings", lambda candidates: candidates.groups.container.lexical, EITHER),
    "own file": Feature("itself", "its file has its name", lambda candidates: candidates.own_file, EITHER),
    "works on central": Feature("graph", "uses a type that stands for a concept of the task", lambda candidates: candidates.works_on_central, EITHER),
    "linked": Feature("graph", "other results use it or are used by it", lambda candidates: candidates.linked_results, EITHER),
    "tested": Feature("graph", "matching tests use it", lambda candidates: candidates.tested, EITHER),
    "place in file": Feature("family", "rank within its file", lambda candidates: candidates.rank_within(candidates.files), AGAINST),
    "place in folder": Feature("family", "rank within its folder", lambda candidates: candidates.rank_within(candidates.folders), AGAINST),
    "changes": Feature("history", "number of changes of its file", lambda candidates: candidates.changes, EITHER),
    "age": Feature("history", "days since its file changed", lambda candidates: candidates.age, EITHER),
    "test": Feature("itself", "test code, and the task is not about tests", lambda candidates: np.log(candidates.factor("tests"))),
    "type": Feature("itself", "is a type", lambda candidates: candidates.is_kind(TYPE_KINDS), EITHER),
    "callable": Feature("itself", "is callable", lambda candidates: candidates.is_kind(CALLABLE_KINDS), EITHER),
    "value": Feature("itself", "is a field, variable or constant", lambda candidates: candidates.is_kind(DATA_KINDS), EITHER),
    "space": Feature("itself", "is a namespace or module", lambda candidates: candidates.is_kind(SPACE_KINDS), EITHER),
    "constructor": Feature("itself", "is a constructor", lambda candidates: candidates.is_kind(frozenset({"constructor"})), EITHER),
    "support": Feature("itself", "in a folder of examples, scripts, migrations or the like", lambda candidates: candidates.support_path, EITHER),
    "language": Feature("itself", "share of its language in the repository", lambda candidates: candidates.language_share, EITHER),
    "lines": Feature("itself", "number of lines", lambda candidates: candidates.lines, EITHER),
    "depth": Feature("itself", "nesting depth", lambda candidates: candidates.depth, EITHER),
    "body": Feature("itself", "length of its body", lambda candidates: candidates.length(IDENTIFIERS), EITHER),
    "doc": Feature("itself", "length of its documentation", lambda candidates: candidates.length(DOC), EITHER),
    "repository size": Feature("itself", "size of the repository", lambda candidates: candidates.size, EITHER),
    "task length": Feature("itself", "length of the task", lambda candidates: candidates.task_length, EITHER),
    **{signal.name: _of_signal(signal) for signal in SIGNALS if signal.is_feature},
}  # fmt: skip


def matrix(candidates: Candidates, names: Sequence[str]) -> Floats:
    """Return the feature matrix: a row per candidate, a column per feature."""
    columns = [np.asarray(FEATURES[name].of(candidates), np.float64) for name in names]
    return np.stack(columns, axis=1) if columns else np.zeros((len(candidates.numbers), 0))
