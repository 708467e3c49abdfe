"""The fuzzer: it covers every kind, is reproducible by seed, and finds planted bugs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fuzz import corpus, running, trials
from fuzz.mutate import MOST_BYTES, MUTATIONS, mutate
from fuzz.running import Failure
from fuzz.trials import Step, Trial
from support import warm_process


@pytest.mark.parametrize("kind", trials.KINDS)
def test_a_small_trial_of_every_kind_passes(kind: str, tmp_path: Path) -> None:
    few = frozenset(
        seed.suffix for seed in corpus.sources() if seed.suffix not in {".py", ".go"}
    )  # no queries to compile
    made = trials.trial(5, 0, tmp_path, 6, (kind,), few)
    assert made.mutants
    outcome = running.run(made)
    assert outcome.failure is None
    assert outcome.commands == len(made.steps)
    assert outcome.peak > 10_000_000


def test_the_same_seed_gives_the_same_trials(tmp_path: Path) -> None:
    kinds = ("repository", "golden", "settings")
    for number in range(3):
        made, again, other = (trials.trial(seed, number, tmp_path, 40, kinds, frozenset()) for seed in (7, 7, 8))
        assert made == again
        assert made.mutants != other.mutants


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_a_mutation_takes_any_bytes(mutation: object) -> None:
    for number, data in enumerate((b"", b"x", b"\n", b"\xff\x00", b"def f(a):\n    return a\n" * 20)):
        assert isinstance(mutation(data, b"other text", random.Random(number)), bytes)  # type: ignore[operator]
    assert len(mutate(b"x" * 2 * MOST_BYTES, b"", random.Random(1))) <= MOST_BYTES


def test_every_language_and_format_has_something_to_mutate() -> None:
    from assay.languages import LANGUAGES

    suffixes = {seed.suffix for seed in corpus.sources()}
    assert all(suffixes & set(language.extensions) for language in LANGUAGES)
    assert {name for name, _ in corpus.golden_files()} >= {"fixtures", "golden", "queries", "beir", "pairs", "trec"}


def test_every_reader_of_project_files_has_something_to_mutate() -> None:
    from assay.index.enrich.deployments import readers as deployments
    from assay.index.enrich.manifests import readers as manifests

    paths = [path for path, _ in corpus.project_files()]
    missing = [p.pattern for p in (*manifests(), *deployments()) if not any(p.fullmatch(path) for path in paths)]
    assert missing == []


@pytest.mark.parametrize(
    ("ended", "what"),
    [
        (warm_process.Ended(0, b"fine", b"", 1), ""),
        (warm_process.Ended(1, b"", b"Traceback (most recent call last):\n", 1), "traceback"),
        (warm_process.Ended(-11, b"", b"", 1), "exit code -11"),
        (warm_process.Ended(-24, b"", b"", 1), "hang"),
        (warm_process.Ended(0, b"", b"", 2_000_000_000), "2,000 MB"),
        (warm_process.Ended(0, b"a\x1b[31m", b"", 1), "raw control characters"),
    ],
)
def test_what_is_wrong_is_named(ended: warm_process.Ended, what: str) -> None:
    assert running.judge(ended, trials.DONE) == what


def test_a_failure_is_reduced_to_its_file_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(trial: Trial, limits: object = None) -> running.Outcome:
        failure = Failure("traceback", ("index",), "") if "b/7.py" in trial.mutants else None
        return running.Outcome(1, 1, 0.1, failure)

    monkeypatch.setattr(running, "run", fails)
    made = Trial("repository-0", {f"b/{n}.py": b"x = 1\n" for n in range(20)}, (Step(("index",)), Step(("status",))))
    failure = Failure("traceback", ("index",), "it said this")
    smaller = running.reduce(made, failure)
    assert list(smaller.mutants) == ["b/7.py"]
    assert smaller.steps == (Step(("index",)),)
    place = running.keep(smaller, failure, tmp_path / "findings", "make fuzz SEED=1")
    assert (place / "repository/b/7.py").read_bytes() == b"x = 1\n"
    assert "make fuzz SEED=1" in (place / "failure.txt").read_text()
