"""Resolver limits: independent of query order, and failures are reported per file."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from assay.index import facts as F
from assay.index import table
from assay.index.extract import extract
from assay.index.file import File
from assay.index.resolve import RAISE, CallCounts, Edges, Resolver
from assay.index.resolve import parallel as resolve_all
from assay.index.table import full_table
from assay.languages import language_of
from support.repository import Repository, assert_equals_full_index

Facts = dict[str, bytes]


def _facts(texts: dict[str, str]) -> Facts:
    out = {}
    for path, text in texts.items():
        language = language_of(path)
        assert language is not None
        out[path] = extract(text.encode(), language).facts
    return out


def _resolved(facts: Facts, order: Sequence[str]) -> dict[str, tuple[Edges, CallCounts]]:
    """What files resolve to when they are resolved in this order."""
    files = {path: File(path, F.decode_facts(encoded), False) for path, encoded in facts.items()}
    resolver = Resolver(full_table(files, {}))
    done = {path: resolver.resolve(path) for path in order}
    return {path: (resolved.edges, resolved.calls) for path, resolved in done.items()}


def _python(choose: random.Random, name: str, target: str, second: str) -> str:
    return choose.choice(
        [
            f"class {name}({target}):\n    a = {second}()\n    def go(self): return self.a.go()",
            f"{name} = {target}",
            f"def {name}(p):\n    x = {target}()\n    y = x\n    y = y.go()\n    return y",
            f"def {name}():\n    return {target}()\n    return {second}().go()",
            f"from m{choose.randrange(4)} import *\ndef {name}(): return {target}()",
        ]
    )


def _typescript(choose: random.Random, name: str, target: str, second: str) -> str:
    return choose.choice(
        [
            f"export class {name} extends {target} {{ a = {second}(); go(): {target} {{ return this.a.go(); }} }}",
            f"export const {name} = {target};",
            f"export type {name} = {target} | {second};",
            f'export * from "./m{choose.randrange(4)}";\nexport function {name}() {{ return {target}(); }}',
            f"export function {name}() {{ const x = {target}(); const y = x.go(); return y; }}",
        ]
    )


def _rust(choose: random.Random, name: str, target: str, second: str) -> str:
    return choose.choice(
        [
            f"pub struct {name} {{ a: {second} }}\nimpl {target} for {name} {{ fn go(&self) -> {target} {{ self.a.go() }} }}",
            f"pub type {name} = {target};",
            f"pub use crate::m{choose.randrange(4)}::*;\npub fn {name}() -> {target} {{ {second}().go() }}",
            f"pub fn {name}(p: {second}) -> {target} {{ let x = p.go(); let x = x.go(); x.a.go() }}",
        ]
    )


def _tangle(
    choose: random.Random, suffix: str, define: Callable[[random.Random, str, str, str], str]
) -> dict[str, str]:
    """Four files that define names in terms of each other's, with cycles, and use some of them."""
    names = [f"f{number}" for number in range(20)]
    texts = {}
    for place in range(4):
        lines = [define(choose, name, *choose.choices(names, k=2)) for name in names[place::4]]
        used = choose.sample(names, 4)
        if suffix == "py":
            lines += [f"from m{choose.randrange(4)} import {name}\n{name}().go()" for name in used]
        elif suffix == "ts":
            lines += [f'import {{ {name} }} from "./m{choose.randrange(4)}";\n{name}().go();' for name in used]
        else:
            lines.append("fn user() { " + "".join(f"let z = {name}(); z.go(); " for name in used) + "}")
        texts[f"src/m{place}.{suffix}"] = "\n".join(lines) + "\n"
    if suffix == "rs":
        texts["src/lib.rs"] = "".join(f"pub mod m{place};\n" for place in range(4))
    return texts


@pytest.mark.parametrize("limit", [3, 5, 8, 13])
@pytest.mark.parametrize(("suffix", "define"), [("py", _python), ("ts", _typescript), ("rs", _rust)])
def test_what_is_too_deep_does_not_depend_on_what_was_resolved_before(
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
    define: Callable[[random.Random, str, str, str], str],
    limit: int,
) -> None:
    monkeypatch.setattr(table, "MAX_DEPTH", limit)
    for seed in range(8):
        choose = random.Random(f"{seed} {limit}")
        facts = _facts(_tangle(choose, suffix, define))
        paths = sorted(facts)
        expected = _resolved(facts, paths)
        assert _resolved(facts, paths[::-1]) == expected
        for path in paths:
            assert _resolved(facts, [path])[path] == expected[path], (seed, path)


def _chain(length: int) -> str:
    return "from start import f0\n" + "".join(f"def f{n}(): return f{n - 1}()\n" for n in range(1, length))


def _with_ballast(repository: Repository) -> None:
    """Enough other files that a change stays an update."""
    for number in range(60):
        repository.write(f"other{number}.py", f"def other{number}(): pass\n")


def test_a_chain_that_becomes_longer_or_shorter_is_resolved_as_in_a_full_index(repository: Repository) -> None:
    repository.write(
        "start.py", "class Start:\n    def go(self): pass\n    def halt(self): pass\n\ndef f0(): return Start()\n"
    )
    repository.write("chain.py", _chain(600))
    repository.write(
        "use.py", "from chain import f20, f599\n\ndef near():\n    f20().go()\n\ndef far():\n    f599().halt()\n"
    )
    _with_ballast(repository)
    repository.index()
    near, far = ("use.py::near", "start.py::Start.go"), ("use.py::far", "start.py::Start.halt")
    calls = repository.edges("calls")
    assert near in calls
    assert far not in calls
    shorter = _chain(600).replace("return f580()", "return f0()")
    for text, reached in ((shorter, True), (_chain(600), False), (shorter + "def extra(): return f599()\n", True)):
        repository.write("chain.py", text)
        assert repository.index().mode == "update"
        assert (far in repository.edges("calls")) == reached
        assert_equals_full_index(repository.root, repository.home)


def test_an_edit_of_any_link_of_a_chain_over_two_files_gives_what_a_full_index_gives(repository: Repository) -> None:
    def write(skipped: int = -1) -> None:
        there = [f"from b import y{n} as x{n}" for n in range(160) if n != skipped]
        repository.write("a.py", "\n".join(there) + "\nx159().go()\nx30().go()\n")

    write()
    back = "".join(f"from a import x{n - 1} as y{n}\n" for n in range(1, 160))
    repository.write("b.py", "class y0:\n    def go(self): pass\n" + back)
    _with_ballast(repository)
    repository.index()
    for skipped in (80, 15):
        write(skipped)
        assert repository.index().mode == "update"
        assert_equals_full_index(repository.root, repository.home)


COSTLY: dict[str, dict[str, str]] = {
    "locals with two values each": {
        "a.py": "def f(x0):\n"
        + "".join(f"    x{n} = x{n - 1}\n    x{n} = x{n - 1}.a\n" for n in range(1, 400))
        + "    x399.go()\n"
    },
    "C locals with two declarations each": {
        "a.c": "void f(int x0) {\n"
        + "".join(f"  x{n} x{n + 1}; x{n} x{n + 1};\n" for n in range(100))
        + "  x100.go();\n}\n"
    },
    "Rust variables": {
        "src/lib.rs": "fn f(x0: Foo) {\n"
        + "".join(f"    let x{n} = x{n - 1}; let x{n} = x{n - 1}.b();\n" for n in range(1, 200))
        + "    x199.go();\n}\n"
    },
    "modules that import each other whole": {
        f"m{n}.py": "".join(f"from m{other} import *\n" for other in range(30)) + "missing()\n" for n in range(30)
    },
    "exports of each other": {
        f"m{n}.ts": "".join(f'export * from "./m{other}";\n' for other in range(30))
        + f'import {{ no }} from "./m{n - 1}";\nno();\n'
        for n in range(30)
    },
    "the same star import again and again": {
        "a.py": "from b import *\n" * 3_000 + "missing()\n" * 50,
        "b.py": "from a import *\n" * 3_000,
    },
    "types around types": {"a.py": "def f(x: " + "Optional[" * 150 + "T" + "]" * 150 + "): x.go()\n"},
    "a lattice of classes": {
        "a.py": "class A0: pass\nclass B0: pass\n"
        + "".join(f"class A{n}(A{n - 1}, B{n - 1}): pass\nclass B{n}(A{n - 1}, B{n - 1}): pass\n" for n in range(1, 31))
    },
    "a class in many parts": {
        "a.cs": "namespace n;\n"
        + "".join(f"partial class A : I{n} {{ void M{n}() {{ M0(); }} }}\n" for n in range(600))
    },
}


@pytest.mark.parametrize("pattern", COSTLY)
def test_no_pattern_of_names_takes_more_than_moments(pattern: str) -> None:
    facts = _facts(COSTLY[pattern])
    begun = time.process_time()
    _resolved(facts, sorted(facts))
    assert time.process_time() - begun < 5  # these took minutes, or never ended


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "x = " + "[" * 10_000 + "1" + "]" * 10_000),
        ("a.py", "x = " + "a+" * 10_000 + "a\n"),
        ("a.js", "x = " + "f(" * 10_000 + ")" * 10_000),
        ("a.go", "package a\nvar x = a" + ".b()" * 10_000),
        ("lib.rs", "fn f() " + "{" * 10_000 + "}" * 10_000),
    ],
)
def test_deep_nesting_is_read_in_linear_time(path: str, text: str) -> None:
    _facts({path: text[:50]})  # compiles the language's query
    begun = time.process_time()
    _facts({path: text})
    assert time.process_time() - begun < 5  # these took 15 to 60 s


class _Unlucky(Resolver):
    """Fails at one file in a way that no code of ours should."""

    def _resolve(self, path: str):  # type: ignore[no-untyped-def]
        if path == "bad.py":
            self.table.begin_file()
            raise RecursionError
        return super()._resolve(path)


def _small(repository: Repository) -> None:
    repository.write("bad.py", "from good import helper\n\ndef bad():\n    helper()\n")
    repository.write("good.py", "def helper(): pass\n\ndef caller():\n    helper()\n")


@pytest.fixture
def unlucky(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RAISE)
    monkeypatch.setattr(resolve_all, "Resolver", _Unlucky)
    monkeypatch.setattr("assay.index.update.Resolver", _Unlucky)


@pytest.mark.usefixtures("unlucky")
def test_a_file_that_cannot_be_resolved_keeps_its_symbols_and_is_reported(repository: Repository) -> None:
    _small(repository)
    report = repository.index()
    assert report.problems == {"bad.py": "could not be resolved: RecursionError (please report this)"}
    assert "bad.py::bad" in repository.symbols()
    assert ("bad.py", "bad.py::bad") in repository.edges("contains")
    assert repository.edges("calls") == {("good.py::caller", "good.py::helper")}


@pytest.mark.usefixtures("unlucky")
def test_the_report_stays_until_the_file_can_be_resolved(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    _small(repository)
    _with_ballast(repository)
    repository.index()
    repository.write("other1.py", "def another(): pass\n")
    assert list(repository.index().problems) == ["bad.py"]
    assert list(repository.index().problems) == ["bad.py"]  # nothing changed
    monkeypatch.setattr("assay.index.update.Resolver", Resolver)
    repository.write("bad.py", "from good import helper\n\ndef bad():\n    return helper()\n")
    assert repository.index().problems == {}
    assert ("bad.py::bad", "good.py::helper") in repository.edges("calls")


def test_a_bug_in_resolving_is_seen_by_this_suite(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve_all, "Resolver", _Unlucky)
    _small(repository)
    with pytest.raises(RecursionError):
        repository.index()


def test_a_file_that_takes_too_long_is_reported(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MAX_SECONDS", -1.0)
    monkeypatch.setattr(table, "_CHECK", 0)
    _small(repository)
    report = repository.index()
    assert report.problems["bad.py"].startswith("could not be resolved: takes more than")


class _Deadly(Resolver):
    """Ends its process at one file, as the kernel does where memory is short."""

    def _resolve(self, path: str):  # type: ignore[no-untyped-def]
        if path == "bad.py":
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._resolve(path)


@pytest.mark.skipif(sys.platform == "win32", reason="workers are not forked there")
def test_a_worker_that_is_killed_costs_the_file_it_was_at(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(resolve_all, "Resolver", _Deadly)
    monkeypatch.setattr(resolve_all, "ALONE", 10)
    monkeypatch.setattr(resolve_all, "worker_count", lambda: 2)
    _small(repository)
    _with_ballast(repository)
    report = repository.index()
    assert report.problems == {"bad.py": "could not be resolved: its process ended, perhaps for lack of memory"}
    assert ("good.py::caller", "good.py::helper") in repository.edges("calls")
    assert len(repository.symbols()) > 120


def test_the_recursion_limit_is_what_it_was_after_indexing(repository: Repository) -> None:
    _small(repository)
    before = sys.getrecursionlimit()
    repository.index()
    assert sys.getrecursionlimit() == before
