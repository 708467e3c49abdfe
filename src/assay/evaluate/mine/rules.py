"""Reasons not to make a query of a commit, from its parents, people and message: nobody could answer it.

The rules were written and measured on the histories of the same three repositories (docs/guides/mining.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from assay.text.prose import without_ids, without_trailers
from assay.text.terms import COMMON

if TYPE_CHECKING:
    from assay.evaluate.mine.history import Commit

_SCOPE = r"^\W*(?:\w+(?:\([^)]*\))?!?:\s*)?"  # a conventional prefix, `fix(router):`
_FIXING = (
    r"(?:\w+ly\s+|some\s+|slight\s+|minor\s+|small\s+)*"
    r"(?:fix|updat|improv|clean|correct|clarif|tweak|add|expand|polish|adjust|rework|doc\s+improv)\w*\b(?:[\s-]*up\b)?"
)
_TOOLS = (
    r"(?:black|prettier|gofmt|gofumpt|goimports|rustfmt|isort|ruff|flake8|pylint|eslint|clippy|clang-format|autopep8|yapf|pyupgrade"
    r"|rubocop|checkstyle)"
)

_BOT = re.compile(
    r"\[bot\]|[-_ ]bot\b|\bbot@|dependabot|renovate|github-actions|greenkeeper|pre-commit-ci|snyk|weblate|transifex|mergify"
    r"|allcontributors|pyup|imgbot|semantic-release",
    re.I,
)
_MERGE = re.compile(
    r"^Merge (?:pull request\b|remote-tracking branch|(?:branch|tag|commit) ['\"])", re.I
)  # squashed: it has one parent
_RELEASE = re.compile(
    rf"{_SCOPE}(?:bump(?:ed|s|ing)?\b.*(?:version|\bfrom\b|\bto\b|dependenc|\bdeps\b|\d)"
    r"|(?:prepare|cut|tag|start|begin|next|new|back to)\b.*\b(?:release|version|development)\b"
    r"|releas(?:e|ed|ing)\s+(?:of\s+|version\s+)?\S*\d+\.\d|(?:set|update|change|increment)\s+(?:the\s+)?version\b"
    r"|(?:updat|upgrad)\w*\s+(?:\S+\s+){0,3}to\s+(?:version\s+)?v?\d+\.\d"
    r"|version\s+(?:bump|v?\d)|v?\d+\.\d+(?:\.\d+)?\S*\s*(?:release)?\s*$)",
    re.I,
)
_REVERT = re.compile(rf"{_SCOPE}(?:revert|reapply)\b", re.I)
_FORMATTING = re.compile(
    rf"^\W*(?:style|lint|clippy|fmt|format|{_TOOLS})(?:\([^)]*\))?(?:!?:|\])"
    rf"|{_SCOPE}(?:(?:run|apply|use|fix|ran|appl(?:y|ied)|satisfy|appease|make|cargo|go)\s+)*"
    rf"(?:{_TOOLS}|fmt"
    r"|(?:re)?format(?:ting|ted)?|lint(?:s|ing|er)?|white\s?space|pep\s?8|code style|trailing spaces?)"
    r"(?:\s+(?:fix(?:es|ed)?|issues?|errors?|warnings?|code|codebase|files?|sources?|everything|all|the|changes|happy|clean-?ups?"
    r"|and\s+\S+|(?:with|using|via|by)\s+\S+|on\s+.*))*\W*$"
    rf"|{_SCOPE}(?:enabl|activat|upgrad|updat|configur)\w*\b.*\b{_TOOLS}\b",
    re.I,
)
_HOUSEKEEPING = re.compile(r"^\W*(?:ci|build|deps)(?:\([^)]*\))?!?:", re.I)
# the lookahead separates "fix the docs of X" from "fix doc parsing"
_DOCUMENTATION = re.compile(
    r"^\W*(?:docs?|documentation|changelog)(?:\([^)]*\))?!?:"
    rf"|{_SCOPE}(?:{_FIXING}\s+(?:\S+\s+){{0,3}})?(?:typos?\b|(?:spelling|grammar)(?: mistakes?| errors?| issues?)?\W*$)"
    rf"|{_SCOPE}{_FIXING}.*\b(?:docs?|documentation|doc-?strings?|[jk]?doc comments?|java-?docs?|rustdocs?|comments?|changelog|readme|broken links?)"
    r"(?=\W*(?:$|[.,;:]|(?:for|of|in|on|about|and|following|with|entr(?:y|ies)|wording)\b))"
    rf"|{_SCOPE}docs?\s+(?:about|for|of|on)\b|{_SCOPE}document\s+(?:that|how|why|when|what|which|whether)\b"
    rf"|{_SCOPE}(?:remov|delet|drop)\w*\s+(?:\S+\s+){{0,5}}(?:comments?|doc-?strings?|notes?)\b",
    re.I,
)
_TESTS = re.compile(
    rf"^\W*(?:tests?|fix tests?)(?:\([^)]*\))?!?:|{_SCOPE}{_FIXING}\s+(?:(?:more|a|the|missing|unit|regression|new)\s+)*(?:tests?|coverage)\b",
    re.I,
)
_FOLLOW_UP = re.compile(
    rf"^(?:fixup|squash|amend)!|{_SCOPE}\W*wip\b|{_SCOPE}(?:clean[\s-]*up|refactor(?:ing)?|oops|nits?)\W*$"
    rf"|{_SCOPE}(?:address|appl(?:y|ies)|incorporat|respond)\w*\s+(?:\S+\s+){{0,3}}(?:reviews?|feedback|suggestions?|pr comments?)\b",
    re.I,
)
_DEFAULT = re.compile(
    r"(?:Update|Create|Delete|Rename|Add) \S+\.\w+(?: to \S+)?|Add(?:ed)? files via upload|Initial commit", re.I
)

# words of messages that say what kind of work was done, but not on what: "Remove print left in by accident"
_KINDS_OF_WORK = frozenset(
    re.findall(
        r"\w+",
        """
        accident accidental accidentally add added adding address adjust again annotate annotation annotations apply avoid bad bit bug
        bugfix bugs build bump change changed changes check checks chore ci clean cleaned cleaner cleaning cleanup cleanups code codebase
        comment comments commit compile compiler consistent convention conventions correct coverage crash dead debug debugging deleted
        delete dep dependency dependencies deprecation deps dev doc docs docstring docstrings documentation drop duplicate duplicated
        error errors extra fail failed failing fails failure failures feat feature file files fix fixed fixes fixing fixup forgot
        forgotten format formatter formatting grammar hint
        hints housekeeping import imports improve improved improvement improvements inline issue issues latest leave leaves leaving left
        leftover leftovers line lines lint linter linting lints log logging logs manually merge minor misc miss missed missing mistake
        mistakes modernize move moved naming new newer nit nits obsolete old oops outdated part patch perf polish prep prepare print
        printing prints progress readability refactor refactored refactoring release remnants remove removed removes removing rename
        renamed reorganize resolve restore review revert rewrite run short simplification simplifications simplify small source spelling
        stale statement statements string strings stuff style styles supress suppress temp temporary test tests tidy tiny todo todos tweak
        tweaked tweaks type typed types typing typo typos unneeded unnecessary unreachable unused update updated updates upgrade upgraded
        useless variable variables various version versions warning warnings whitespace wip wording workaround
        actions black clippy eslint flake8 github gofmt golangci isort jshint mypy prettier pylint pyright python ruff rust rustc rustfmt
        tslint typescript ts
        available case cases compat concat concats fork main master message messages skip support supported supports think works
        """,
    )
)
_LONGEST_SUBJECT = 500  # characters that are looked at
_MESSAGE_WORD = re.compile(
    r"[^\W\d_]+(?:[._][^\W\d_]\w*)*"
)  # `config.from_json` is a name, of `rust-1.78` only the word
_CONVENTIONAL = re.compile(r"^\W*(?:build|chore|ci|docs?|feat|fix|perf|refactor|style|tests?)(?=\(|!?:)", re.I)


def says_nothing(text: str) -> bool:
    """Return True for a message that names nothing of the code: only kinds of work, common words and numbers."""
    words = _MESSAGE_WORD.findall(_CONVENTIONAL.sub("", without_ids(without_trailers(text))))
    return not any(
        (plain := word.lower()) not in _KINDS_OF_WORK and plain not in COMMON and len(plain) > 2 for word in words
    )


# reason → predicate that skips a commit; the second argument is its subject without issue numbers
_REASONS: dict[str, Callable[[Commit, str], object]] = {
    "merge": lambda commit, subject: len(commit.parents) > 1 or _MERGE.search(subject),
    "bot": lambda commit, subject: _BOT.search(commit.author) or _BOT.search(commit.committer),
    "release": lambda commit, subject: _RELEASE.search(subject),
    "revert": lambda commit, subject: _REVERT.search(subject) or "This reverts commit" in commit.message,
    "formatting": lambda commit, subject: _FORMATTING.search(subject),
    "housekeeping": lambda commit, subject: _HOUSEKEEPING.search(subject),
    "documentation": lambda commit, subject: _DOCUMENTATION.search(subject),
    "follow-up": lambda commit, subject: _FOLLOW_UP.search(subject),
    "default message": lambda commit, subject: _DEFAULT.fullmatch(without_ids(without_trailers(commit.message))),
}


def reason_against(commit: Commit, include_tests: bool) -> str:
    """Return the first reason to skip a commit by its metadata; empty when there is none."""
    subject = without_ids(commit.subject[:_LONGEST_SUBJECT])
    first_reason = next((reason for reason, applies in _REASONS.items() if applies(commit, subject)), "")
    if not first_reason and not include_tests and _TESTS.search(subject):
        return "tests only"
    return first_reason
