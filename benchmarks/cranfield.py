"""Cranfield (1,400 abstracts, 225 graded queries) with `assay search`, compared with bm25s if it is installed.

    python benchmarks/cranfield.py FOLDER [--chunker structure:512] [--embedder SPEC …] [--reranker SPEC …]

FOLDER holds cran.all.1400, cran.qry and QRelsCorrectedforTRECeval. Prints markdown: each embedder alone, with the words by reciprocal rank fusion
(k 60) and as `search` blends them, then each reranker. Differences from our lexical ranking have 95 % intervals and the p of a randomisation test.

In the original judgements (cranqrel) a document is marked -1 once for each question. It is the one the question was asked about, not one of no
interest: BM25 has it at rank 2 in the median, those marked as complete answers at 10. The corrected file gives it the highest grade.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from pathlib import Path

import numpy as np

import assay
from assay.api import Repository
from assay.config.configuration import SearchSettings
from assay.evaluate.metrics import evaluate
from assay.evaluate.statistics import paired
from assay.rank.signals.fusion import Channel, fused_scores
from assay.search.search import question_terms
from assay.search.service import prepare
from assay.text.terms import terms

DEPTH = 100
MAIN = "nDCG@10"
MEASURES = (MAIN, "R@10", "R@100", "RR@10")

Run = dict[str, dict[str, float]]


def read(folder: Path) -> tuple[dict[str, tuple[str, str]], dict[str, str], dict[str, dict[str, int]]]:
    """Documents (title, text), questions and judgements. Questions are numbered by position, as the judgements number them."""
    documents = {}
    for record in _records(folder / "cran.all.1400"):
        number = record.partition("\n")[0].strip()
        title = " ".join(_part(record, "T", "A").split())
        text = _part(record, "W", "")
        documents[number] = (title, text[_end_of(title, text) :])
    questions = {
        str(n): " ".join(_part(record, "W", "").split()) for n, record in enumerate(_records(folder / "cran.qry"), 1)
    }
    judged: dict[str, dict[str, int]] = {}
    for line in (folder / "QRelsCorrectedforTRECeval").read_text().splitlines():
        question, _, document, grade = line.split()
        judged.setdefault(question, {})[document] = int(grade)
    return documents, questions, judged


def _records(path: Path) -> list[str]:
    return re.split(r"(?m)^\.I ", path.read_text(errors="replace"))[1:]


def _part(record: str, begin: str, end: str) -> str:
    found = re.search(rf"(?ms)^\.{begin}\n(.*?)" + (rf"^\.{end}" if end else r"\Z"), record)
    return found[1] if found else ""


def _end_of(title: str, text: str) -> int:
    """Return the end of the title that every abstract repeats."""
    found = re.match(r"\s*" + r"\s+".join(map(re.escape, title.split())), text) if title else None
    return found.end() if found else 0


def ours(repo: Repository, questions: dict[str, str], settings: SearchSettings) -> tuple[Run, float]:
    """The documents found for each question, and the milliseconds a question took."""
    searcher = prepare(repo.root, repo.home, repo.engine(), settings)
    searcher.ranked("warm")
    started = time.perf_counter()
    run = {}
    for number, text in questions.items():
        ranked: dict[str, float] = {}
        for one in searcher.ranked(text, 2 * DEPTH):
            ranked.setdefault(Path(one.path).stem, one.score)
        run[number] = {document: -float(rank) for rank, document in enumerate(list(ranked)[:DEPTH])}
    return run, 1000 * (time.perf_counter() - started) / len(questions)


def by_ranks(*runs: Run) -> Run:
    out = {}
    for question in runs[0]:
        names = sorted(set().union(*(run[question] for run in runs)))
        places = {name: place for place, name in enumerate(names)}
        channels = {str(n): Channel(1.0, [places[d] for d in run[question]]) for n, run in enumerate(runs)}
        fused = sorted(fused_scores(channels).items(), key=lambda item: (-item[1], item[0]))
        out[question] = {names[number]: score for number, score in fused[:DEPTH]}
    return out


def theirs(documents: dict[str, tuple[str, str]], questions: dict[str, str]) -> Run | None:
    try:
        import bm25s
    except ImportError:
        return None
    ids = list(documents)
    retriever = bm25s.BM25()
    retriever.index([terms(f"{title} {text}") for title, text in documents.values()], show_progress=False)
    known = retriever.vocab_dict
    runs = {}
    for number, text in questions.items():
        scores = retriever.get_scores([term for term in question_terms(text) if term in known])
        runs[number] = {ids[n]: float(scores[n]) for n in np.argsort(-scores, kind="stable")[:DEPTH]}
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--chunker", default=SearchSettings().chunker)
    parser.add_argument("--embedder", nargs="*", default=["lsa"])
    parser.add_argument("--reranker", nargs="*", default=["features"])
    given = parser.parse_args()
    documents, questions, judged = read(given.folder)
    lexical = SearchSettings(chunker=given.chunker, embedder="none", reranker="none")

    def values(run: Run) -> dict[str, np.ndarray]:
        found = evaluate(judged, run, MEASURES)
        return {measure: np.array([found[measure][question] for question in questions]) for measure in MEASURES}

    def show(name: str, run: Run, spent: float = 0.0) -> None:
        told = values(run)
        against = paired(base[MAIN], told[MAIN])
        means = " | ".join(f"{told[measure].mean():.4f}" for measure in MEASURES)
        interval = f"{against.interval.low:+.3f} … {against.interval.high:+.3f}"
        took = f"{spent:.1f}" if spent else ""
        print(f"| {name} | {means} | {against.delta:+.4f} | {interval} | {against.p:.4f} | {took} |", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        for number, (title, text) in documents.items():
            (Path(folder) / f"{number}.md").write_text(f"# {title}\n\n{text.strip()}\n")
        with assay.open(folder, index=True) as repo:
            words, spent = ours(repo, questions, lexical)
            base = values(words)
            print(f"| system | {' | '.join(MEASURES)} | {MAIN} − lexical | 95 % interval | p | ms |")
            print("|---" * (len(MEASURES) + 5) + "|")
            rival = theirs(documents, questions)
            if rival is not None:
                show("bm25s, same terms", rival)
            show("lexical", words, spent)
            for one in given.reranker:
                show(f"lexical, {one}", *ours(repo, questions, lexical.but(reranker=one)))
            for spec in given.embedder:
                label = spec.rpartition("/")[2]
                hybrid = lexical.but(embedder=spec)
                alone, _ = ours(repo, questions, hybrid.but(vectors=1.0))
                show(f"{label} alone", alone)
                show(f"lexical + {label}, by ranks", by_ranks(words, alone))
                show(f"lexical + {label}", *ours(repo, questions, hybrid))
                for one in given.reranker:
                    show(f"lexical + {label}, {one}", *ours(repo, questions, hybrid.but(reranker=one)))


if __name__ == "__main__":
    main()
