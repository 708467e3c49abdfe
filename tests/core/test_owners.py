"""Rules of CODEOWNERS files: the last match decides, as on GitHub; sections as on GitLab."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.owners import OwnerRule, OwnerRules, parse_rules
from support.property_tests import examples

# pattern → paths that it matches, paths that it does not
PATTERNS = {
    "*": (["a.py", "x/y/a.py", ".hidden"], []),
    "*.js": (["a.js", "x/y/a.js"], ["a.jsx", "js"]),
    "/build/logs/": (["build/logs/a", "build/logs/x/a"], ["x/build/logs/a", "build/logs"]),
    "docs/*": (["docs/a.md"], ["docs/x/a.md", "x/docs/a.md"]),
    "apps/": (["apps/a", "x/apps/y/a"], ["apps", "myapps/a"]),
    "/docs/": (["docs/a", "docs/x/a"], ["x/docs/a"]),
    "/scripts": (["scripts", "scripts/a"], ["x/scripts", "scripts2"]),
    "src/app.py": (["src/app.py"], ["x/src/app.py", "src/app.pyc"]),
    "Makefile": (["Makefile", "x/Makefile", "Makefile/a"], ["Makefile.am"]),
    "**/logs": (["logs/a", "build/logs", "x/y/logs/a"], ["mylogs/a"]),
    "/a/**/z.py": (["a/z.py", "a/b/c/z.py"], ["b/a/z.py", "a/zz.py"]),
    "/a/**": (["a/b", "a/b/c"], ["b/a"]),
    "file?.txt": (["file1.txt", "x/fileA.txt"], ["file.txt", "file12.txt"]),
    "/src/*/models.py": (["src/shop/models.py"], ["src/models.py", "src/a/b/models.py"]),
    r"path\ with\ spaces/": (["path with spaces/a"], ["path"]),
}  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_matches_these_paths_and_not_those(pattern: str) -> None:
    rules = OwnerRules(parse_rules(f"{pattern} @team\n"))
    matched, others = PATTERNS[pattern]
    assert [path for path in matched if not rules.of(path)] == []
    assert [path for path in others if rules.of(path)] == []


def test_the_last_matching_rule_decides_and_may_name_nobody() -> None:
    rules = OwnerRules(parse_rules("* @all\n# a comment\n*.py @python @zoe # inline\n/src/open.py\n/src/ @src\n"))
    assert rules.of("a.md") == [OwnerRule("*", ("@all",), 1)]
    assert rules.of("a.py") == [OwnerRule("*.py", ("@python", "@zoe"), 3)]
    assert rules.of("src/a.py") == [OwnerRule("/src/", ("@src",), 5)]
    assert OwnerRules(parse_rules("* @all\n/src/open.py\n")).of("src/open.py") == []


def test_every_section_of_gitlab_decides_for_itself() -> None:
    text = "* @all\n[Docs] @writers\n*.md\nREADME.md @lead\n^[Database][2] @dba\n*.sql\n"
    rules = OwnerRules(parse_rules(text))
    assert [rule.owners for rule in rules.of("docs/a.md")] == [("@all",), ("@writers",)]
    assert [rule.owners for rule in rules.of("README.md")] == [("@all",), ("@lead",)]
    assert [rule.owners for rule in rules.of("x.sql")] == [("@all",), ("@dba",)]


def test_owners_are_teams_people_and_addresses() -> None:
    (rule,) = parse_rules("* @org/team-a @zoe zoe@example.org not-an-owner @org/team-a\n")
    assert rule.owners == ("@org/team-a", "@zoe", "zoe@example.org")


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.sampled_from(sorted(PATTERNS)), max_size=8), st.text("ab/.*mdpyjs", min_size=1, max_size=12))
def test_the_deciding_rule_is_the_last_of_those_that_match_alone(patterns: list[str], path: str) -> None:
    text = "".join(f"{pattern} @t{number}\n" for number, pattern in enumerate(patterns))
    alone = [number for number, pattern in enumerate(patterns) if OwnerRules(parse_rules(f"{pattern} @x\n")).of(path)]
    assert [rule.owners for rule in OwnerRules(parse_rules(text)).of(path)] == [(f"@t{n}",) for n in alone[-1:]]
