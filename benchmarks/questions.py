"""Score `assay search` and `assay ask` on the questions of eval/search, by repository and over all.

    python benchmarks/questions.py --corpora CLONES --indexes FOLDER --split train
    python benchmarks/questions.py --corpora CLONES --indexes FOLDER --split test --look "why this look"

CLONES/NAME is a clone at the commit of eval/search/corpora.yaml, FOLDER/NAME receives its index. Looks at the test split are
logged in EXPERIMENTS.md. Figures:

- navigation: nDCG@10 of files (each file counts at its best hit) of `search`, and of `context` grouped by file;
- documentation, code and documents indexed together: right file among the first five hits that are documents or code (file S@5),
  a hit among the first five that contains the required phrases (passage S@5), printed excerpts contain them (said), outcomes of
  answerable questions (answered, closest) and of those to refuse (refused; near misses apart; with documents alone);
- the risk-coverage curve: how many questions are answered at each selective accuracy (of the replies printed as an answer, the
  share that contains what it must; a question to refuse never does), and at the shipped threshold.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar, cast

import numpy as np
import yaml
from tasks import log_look

from assay.api import Repository
from assay.config.configuration import AskSettings
from assay.core.golden import Expected, GoldenQuery
from assay.evaluate.golden import load
from assay.evaluate.judging import says

ROOT = Path(__file__).parent.parent
SETS = ROOT / "eval/search"
K = 10
DEPTH = 50  # hits grouped by file
RESAMPLES = 10_000
SPLITS = ("train", "test", "test-1", "test-2", "test-3", "test-4")

Row = dict[str, float]


@dataclass(frozen=True)
class Corpus:
    """A repository with its navigation queries and documentation questions."""

    name: str
    root: Path
    index: Path
    is_natural: bool = False  # labelled by LABELLING-NATURAL.md: the words that people type

    @cached_property
    def repository(self) -> Repository:
        repository = Repository(self.root, self.index)
        repository.refresh()
        return repository

    def queries(self, kind: str) -> Sequence[GoldenQuery]:
        return load(SETS / f"{self.name}-{kind}.jsonl").queries


def corpora(clones: Path, indexes: Path, split: str) -> list[Corpus]:
    """Return the repositories of a split, by name."""
    rows = yaml.safe_load((SETS / "corpora.yaml").read_text("utf-8"))["corpora"]
    chosen = sorted((row for row in rows if row["split"] == split), key=lambda row: str(row["name"]))
    return [
        Corpus(row["name"], (clones / row["name"]).resolve(), indexes / row["name"], row.get("style") == "natural")
        for row in chosen
    ]


T = TypeVar("T")


def cached(
    work: Path | None,
    corpus: Corpus,
    what: str,
    compute: Callable[[], T],
    inputs: Sequence[Path] = (),
    without: Sequence[str] = (),
) -> T:
    """Return what was computed for a corpus, from the folder `work` if code, questions and `inputs` are as they were.

    `without` names packages of assay whose code does not count.
    """
    if work is None:
        return compute()
    digest = blake2b(digest_size=8)
    package = ROOT / "src/assay"
    code = (path for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in without)
    for path in sorted([*code, *SETS.glob(f"{corpus.name}-*.jsonl"), *inputs]):
        digest.update(path.read_bytes())
    target = work / f"{corpus.name}-{what}-{digest.hexdigest()}.pickle"
    if target.exists():
        return cast("T", pickle.loads(target.read_bytes()))
    for old in work.glob(f"{corpus.name}-{what}-*.pickle"):
        old.unlink()
    work.mkdir(parents=True, exist_ok=True)
    value = compute()
    target.write_bytes(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
    return value


# Navigation


def file_ndcg(paths: Sequence[str], query: GoldenQuery) -> float:
    """Return nDCG@10 of files in order of their first hit; the gain is the grade."""
    grades = {expected.name: expected.grade or 1 for expected in query.at("file")}
    files = list(dict.fromkeys(paths))[:K]
    gain = sum(grades.get(path, 0) / math.log2(2 + rank) for rank, path in enumerate(files))
    ideal = sum(grade / math.log2(2 + rank) for rank, grade in enumerate(sorted(grades.values(), reverse=True)[:K]))
    return gain / ideal


def search_files(repository: Repository, text: str) -> list[str]:
    return [hit.path for hit in repository.search(text, DEPTH)]


def context_files(repository: Repository, text: str) -> list[str]:
    return [ranked.item.path for ranked in repository.rank(text, DEPTH)]


def navigation(corpus: Corpus) -> Iterator[tuple[GoldenQuery, Row]]:
    for query in corpus.queries("navigation"):
        systems: Mapping[str, Callable[[Repository, str], list[str]]] = {
            "search nDCG": search_files,
            "context nDCG": context_files,
        }
        yield (
            query,
            {name: file_ndcg(files(corpus.repository, query.text), query) for name, files in systems.items()},
        )


# Documentation


def contains(text: str, phrases: Sequence[str]) -> bool:
    """Return whether a text has all phrases."""
    return all(says(text, phrase) for phrase in phrases)


def documentation(corpus: Corpus) -> Iterator[tuple[GoldenQuery, Row]]:
    settings = corpus.repository.configuration.ask
    for query in corpus.queries("documentation"):
        reply = corpus.repository.ask(query.text, threshold=0.0)  # with what would be printed, whatever the outcome
        alone = corpus.repository.ask(query.text, code=False)
        answered = reply.confidence >= settings.threshold
        refused = not reply.sources or reply.confidence < settings.refuse_below
        right = not query.refuse and contains(reply.text, query.must_contain)
        selective = {"confidence": reply.confidence, "right": right}
        if query.refuse:
            kind = "near" if "near-miss" in query.tags else "foreign"
            yield (
                query,
                {
                    "refused": refused,
                    f"{kind} refused": refused,
                    f"{kind} answered": answered,
                    "not answered": not answered,
                    "refused, documents alone": alone.outcome == "refused",
                    **selective,
                },
            )
            continue
        hits = corpus.repository.search(query.text, 5)
        files = {expected.name for expected in query.at("file")}
        yield (
            query,
            {
                "file S@5": any(hit.path in files for hit in hits),
                "passage S@5": any(contains(hit.text, query.must_contain) for hit in hits),
                "said": not refused and right,
                "said, documents alone": alone.outcome != "refused" and contains(alone.text, query.must_contain),
                "answered": answered,
                "closest": not answered and not refused,
                "characters": len(reply.text),
                **selective,
            },
        )


# Selective accuracy

SELECTIVE = ("confidence", "right")  # of a row: figures of the curve, not of the table
LEVELS = (0.70, 0.75, 0.80, 0.85, 0.90)
LEAST = 10  # replies; a share of fewer says nothing


@dataclass(frozen=True)
class Outcome:
    """A question, the confidence of its reply, and whether what would be printed contains what it must."""

    query: GoldenQuery
    confidence: float
    right: bool

    @property
    def kind(self) -> str:
        return "to answer" if not self.query.refuse else "near miss" if "near-miss" in self.query.tags else "foreign"


def risk_coverage(outcomes: Sequence[Outcome], thresholds: Sequence[float] = ()) -> list[str]:
    """Return a table: the lowest threshold at which each selective accuracy is reached, and what is answered there."""
    ordered = sorted(outcomes, key=lambda each: -each.confidence)
    accuracy = np.cumsum([each.right for each in ordered]) / np.arange(1, len(ordered) + 1)
    lines = [
        "| selective accuracy | threshold | answered | of those to answer | near misses | foreign |",
        "|---|---|---|---|---|---|",
    ]
    for level in LEVELS:
        reached = [place for place in range(LEAST - 1, len(ordered)) if accuracy[place] >= level]
        if reached:
            lines.append(_point(f"{level:.2f}", outcomes, ordered[reached[-1]].confidence))
        else:
            lines.append(f"| {level:.2f} | – | – | – | – | – |")
    return lines + [_point("as shipped", outcomes, threshold) for threshold in thresholds]


def _point(label: str, outcomes: Sequence[Outcome], threshold: float) -> str:
    """Return the row of a threshold; accuracy with its Wilson interval."""
    answered = [each for each in outcomes if each.confidence >= threshold]
    share = {
        kind: np.mean([float(each in answered) for each in outcomes if each.kind == kind] or [0.0])
        for kind in ("to answer", "near miss", "foreign")
    }
    low, high = wilson(sum(each.right for each in answered), len(answered))
    accuracy = np.mean([float(each.right) for each in answered] or [0.0])
    return (
        f"| {label}: {accuracy:.3f} ({low:.2f} to {high:.2f}) | {threshold:.2f} | {len(answered)} of {len(outcomes)}, "
        f"{len(answered) / len(outcomes):.3f} | {share['to answer']:.3f} | {share['near miss']:.3f} | {share['foreign']:.3f} |"
    )


def wilson(right: int, count: int, z: float = 1.96) -> tuple[float, float]:
    """Return the 95 % interval of a share."""
    if not count:
        return 0.0, 1.0
    share, spread = right / count, z * z / count
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + spread)
    return middle - half, middle + half


# Agreement of two labellers


def agreement() -> list[str]:
    """Return the lines of a table: the second labelling scored against the first, over all repositories."""
    first_files, ndcg, spans, refusals = list[float](), list[float](), list[float](), list[float]()
    for path in sorted((SETS / "second").glob("*.jsonl")):
        original = {query.id: query for query in load(SETS / path.name).queries}
        for second in load(path).queries:
            query = original[second.id]
            if path.stem.endswith("navigation"):
                graded = sorted(second.at("file"), key=lambda expected: -(expected.grade or 1))
                ndcg.append(file_ndcg([expected.name for expected in graded], query))
                first_files.append(float(graded[0].name in {expected.name for expected in query.at("file")}))
                continue
            refusals.append(float(query.refuse == second.refuse))
            if not query.refuse and not second.refuse:
                pairs = [(one, other) for one in query.at("span") for other in second.at("span")]
                spans.append(float(any(one.name == other.name and overlap(one, other) for one, other in pairs)))
    figures = {
        "file nDCG@10": ndcg,
        "first file expected": first_files,
        "spans overlap": spans,
        "same decision to refuse": refusals,
    }
    return ["| agreement | share | questions |", "|---|---|---|"] + [
        f"| {name} | {np.mean(values):.3f} | {len(values)} |" for name, values in figures.items()
    ]


def overlap(one: Expected, other: Expected) -> bool:
    return one.start <= other.end and other.start <= one.end


# Tables


def interval(values: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the 95 % interval of the mean over repositories (bootstrap over repositories, then queries)."""
    chance = np.random.default_rng(0)
    means = []
    for _ in range(RESAMPLES // 10):
        chosen = chance.integers(len(values), size=len(values))
        means.append(np.mean([np.mean(chance.choice(values[at], len(values[at]))) for at in chosen]))
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def table(results: Mapping[str, Sequence[Row]]) -> list[str]:
    """Return a Markdown table: a row per repository, then the mean over repositories with its interval."""
    names = list(dict.fromkeys(name for rows in results.values() for row in rows for name in row))
    names = [name for name in names if name not in SELECTIVE]
    values = {
        name: {corpus: [row[name] for row in rows if name in row] for corpus, rows in results.items()} for name in names
    }
    lines = [f"| | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    lines += [
        f"| {corpus} | {' | '.join(f'{np.mean(values[name][corpus]):.3f}' for name in names)} |" for corpus in results
    ]
    means = [np.mean([np.mean(values[name][corpus]) for corpus in results]) for name in names]
    lines.append(f"| **all** | {' | '.join(f'{mean:.3f}' for mean in means)} |")
    intervals = [interval([values[name][corpus] for corpus in results]) for name in names]
    lines.append(f"| 95 % | {' | '.join(f'{low:.2f} to {high:.2f}' for low, high in intervals)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agreement", action="store_true", help="only print the agreement of the two labellings")
    parser.add_argument("--corpora", type=Path, default=Path("corpora"), help="folder of clones")
    parser.add_argument("--indexes", type=Path, default=Path("indexes"), help="folder of indexes")
    parser.add_argument("--split", nargs="+", choices=SPLITS, default=["train"], help="one or more splits")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="some repositories")
    parser.add_argument("--set", choices=("navigation", "documentation"), help="one of the two sets")
    parser.add_argument("--look", default="", help="reason of a look at the test split, for the log")
    parser.add_argument("--json", type=Path, help="write the figures of every query here")
    given = parser.parse_args()
    if given.agreement:
        print("\n".join(agreement()))
        return
    if given.split != ["train"] and not given.look:
        parser.error("a test split needs --look REASON: every look is logged")
    wanted = [corpus for split in given.split for corpus in corpora(given.corpora, given.indexes, split)]
    chosen = [corpus for corpus in wanted if corpus.root.exists() and (not given.only or corpus.name in given.only)]
    if absent := [corpus.name for corpus in wanted if not corpus.root.exists()]:
        print(f"no clone, left out: {', '.join(absent)}\n")
    lines: list[str] = []
    details = []
    for kind, scored in (("navigation", navigation), ("documentation", documentation)):
        if given.set in (None, kind):
            results = {corpus.name: list(scored(corpus)) for corpus in chosen}
            block = table({name: [row for _, row in rows] for name, rows in results.items()})
            if kind == "documentation":
                pairs = [pair for rows in results.values() for pair in rows]
                outcomes = [Outcome(query, row["confidence"], bool(row["right"])) for query, row in pairs]
                block += ["", *risk_coverage(outcomes, [AskSettings().threshold])]
            if given.look:
                log_look(f"{kind}: {given.look}", block)
            lines += [*block, ""]
            details += [
                {"id": query.id, "question": query.text, **row} for rows in results.values() for query, row in rows
            ]
    print("\n".join(lines))
    if given.json:
        given.json.write_text(json.dumps(details, indent=1), "utf-8")


if __name__ == "__main__":
    main()
