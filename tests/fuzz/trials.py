"""Fuzzing trials: mutated files of one kind in a repository, and the commands run on them."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fuzz import corpus
from fuzz.corpus import Seed
from fuzz.mutate import damage, mutate
from support.command import assay

DONE, ANY = frozenset({0, 1}), frozenset({0, 1, 2})  # 2 is right for a golden set, wrong for an index with one bad file
_ODD_NAMES = (
    "a b",
    "-x",
    "é",
    "\x1b[31mred",
    "new\nline",
    "quote'\"",
    "\udcff",
    "a" * 200,
    "%s",
    "$(x)",
    "__init__",
    "test_x",
    ".x",
    "::",
)
_WORD = re.compile(rb"[A-Za-z_][\w.]*")


@dataclass(frozen=True)
class Step:
    """A command and the exit codes that are right for it."""

    arguments: tuple[str, ...]
    codes: frozenset[int] = ANY
    never: bytes = b""  # what it must not say


@dataclass(frozen=True)
class Trial:
    """Mutants, by path, and what is done with them. `base` is a folder to copy first, `history` a stream for git fast-import."""

    name: str
    mutants: Mapping[str, bytes]
    steps: tuple[Step, ...]
    base: Path | None = None
    history: bytes = b""
    others: Mapping[str, bytes] = field(default_factory=dict)  # files that are as they should be


def _mutant(seeds: tuple[Seed, ...], choice: random.Random) -> tuple[str, bytes]:
    suffix = choice.choice(sorted({seed.suffix for seed in seeds}))  # each language as often as any other
    seed = choice.choice([seed for seed in seeds if seed.suffix == suffix])
    return suffix, seed.pack(mutate(seed.data, choice.choice(corpus.sources() + corpus.documents()).data, choice))


def _words(mutants: Mapping[str, bytes], choice: random.Random) -> Iterator[str]:
    """Names to ask for, taken from the mutants."""
    contents = sorted(mutants.values())
    while True:
        names = _WORD.findall(choice.choice(contents)[:20_000]) or [b"total"]
        yield choice.choice(names).decode()[:200]


def repository(name: str, choice: random.Random, scratch: Path, count: int, without: frozenset[str]) -> Trial:
    """Sources of all languages, and documents, three to one; every third time with a history."""
    sources, documents = (
        tuple(s for s in seeds() if s.suffix not in without) for seeds in (corpus.sources, corpus.documents)
    )
    mutants = {}
    for number in range(count):
        suffix, data = _mutant(sources if choice.random() < 0.75 else documents, choice)
        stem = choice.choice(_ODD_NAMES) if choice.random() < 0.02 else f"file{number}"
        mutants[f"{choice.choice(('src', 'lib', 'tests', 'docs'))}/d{number % 7}/{stem}{suffix}"] = data
    word, path = _words(mutants, choice), choice.choice(sorted(mutants))
    task = " ".join(next(word) for _ in range(4))
    asked = [
        ("status",), ("symbols", f"*{next(word)}*"), ("symbols", next(word), "--format", "json"), ("context", "--", task),
        ("context", "--format", "json", "--", next(word)), ("search", "--", task), ("ask", "--", task), ("why", "--", task, next(word)),
        ("impact", "--all", "--", next(word)), ("tests", "--", path), ("context", "--files", path),
    ]  # fmt: skip
    history = _history(mutants, choice) if choice.random() < 0.33 else b""
    if history:
        asked.append(("context", "--pr", "HEAD~1"))
    steps = (Step(("index",), DONE), *(Step(arguments) for arguments in asked), Step(("index",), DONE))
    return Trial(name, mutants, steps, history=history)


def _history(mutants: Mapping[str, bytes], choice: random.Random) -> bytes:
    """Commits with odd messages, authors, dates and paths."""
    stream, paths = b"", sorted(mutants)[:20]
    for _ in range(12):
        message = mutate(b"Fix the total of a basket\n\nIt was `Cart.total`.\n", b"Merge branch 'a'\n\x00", choice)
        author = re.sub(rb"[<>\n\0]", b"", mutate(b"Ann Other", b"Bob <b@example.org>", choice))[:500]
        when = choice.choice(
            (b"1700000000 +0000", b"0 +0000", b"99999999999 +1400", b"1700000000 -9959", b"4000000000 +0530")
        )
        stream += b"commit refs/heads/main\nauthor %s <a@example.org> %s\n" % (author, when)
        stream += b"committer C <c@example.org> %s\ndata %d\n%s\n" % (when, len(message), message)
        for path in choice.sample(paths, min(3, len(paths))):
            quoted = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
            data = mutate(mutants[path], b"", choice)[:4_000]
            stream += b'M 100644 inline "%s"\ndata %d\n%s\n' % (quoted, len(data), data)
    return stream + b"done\n"


def golden(name: str, choice: random.Random, scratch: Path, count: int, without: frozenset[str]) -> Trial:
    """Golden sets of every format, one file of each mutated, and run files."""
    mutants: dict[str, bytes] = {}
    others: dict[str, bytes] = {"golden.jsonl": b'{"id": "q0", "question": "x", "expected_docs": ["d0"]}\n'}
    steps = []
    for number in range(max(1, count // 20)):
        if choice.random() < 0.15:
            mutants[f"{number}.run"] = mutate(
                b"".join(b"q0 Q0 d%d %d %d x\n" % (n, n, 9 - n) for n in range(9)), b"q1 0 d0 1\n", choice
            )
            steps.append(
                Step(("eval", "run", "--golden", "golden.jsonl", "--system", f"trec:{number}.run", "--root", "."))
            )
            continue
        form, files = choice.choice(corpus.golden_files())
        changed = choice.choice(sorted(files))
        for path, data in files.items():
            target = mutants if path == changed else others
            target[f"{number}/{path}"] = (
                mutate(data, choice.choice(corpus.sources()).data, choice) if path == changed else data
            )
        place = f"{number}/{min(files).partition('/')[0]}"
        steps.append(Step(("eval", "verify", "--golden", place, "--root", ".")))
        steps.append(Step(("eval", "convert", place, f"{number}.jsonl", "--to", "pairs", "--from", form)))
    return Trial(name, mutants, tuple(steps), others=others)


def projects(name: str, choice: random.Random, scratch: Path, count: int, without: frozenset[str]) -> Trial:
    """Project files of all formats, each of which must be read within the limits of a worker.

    Those that are sources, too (`shop.gemspec`), may exceed them there: tree-sitter can take seconds for a broken file.
    """
    files = corpus.project_files()
    mutants = {}
    for number in range(count):
        path, data = choice.choice(files)
        place = path if path == "CODEOWNERS" else f"p{number}/{path}"
        mutants[place] = mutate(data, choice.choice(files)[1], choice)
    others = {"shop.py": b"def total(basket):\n    return 1\n"}
    steps = (
        Step(("index", "--verbose"), DONE, never=rb"^note: .* to parse \(more than"),
        Step(("impact", "total")),
        Step(("owners", "shop.py")),
        Step(("graph", "total", "--format", "json")),
    )
    return Trial(name, mutants, steps, others=others)


def settings(name: str, choice: random.Random, scratch: Path, count: int, without: frozenset[str]) -> Trial:
    """assay.toml, and the rules of what is ignored."""
    mutants, others, steps = {}, {}, []
    for number in range(max(1, count // 50)):
        root = f"{number}"
        others[f"{root}/shop.py"] = b"def total(basket):\n    return 1\n"
        others[f"{root}/docs/a/draft1.md"] = b"# Prices\n\nThe total.\n"
        foreign = choice.choice(corpus.sources()).data
        if choice.random() < 0.5:
            mutants[f"{root}/assay.toml"] = mutate(corpus.SETTINGS, foreign, choice)
            asked: tuple[tuple[str, ...], ...] = (
                ("config",),
                ("config", "check"),
                ("index",),
                ("context", "total"),
                ("search", "total"),
            )
            steps += [Step((*arguments, "--root", root)) for arguments in asked]
        else:
            mutants[f"{root}/{choice.choice(('.gitignore', '.assayignore', 'docs/.gitignore'))}"] = mutate(
                corpus.RULES, foreign, choice
            )
            steps.append(Step(("index", "--root", root), DONE))
    return Trial(name, mutants, tuple(steps), others=others)


def store(name: str, choice: random.Random, scratch: Path, count: int, without: frozenset[str]) -> Trial:
    """A whole index of which one to three files are damaged."""
    base = scratch / "indexed"
    if not base.exists():
        _make_indexed(base)
    files = sorted(path for path in (base / ".assay").rglob("*") if path.is_file() and path.stat().st_size)
    chosen = choice.sample(files, min(len(files), choice.choice((1, 1, 2, 3))))
    mutants = {path.relative_to(base).as_posix(): damage(path.read_bytes(), choice) for path in chosen}
    asked = (
        ("status",), ("symbols", "*total*"), ("context", "total price"), ("search", "total price"), ("ask", "total price"), ("impact", "total"),
        ("why", "total price", "total"), ("feedback", "show"), ("eval", "list", "--root", "."), ("index",), ("context", "total price"),
    )  # fmt: skip
    healed = (("index", "--rebuild"), ("context", "total price"), ("search", "total price"))
    steps = (*(Step(arguments) for arguments in asked), *(Step(arguments, DONE) for arguments in healed))
    return Trial(name, mutants, steps, base=base)


def _make_indexed(base: Path) -> None:
    making = base.with_name(f"{base.name}.new")
    for seed, path in ((corpus.sources()[-1], "shop/last"), (corpus.documents()[0], "docs/prices")):
        target = making / f"{path}{seed.suffix}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(seed.data)
    (making / "shop/cart.py").write_text(
        "class Cart:\n    def total(self):\n        return price()\n\n\ndef price():\n    return 1\n"
    )
    (making / "golden.jsonl").write_text('{"id": "q0", "question": "total", "expected_symbols": ["Cart.total"]}\n')
    for arguments in (
        ("index",), ("context", "total price", "--session", "s"), ("search", "total price"), ("ask", "total price"),
        ("feedback", "useful", "Cart.total", "--task", "total price"), ("eval", "run", "--golden", "golden.jsonl", "--system", "assay"),
    ):  # fmt: skip
        assay(making, *arguments)
    making.rename(base)


Make = Callable[[str, random.Random, Path, int, frozenset[str]], Trial]
KINDS: dict[str, Make] = {
    "repository": repository,
    "golden": golden,
    "projects": projects,
    "settings": settings,
    "store": store,
}


def trial(seed: int, number: int, scratch: Path, count: int, kinds: tuple[str, ...], without: frozenset[str]) -> Trial:
    """The trial of a number: the same for the same seed, size and kinds."""
    kind = kinds[number % len(kinds)]
    return partial(KINDS[kind], f"{kind}-{number}", random.Random(f"{seed}/{number}/{kind}"))(scratch, count, without)


from fuzz import ignored, pulled  # noqa: E402  made of what is defined above

KINDS |= {"ignored": ignored.ignored, "pulled": pulled.pulled}
