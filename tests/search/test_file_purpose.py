"""Files of conventional names are found by what they are for."""

from __future__ import annotations

import pytest

from assay.api import Repository as Opened
from assay.languages.conventions import described_path
from support.repository import Repository


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("cmd/tool/main.go", "entry point"),
        ("src/app/__main__.py", "entry point"),
        ("bin/serve.rb", "entry point"),
        ("packages/core/src/index.ts", "public interface"),
        ("src/net/mod.rs", "public interface"),
        ("lib/Utils.java", "helpers"),
    ],
)
def test_a_conventional_name_says_what_a_file_is_for(path: str, role: str) -> None:
    assert described_path(path).startswith(path)
    assert role in described_path(path)


@pytest.mark.parametrize("path", ["", "src/domain.py", "main/loop.py", "indexes/a.go", "/", "a/bin", "mains.c"])
def test_other_names_say_nothing(path: str) -> None:
    assert described_path(path) == path


def test_the_entry_point_is_found_by_that_name(repository: Repository) -> None:
    repository.write("tool/__main__.py", "from tool.app import run\n\nrun()\n")
    repository.write("tool/app.py", "def run():\n    print('hello')\n")
    for topic in ("billing", "customers", "printing", "taxes"):
        repository.write(f"tool/{topic}.py", f"def {topic}_of(year):\n    return year\n")
    repository.index()
    hits = Opened(repository.root).search("command line entry point", 3)
    assert hits[0].path == "tool/__main__.py"
