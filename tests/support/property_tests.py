"""Hypothesis profiles: fixed examples in the suite, random ones in `make fuzz`.

Importing this module registers the profiles and loads `suite`. `--hypothesis-profile fuzz --hypothesis-seed N` draws others.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

FACTOR = int(os.environ.get("FUZZ_FACTOR", "20"))  # examples of a fuzzing run for each of the suite's
_UNHURRIED = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}

# the suite draws the same examples every time, so a few that differ are worth as much as many: finding new ones is the work of `make fuzz`
_SHARE = 3

settings.register_profile("suite", derandomize=True, max_examples=100 // _SHARE, **_UNHURRIED)  # type: ignore[arg-type]
settings.register_profile("fuzz", derandomize=False, max_examples=100 * FACTOR, print_blob=True, **_UNHURRIED)  # type: ignore[arg-type]
settings.load_profile("suite")


def examples(count: int) -> int:
    """Return how many examples to draw of a law that deserves `count`: a share of them in the suite, a multiple when fuzzing."""
    return count * FACTOR if settings.get_current_profile_name() == "fuzz" else max(count // _SHARE, min(count, 8))
