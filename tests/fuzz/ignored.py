"""Trials of ignore files: all that patterns may have, mutated files, and lengths up to and above the limits."""

from __future__ import annotations

import random
from pathlib import Path

from fuzz import corpus
from fuzz.mutate import mutate
from fuzz.trials import DONE, Step, Trial
from support.ignore_files import ignore_file, paths

_PLACES = (".gitignore", ".assayignore", "docs/.gitignore")  # outside git, all of them are read
_LENGTHS = (2_000, 20_000, 99_999, 100_001)
_PATTERNS = (
    "src/generated/module_{0}/**/build-*.log", "gen_{0}.py", "*.ext{0}", "*part{0}*", "/docs/b*{0}.py", "**/a/mod_{0}/*.o", "!docs/{0}/",
    "a*b*[{0}]?*d", "**/{0}/**/x/**", "*[!{0}]*",
)  # fmt: skip


def ignored(name: str, choice: random.Random, scratch: Path, count: int, without: frozenset[str]) -> Trial:
    """Ignore files, each in a folder of its own."""
    mutants, others, steps = dict[str, bytes](), dict[str, bytes](), list[Step]()
    for number in range(max(1, count // 50)):
        names = ("shop.py", "docs/a/draft1.md", *(f"docs/{path}.py" for path in paths(choice, 5) if path.isprintable()))
        others |= {f"{number}/{path}": b"def total(basket):\n    return 1\n" for path in names}
        mutants[f"{number}/{choice.choice(_PLACES)}"] = _rules(choice)
        steps.append(Step(("index", "--root", str(number)), DONE))
    return Trial(name, mutants, tuple(steps), others=others)


def _rules(choice: random.Random) -> bytes:
    what = choice.random()
    if what < 0.4:
        return ignore_file(choice, 100)
    if what < 0.7:
        return mutate(corpus.RULES, choice.choice(corpus.sources()).data, choice)
    patterns = choice.sample(_PATTERNS, choice.randint(1, 3))
    return "".join(f"{patterns[n % len(patterns)].format(n)}\n" for n in range(choice.choice(_LENGTHS))).encode()
