"""Chains deeper than the resolver follows lose only their own edges; full and updated indexes agree."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assay.index.imports.namespaces import outer_namespaces
from support.command import assay
from support.repository import Repository, assert_equals_full_index

DEEP = 700  # links of a chain; RecursionError came after 90 to 400


def _lines(make: Callable[[int], str], count: int = DEEP) -> str:
    return "\n".join(map(make, range(1, count))) + "\n"


def _python_reimports(repository: Repository) -> None:
    repository.write("m0.py", "def end(): pass\n")
    for number in range(1, 300):
        repository.write(f"m{number}.py", f"from m{number - 1} import end\n")
    repository.write("use.py", "from m299 import end\n\ndef use():\n    end()\n")


def _star_exports(repository: Repository) -> None:
    repository.write("m0.ts", "export function end() {}\n")
    for number in range(1, 450):
        repository.write(f"m{number}.ts", f'export * from "./m{number - 1}";\n')
    repository.write("use.ts", 'import { end } from "./m449";\nexport function use() { end(); }\n')


def _single(path: str, text: str) -> Callable[[Repository], object]:
    return lambda repository: repository.write(path, text)


CHAINS: dict[str, Callable[[Repository], object]] = {
    "Python calls": _single("deep.py", "def f0(): return 1\n" + _lines(lambda n: f"def f{n}(): return f{n - 1}()")),
    "Python assignments": _single("deep.py", "x0 = 1\n" + _lines(lambda n: f"x{n} = x{n - 1}")),
    "Python locals": _single("deep.py", "def f():\n    x0 = g()\n" + _lines(lambda n: f"    x{n} = x{n - 1}.a()")),
    "Python classes": _single("deep.py", "class C0: pass\n" + _lines(lambda n: f"class C{n}(C{n - 1}): pass", 2_000)),
    "Python attributes": _single("deep.py", "def f(a):\n    return a" + ".b" * 10_000 + "()\n"),
    "Python imports": _python_reimports,
    "TypeScript stars": _star_exports,
    "TypeScript aliases": _single("deep.ts", "type T0 = string;\n" + _lines(lambda n: f"type T{n} = T{n - 1};")),
    "TypeScript generics": _single("deep.ts", "let x: " + "A<" * 2_000 + "B" + ">" * 2_000 + ";\n"),
    "C locals": _single("deep.c", "void f(void) {\n" + _lines(lambda n: f"  x{n - 1} x{n};") + "}\n"),
    "C++ classes": _single("deep.cpp", "struct C0 {};\n" + _lines(lambda n: f"struct C{n} : C{n - 1} {{}};")),
    "Go calls": _single(
        "deep.go",
        "package p\nfunc f0() int { return 1 }\n" + _lines(lambda n: f"func f{n}() {{ x := f{n - 1}(); x.m() }}"),
    ),
    "Java fields": _single("deep.java", "class D {\n" + _lines(lambda n: f"  C{n - 1} c{n} = c{n - 1}.get();") + "}\n"),
    "Ruby modules": _single("deep.rb", _lines(lambda n: f"class C{n} < C{n - 1}; end")),
    "Rust aliases": _single("deep.rs", "struct T0;\n" + _lines(lambda n: f"type T{n} = T{n - 1};")),
    "PHP classes": _single("deep.php", "<?php\nclass C0 {}\n" + _lines(lambda n: f"class C{n} extends C{n - 1} {{}}")),
    "Kotlin calls": _single("deep.kt", "fun f0() = 1\n" + _lines(lambda n: f"fun f{n}() = f{n - 1}()")),
    "C# classes": _single("deep.cs", "class C0 {}\n" + _lines(lambda n: f"class C{n} : C{n - 1} {{}}")),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_a_deep_chain_costs_no_more_than_its_own_edges(repository: Repository, chain: str) -> None:
    CHAINS[chain](repository)
    repository.write("good.py", "def helper(): pass\n\ndef caller():\n    helper()\n")
    done = assay(repository.root, "index")
    assert done.code == 0, done.err
    assert ("good.py::caller", "good.py::helper") in repository.edges("calls")


def test_an_edit_at_the_end_of_a_deep_chain_gives_what_a_full_index_gives(repository: Repository) -> None:
    repository.write("start.py", "class Start:\n    def go(self): pass\n\ndef f0(): return Start()\n")
    repository.write("chain.py", "from start import f0\n" + _lines(lambda n: f"def f{n}(): return f{n - 1}()", 300))
    for reached in (3, 60, 150, 250, 299):
        repository.write(f"use{reached}.py", f"from chain import f{reached}\n\ndef use():\n    f{reached}().go()\n")
    for number in range(40):
        repository.write(f"other{number}.py", f"def other{number}(): pass\n")
    repository.index()
    assert ("use3.py::use", "start.py::Start.go") in repository.edges("calls")
    repository.write(
        "start.py", "class Start:\n    def go(self): pass\n    def stop(self): pass\n\ndef f0(): return Start()\n"
    )
    repository.index()
    assert_equals_full_index(repository.root, repository.home)
    repository.write("use250.py", "from chain import f100\n\ndef use():\n    f100().go()\n")
    repository.index()
    assert_equals_full_index(repository.root, repository.home)


def test_a_very_deep_namespace_takes_memory_for_its_innermost_levels_only() -> None:
    deep = ".".join(f"n{number}" for number in range(20_000))
    around = outer_namespaces(deep)
    assert around[0] == deep.rpartition(".")[0]
    assert sum(map(len, around)) < 100 * len(deep)
    assert outer_namespaces("a.b.c") == ["a.b", "a"]
