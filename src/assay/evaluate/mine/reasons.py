"""Why a commit makes no query, as far as it tells itself: by its parents, its people and its subject."""

from __future__ import annotations

import re
from collections.abc import Callable

from assay.evaluate.mine.log import Commit
from assay.text.messages import without_ids, without_trailers

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
# what follows tells "fix the docs of X" from "fix doc parsing"
_DOCUMENTATION = re.compile(
    r"^\W*(?:docs?|documentation|changelog)(?:\([^)]*\))?!?:"
    rf"|{_SCOPE}(?:{_FIXING}\s+(?:\S+\s+){{0,3}})?(?:typos?\b|(?:spelling|grammar)(?: mistakes?| errors?| issues?)?\W*$)"
    rf"|{_SCOPE}{_FIXING}.*\b(?:docs?|documentation|doc-?strings?|[jk]?doc comments?|java-?docs?|rustdocs?|comments?|changelog|readme|broken links?)"
    r"(?=\W*(?:$|[.,;:]|(?:for|of|in|on|about|and|following|with|entr(?:y|ies)|wording)\b))",
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

# reason → whether a commit is left out for it; the second argument is its subject without numbers of issues
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
    """Why a commit is left out for what it says, the first that applies; empty when nothing speaks against it."""
    subject = without_ids(commit.subject)
    found = next((reason for reason, applies in _REASONS.items() if applies(commit, subject)), "")
    if not found and not include_tests and _TESTS.search(subject):
        return "tests only"
    return found
