"""Train the table of word vectors that ships with assay (src/assay/store/words.npz).

    python scripts/train_word_vectors.py --model FOLDER --clones FOLDER… [--phrases FILE…] --work FOLDER --out words.npz

A static embedding is distilled from a sentence encoder (in the manner of Model2Vec and tokenlearn): the unit sum of the vectors of a
text's words approximates the encoder's vector of the text. Steps, each kept in the work folder:

1. corpus: count the words of documents, comments and identifiers of all clones; sample phrases from them;
2. teacher: encode every word of the vocabulary alone, and every phrase;
3. fit: start from the words alone, weighted by smooth inverse frequency; fit to the phrases by gradient descent on the cosine;
4. write: 4 bits a dimension, one scale for each word.

The published table was distilled from all-MiniLM-L6-v2 (sentence-transformers, Apache-2.0; see NOTICE). Needs torch and transformers,
which assay itself does not.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.store.word_vectors import WordTable, tokens
from assay.text.terms import COMMON, pieces, stem, words

Rows = NDArray[np.float32]

SEED = 0

# Corpus

DOCUMENTS = frozenset({".md", ".mdx", ".rst", ".txt", ".adoc", ".markdown", ".rdoc"})
CODE = frozenset({".py", ".go", ".rs", ".js", ".ts", ".tsx", ".java", ".cs", ".rb", ".kt"})
SKIPPED_FOLDERS = frozenset(
    {".git", "node_modules", "vendor", "dist", "build", "fixtures", "testdata", "locale", "locales", "i18n"}
)
SKIPPED_NAMES = re.compile(
    r"licen[cs]e|copying|authors|contributors|changelog|changes|history|requirements|robots|\.min\.", re.IGNORECASE
)
LARGEST_FILE = 300_000
WORDS_OF_PHRASE = range(3, 31)
MIN_COMMON_SHARE = 0.12  # of stop words in a sentence: other languages, tables and code have fewer
PHRASES_OF_REPOSITORY = 6_000  # of each kind, before the final sample

_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_MARKUP = re.compile(r"<[^>\n]{1,200}>|\]\([^)\n]*\)|https?://\S+|:[a-z]+:(?=`)|[`*\[\]|#>]+")
_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+|\n\s*\n|\n(?=\s*[-*+\d])")
_COMMENT = re.compile(r'"""(.*?)"""|/\*+(.*?)\*/|((?:^[ \t]*(?://+|#+)(?!!)[^\n]*\n)+)', re.MULTILINE | re.DOTALL)
_COMMENT_SIGN = re.compile(r"^[ \t]*(?://+|#+|\*+)!?", re.MULTILINE)
_LEGAL = re.compile(r"copyright|licen[cs]e|warrant", re.IGNORECASE)  # the same in every file
_DEFINITION = re.compile(
    r"\b(?:def|class|func(?:\s*\([^)]*\))?|fn|function|struct|interface|trait|enum|module|type)\s+([A-Za-z_]\w{2,60})"
)


def files(clone: Path) -> Iterator[tuple[Path, str]]:
    """Yield the documents and code files of a clone with their texts, by path."""
    for path in sorted(clone.rglob("*")):
        inside = path.relative_to(clone)
        if (
            path.suffix not in DOCUMENTS | CODE
            or SKIPPED_FOLDERS.intersection(inside.parts)
            or SKIPPED_NAMES.search(path.name)
        ):
            continue
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST_FILE:
            yield inside, path.read_text("utf-8", "ignore")


def sentences(text: str) -> Iterator[str]:
    """Yield the English sentences of prose, of WORDS_OF_PHRASE words, without markup."""
    for part in _SENTENCE_END.split(_MARKUP.sub(" ", _FENCE.sub("\n\n", text))):
        sentence = " ".join(part.split())
        names = sentence.split()
        if len(names) not in WORDS_OF_PHRASE or not sentence.isascii():
            continue
        if sum(letter.isalpha() or letter == " " for letter in sentence) < 0.85 * len(sentence):
            continue
        common = sum(name.lower().strip(".,;:!?()") in COMMON for name in names)
        if common >= MIN_COMMON_SHARE * len(names) and not _LEGAL.search(sentence):
            yield sentence


def comments(text: str) -> str:
    """Return the comments and docstrings of code as prose."""
    found = ("\n".join(filter(None, match.groups())) for match in _COMMENT.finditer(text))
    return "\n\n".join(_COMMENT_SIGN.sub("", comment) for comment in found)


def name_phrases(path: Path, text: str) -> Iterator[str]:
    """Yield phrases of a code file: the words of its path with those of definitions."""
    place = " ".join(word for part in path.with_suffix("").parts[-2:] for word in words(part))
    names = list(dict.fromkeys(" ".join(words(name)) for name in _DEFINITION.findall(text)))
    yield from (f"{place} {name}" for name in names[:2])
    yield from (" ".join(names[first : first + 4]) for first in range(2, min(len(names), 10), 4))


def read_clones(clones: Sequence[Path], chance: random.Random) -> tuple[dict[str, tuple[int, int]], list[str]]:
    """Return words with their counts in texts and the number of clones that have them; and phrases."""
    counts: Counter[str] = Counter()
    clones_with: Counter[str] = Counter()
    phrases: list[str] = []
    for clone in clones:
        here: Counter[str] = Counter()
        kinds: dict[str, dict[str, None]] = defaultdict(dict)
        for path, text in files(clone):
            document = path.suffix in DOCUMENTS
            if not document:
                here.update(
                    word for piece in set(pieces(text)) for word in tokens(piece)
                )  # once a file: code repeats itself
                kinds["names"].update(dict.fromkeys(name_phrases(path, text)))
            prose = list(sentences(text if document else comments(text)))
            here.update(word for sentence in prose for piece in pieces(sentence) for word in tokens(piece))
            kinds["documents" if document else "comments"].update(dict.fromkeys(prose))
        for kind in sorted(kinds):
            found = list(kinds[kind])
            phrases += chance.sample(found, min(len(found), PHRASES_OF_REPOSITORY))
        counts.update(here)
        clones_with.update(here.keys())
        print(
            f"{clone.name}: {len(here):,} words, { ({kind: len(found) for kind, found in kinds.items()}) }", flush=True
        )
    return {word: (count, clones_with[word]) for word, count in counts.items()}, phrases


# Vocabulary

_PLAUSIBLE = re.compile(r"[a-z]{2,20}|[a-z]{1,6}\d{1,4}")
MIN_COUNT, MIN_CLONES = 4, 2
MIN_CLONES_OF_NUMBERED = 4  # words such as s3 and sha256; most others are test data


def vocabulary(counts: dict[str, tuple[int, int]], common_words: Iterable[str], size: int) -> list[str]:
    """Return the words of the table, most frequent first: those of several clones, then common English."""
    frequent = sorted(
        (
            word
            for word, (count, clones) in counts.items()
            if count >= MIN_COUNT
            and clones >= (MIN_CLONES if word.isalpha() else MIN_CLONES_OF_NUMBERED)
            and _PLAUSIBLE.fullmatch(word)
        ),
        key=lambda word: (-counts[word][0], word),
    )
    further = sorted(word for word in common_words if _PLAUSIBLE.fullmatch(word) and len(word) > 2)
    return list(dict.fromkeys([*frequent, *further]))[:size]


# Teacher


class Teacher:
    """A sentence encoder of a local folder: mean of the last layer, unit length."""

    def __init__(self, folder: Path, threads: int) -> None:
        import torch
        from transformers import AutoModel, AutoTokenizer

        torch.set_num_threads(threads)
        self._torch: Any = torch
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self._model: Any = AutoModel.from_pretrained(folder).eval()

    @property
    def whole_words(self) -> list[str]:
        """Words of the tokenizer's vocabulary that are not pieces."""
        return [word for word in self._tokenizer.get_vocab() if word.isascii() and word.isalpha()]

    def encode(self, texts: Sequence[str], batch: int = 64) -> Rows:
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))  # batches of like length
        rows = np.zeros((len(texts), self._model.config.hidden_size), np.float32)
        with self._torch.inference_mode():
            for first in range(0, len(order), batch):
                places = order[first : first + batch]
                encoded = self._tokenizer(
                    [texts[place] for place in places],
                    padding=True,
                    truncation=True,
                    max_length=64,
                    return_tensors="pt",
                )
                mask = encoded["attention_mask"][..., None].float()
                hidden = self._model(**encoded).last_hidden_state
                rows[places] = ((hidden * mask).sum(1) / mask.sum(1)).numpy()
                if first // batch % 50 == 0:
                    print(f"encoded {first:,} of {len(texts):,}", flush=True)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


# Fit

SMOOTHING = 1e-3  # of smooth inverse frequency; 1e-4 is worse on the development questions
EPOCHS, BATCH, RATE = 8, 256, 2e-3
RIDGE = 0.1  # 1 ranks alike; pull of a word towards its vector alone, against the phrases that have it
HELD_OUT = 0.05


class Lookup:
    """Rows of texts as the shipped embedder finds them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.row_of = {name: row for row, name in enumerate(names)}
        for name in names:  # most frequent first: the stem stands for the most frequent word that has it
            self.row_of.setdefault(stem(name), self.row_of[name])
        nothing = np.zeros(0, np.float16)
        self._table = WordTable(self.row_of, np.zeros((0, 0), np.uint8), nothing, np.zeros(16, np.float32), "")
        self._rows: dict[str, tuple[int, ...]] = {}

    def rows(self, text: str) -> list[int]:
        found: list[int] = []
        for piece in pieces(text):
            if piece not in self._rows:
                self._rows[piece] = self._table.find(piece)
            found += self._rows[piece]
        return found


def project(alone: Rows, phrases: Rows, dimensions: int) -> tuple[Rows, Rows]:
    """Return both in the first principal components of the phrases, each centred."""
    centred = phrases - phrases.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T.astype(np.float64) @ centred)
    basis = directions[:, ::-1][:, :dimensions].astype(np.float32)
    return (alone - alone.mean(axis=0)) @ basis, centred @ basis


def fit(start: Rows, texts: Sequence[Sequence[int]], targets: Rows, epochs: int = EPOCHS, ridge: float = RIDGE) -> Rows:
    """Fit word vectors: the unit sum over a text's rows approximates its target. Each word stays near its start."""
    import torch
    from torch.nn.functional import embedding, embedding_bag, normalize

    table = torch.tensor(start / np.linalg.norm(start, axis=1).mean())
    origin = table.clone()
    table.requires_grad_(True)
    goals = normalize(torch.tensor(targets), dim=1)
    counts = np.bincount(np.concatenate([np.asarray(rows) for rows in texts]), minlength=len(start))
    pull = torch.tensor(ridge / np.maximum(counts, 1), dtype=torch.float32)
    held = int(len(texts) * HELD_OUT)
    batches = (len(texts) - held) // BATCH

    def cosine(places: Sequence[int]) -> tuple[Any, Any]:
        bounds = np.cumsum([0, *(len(texts[place]) for place in places)])[:-1]
        rows = torch.tensor([row for place in places for row in texts[place]])
        sums = embedding_bag(rows, table, torch.tensor(bounds), mode="sum", sparse=True)
        return (normalize(sums, dim=1) * goals[list(places)]).sum(1).mean(), rows

    optimizer = torch.optim.SparseAdam([table], lr=RATE)
    chance = np.random.default_rng(SEED)
    for epoch in range(epochs):
        order = held + chance.permutation(len(texts) - held)
        for batch in range(batches):
            similarity, rows = cosine(order[batch * BATCH : (batch + 1) * BATCH].tolist())
            moved = ((embedding(rows, table, sparse=True) - origin[rows]) ** 2).sum(1)
            loss = 1 - similarity + (pull[rows] * moved).sum() / BATCH
            optimizer.param_groups[0]["lr"] = RATE * (1 - (epoch * batches + batch) / (epochs * batches))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            print(f"epoch {epoch + 1}: mean cosine of held-out phrases {float(cosine(range(held))[0]):.4f}", flush=True)
    return np.asarray(table.detach().numpy(), np.float32)


# Quantization

# optimal levels of a normal distribution for four bits (Lloyd and Max); the error is 1 % of the variance
HALF = (0.1284, 0.3881, 0.6568, 0.9424, 1.2562, 1.6181, 2.0690, 2.7326)
LEVELS = np.array([*(-value for value in reversed(HALF)), *HALF], np.float32)


def quantize(vectors: Rows) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
    """Return packed codes and scales. A random rotation gives all dimensions the same spread, and keeps all cosines."""
    size = vectors.shape[1]
    rotation = np.linalg.qr(np.random.default_rng(SEED).standard_normal((size, size)))[0].astype(np.float32)
    rotated = vectors @ rotation
    spread = np.maximum(np.sqrt((rotated**2).mean(axis=1)), 1e-6)
    codes = np.searchsorted((LEVELS[1:] + LEVELS[:-1]) / 2, rotated / spread[:, None]).astype(np.uint8)
    decoded = LEVELS[codes]
    scales = (rotated * decoded).sum(axis=1) / (decoded**2).sum(axis=1)  # least squares
    return codes[:, 0::2] | (codes[:, 1::2] << 4), scales.astype(np.float16)


def write_table(path: Path, row_of: dict[str, int], vectors: Rows) -> None:
    codes, scales = quantize(vectors)
    np.savez(
        path,
        text=np.frombuffer("\n".join(row_of).encode(), np.uint8),
        rows=np.array(list(row_of.values()), "<u2"),
        codes=codes,
        scales=scales,
        levels=LEVELS,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder of the sentence encoder")
    parser.add_argument("--clones", type=Path, nargs="+", required=True, help="folders of clones")
    parser.add_argument("--exclude", nargs="*", default=[], help="names of clones that are never read")
    parser.add_argument("--phrases", type=Path, nargs="*", default=[], help="files of further phrases, one a line")
    parser.add_argument("--dictionary", type=Path, help="word list that tells words of the encoder from names")
    parser.add_argument("--work", type=Path, required=True, help="folder of intermediate results, reused")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--words", type=int, default=50_000, help="most words of the table")
    parser.add_argument("--sample", type=int, default=48_000, help="phrases of clones")
    parser.add_argument("--further", type=int, default=16_000, help="phrases of --phrases")
    parser.add_argument("--dimensions", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    names, alone, phrases, encoded = _encoded(given)
    lookup = Lookup(names)
    start, targets = project(alone, encoded, given.dimensions)
    counts = json.loads((given.work / "corpus.json").read_text("utf-8"))[0]
    share = np.array([counts.get(name, (0, 0))[0] + 1 for name in names], np.float64)
    weights = SMOOTHING / (SMOOTHING + share / share.sum())
    texts = [lookup.rows(phrase) for phrase in phrases]
    usable = [place for place, rows in enumerate(texts) if len(rows) > 1]
    fitted = fit((start * weights[:, None]).astype(np.float32), [texts[place] for place in usable], targets[usable])
    write_table(given.out, lookup.row_of, fitted)


def _encoded(given: argparse.Namespace) -> tuple[list[str], Rows, list[str], Rows]:
    """Return words and phrases with the encoder's vectors, from the work folder if they are there."""
    corpus, kept = given.work / "corpus.json", given.work / "encoded.npz"
    if not corpus.exists():
        chosen = [clone for folder in given.clones for clone in sorted(folder.iterdir()) if clone.is_dir()]
        read = read_clones([clone for clone in chosen if clone.name not in given.exclude], random.Random(SEED))
        corpus.write_text(json.dumps(read), "utf-8")
    if not kept.exists():
        counts, found = json.loads(corpus.read_text("utf-8"))
        teacher = Teacher(given.model, given.threads)
        english = (
            {line for line in given.dictionary.read_text("utf-8").split() if line.islower()}
            if given.dictionary
            else set()
        )
        names = vocabulary(
            counts, (word for word in teacher.whole_words if word in english or word in counts), given.words
        )
        chance = random.Random(SEED)
        further = [line for file in given.phrases for line in file.read_text("utf-8").splitlines()]
        phrases = [*chance.sample(found, min(len(found), given.sample)), *further[: given.further]]
        chance.shuffle(phrases)
        np.savez(
            kept,
            words=names,
            phrases=phrases,
            alone=teacher.encode(names),
            encoded=teacher.encode(phrases).astype(np.float16),
        )
    with np.load(kept) as arrays:
        return (
            arrays["words"].tolist(), arrays["alone"], arrays["phrases"].tolist(), arrays["encoded"].astype(np.float32)
        )  # fmt: skip


if __name__ == "__main__":
    main()
