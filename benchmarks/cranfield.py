"""Cranfield (1,400 abstracts, 225 questions, graded) through `assay search`, beside bm25s on the same terms where it is installed.

python benchmarks/cranfield.py FOLDER [--chunker structure:512]      # FOLDER: cran.all.1400, cran.qry and QRelsCorrectedforTRECeval
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from pathlib import Path

import numpy as np

import assay
from assay.evaluate.metrics.dicts import evaluate
from assay.retrieve.lexical import query_terms
from assay.text.terms import terms

K = 10
MEASURES = (f"nDCG@{K}", f"R@{K}", f"RR@{K}")


def read(folder: Path) -> tuple[dict[str, tuple[str, str]], dict[str, str], dict[str, dict[str, int]]]:
    """Documents (title, text), questions and judgements. Questions are numbered by position, as the judgements number them."""
    documents = {}
    for record in _records(folder / "cran.all.1400"):
        number = record.partition("\n")[0].strip()
        title = " ".join(_part(record, "T", "A").split())
        text = _part(record, "W", "")
        documents[number] = (title, text[_end_of(title, text) :])
    questions = {str(n): _part(record, "W", "") for n, record in enumerate(_records(folder / "cran.qry"), 1)}
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
    """Where the title, which every abstract repeats, ends in it."""
    found = re.match(r"\s*" + r"\s+".join(map(re.escape, title.split())), text) if title else None
    return found.end() if found else 0


def ours(documents: dict[str, tuple[str, str]], questions: dict[str, str], chunker: str) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        for number, (title, text) in documents.items():
            (Path(folder) / f"{number}.md").write_text(f"# {title}\n\n{text.strip()}\n")
        with assay.open(folder, index=True) as repo:
            repo.searcher(chunker)
            started = time.perf_counter()
            runs = {}
            for number, text in questions.items():
                ranked: dict[str, float] = {}
                for one in repo.search(" ".join(text.split()), 10 * K, chunker=chunker):
                    ranked.setdefault(Path(one.path).stem, one.score)
                runs[number] = dict(list(ranked.items())[:K])
            print(f"{1000 * (time.perf_counter() - started) / len(questions):.1f} ms a question")
    return runs


def theirs(documents: dict[str, tuple[str, str]], questions: dict[str, str]) -> dict[str, dict[str, float]] | None:
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
        asked = [term for term in query_terms(" ".join(text.split()), 1) if term in known]
        scores = retriever.get_scores(asked)
        runs[number] = {ids[n]: float(scores[n]) for n in np.argsort(-scores, kind="stable")[:K]}
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--chunker", default="structure:512")
    given = parser.parse_args()
    documents, questions, judged = read(given.folder)
    for name, runs in (("assay", ours(documents, questions, given.chunker)), ("bm25s", theirs(documents, questions))):
        if runs is not None:
            values = evaluate(judged, runs, MEASURES)
            print(name, {measure: round(sum(found.values()) / len(found), 4) for measure, found in values.items()})


if __name__ == "__main__":
    main()
