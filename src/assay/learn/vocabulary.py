"""Learned vocabulary: which words of tasks led to which symbols. Words that everybody uses for everything teach nothing."""

from __future__ import annotations

import re
from functools import cache

from assay.text.identifiers import words
from assay.text.stems import stem

OFTEN_ENOUGH, SURE = 2, 10  # a word and a symbol that met once may be chance; from ten times on more is no surer
LEAST_WEIGHT, MOST_WEIGHT = 0.3, 0.8
KEPT_WORDS = 30  # of one task: a pasted log is not its vocabulary
_READ = 20_000  # characters of a task
_SHORTEST, _LONGEST = 3, 40  # letters; shorter words are everyday ones, but not where a letter is a syllable or a word

_WORD = re.compile(r"\w+")

# English, what tasks ask for, and what every program has; other forms of these words are left out with them
_EVERYDAY = """
about above across after again against all also although always and another any anything are around because become been before being below
between both but can cannot could currently did does doing done down during each either else even ever every everything for from further get
give given goes had has have having her here him his how however instead into its itself just least less let like made main make many may maybe
might more most much must near need neither never nor not nothing now off often once one only onto other otherwise our out over own per
perhaps please possible proper rather really same see seem several shall she should since some something still such take taken than that the
their them themselves then there these they thing this those though through thus together too toward two under unless until upon use useful
user usual very via want was way well were what whatever when where whether which while who whole whose why will with within without would yet
you your
add adjust allow build call change check clean correct create enable enhance ensure exist expect explain extend find fix handle help implement
improve include introduce investigate know look modify move new old provide put refactor remove rename replace return rewrite run say set show
simplify start stop support tell understand update work write wrong
app application argument behavior behaviour bug case class code data default error example feature field file function important info int
issue item kind library line list logic method missing module name null number object option part place problem program project result self
simple small string system task test text time todo tool true false type value variable version
"""


def keywords(task: str) -> dict[str, str]:
    """The words of a task that may teach something, by their stems, as they were written but for capitals."""
    found: dict[str, str] = {}
    for identifier in _WORD.findall(task[:_READ]):
        for word in words(identifier):
            if _is_telling(word):
                found.setdefault(stem(word), word)
    return dict(list(found.items())[:KEPT_WORDS])


def confidence(count: int) -> float:
    """The weight in the fusion of a word and a symbol that met so often: 0.3 for twice, 0.8 from ten times on."""
    sure = (min(count, SURE) - OFTEN_ENOUGH) / (SURE - OFTEN_ENOUGH)
    return LEAST_WEIGHT + (MOST_WEIGHT - LEAST_WEIGHT) * sure


def _is_telling(word: str) -> bool:
    long_enough = len(word) >= _SHORTEST or not word.isascii()
    return long_enough and len(word) <= _LONGEST and not word.isdecimal() and stem(word) not in _everyday_stems()


@cache
def _everyday_stems() -> frozenset[str]:
    return frozenset(map(stem, _EVERYDAY.split()))
