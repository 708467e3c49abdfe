"""What a file is, by its path."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TIERS = {"hard": 4, "medium": 2, "easy": 0}  # folders from which on

# the first that fits; what fits none may be source
_ROLES = {
    "vendored": re.compile(
        r"(^|/)(node_modules|bower_components|vendor|vendored|_vendor|third[_-]party|site-packages|dist|\.yarn)/"
        r"|\.(min|bundle)\.\w+$|\.(lock|lockb|sum|snap|map)$|(^|/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml)$"
        r"|_pb2(_grpc)?\.pyi?$|\.pb\.(go|cc|h)$|\.g\.(cs|dart)$|\.designer\.cs$|[._](generated|gen)\.\w+$|(^|/)zz_generated[^/]*$",
        re.I,
    ),
    "document": re.compile(
        r"^docs?/|\.(md|mdx|markdown|rst|txt|adoc|asciidoc|org|tex|html?|css|scss|less|svg|png|jpe?g|gif|ico|pdf)$"
        r"|\.(json|jsonl|ya?ml|toml|ini|cfg|conf|csv|tsv|xml|properties|mod)$"
        r"|(^|/)(LICEN[CS]E|AUTHORS|CONTRIBUTORS|NOTICE|README|CHANGES|CHANGELOG|Makefile|Dockerfile)[^/.]*$|(^|/)\.[^/]+$",
        re.I,
    ),
    "test": re.compile(
        r"(^|/)(tests?|specs?|testing|testdata|test[-_]?suite|__tests__|__mocks__|fixtures|[\w.-]*Tests?)/"
        r"|(^|/)(test_[^/]*|conftest|[^/]*(_test|_tests|_spec|\.test|\.spec|[a-z]Tests?|[a-z]TestCase))\.\w+$|(^|/)tests?\.\w+$"
    ),
}


def role(path: str) -> str:
    """vendored, document (also data and configuration), test or source."""
    return next((name for name, pattern in _ROLES.items() if pattern.search(path)), "source")


def tier(paths: Iterable[str]) -> str:
    """How hard it is to find all of these: by the number of folders they are in."""
    folders = len({path.rpartition("/")[0] for path in paths})
    return next(name for name, least in _TIERS.items() if folders >= least)
