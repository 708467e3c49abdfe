"""Intent of a query: features of its wording that tell a question to the documents from a look for code."""

from __future__ import annotations

import re

from assay.rank.vocabulary import word_set

_QUESTION = re.compile(
    r"(how (do|can|to|should|would)\b|can |could |why |what |which |is |are |does |do |when |should |i |my |we |will |who )",
    re.IGNORECASE,
)
_LOCATION = re.compile(r"(where\b|how (is|are)\b|how \w+(s|ed)\b)", re.IGNORECASE)
_AMOUNT = re.compile(r"\bdefault|\blimit|\bhow (many|long|much|often)\b|\bmaxim|\bminim", re.IGNORECASE)
_HOW = re.compile(r"how\b", re.IGNORECASE)
_PROBLEM = re.compile(
    r"n't\b|\b(not|no|never|nothing|cannot|unable|fail(s|ed|ing|ure)?|errors?|wrong|broken|missing|slow|stuck|hangs?|"
    r"crash(es|ed)?|issues?|problems?|without|instead|ignored?)\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"(add|allow|avoid|change|configure|convert|create|default|delete|disable|enable|exclude|force|get|hide|ignore|"
    r"include|install|keep|limit|make|only|override|pass|prevent|print|remove|restrict|run|send|set|show|skip|specify|"
    r"stop|support|suppress|switch|turn|update|upgrade|use|using)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w']+")
_IDENTIFIER = re.compile(r"\w\(\)|\b[a-z]+[A-Z]\w*|\b[A-Z]\w*[a-z][A-Z]\w*|\b\w+_\w+|\b\w+(?:\.|::)\w+")
_PERSONAL = word_set("i my me you we our")
_DOCUMENTS = word_set(
    "guide tutorial documentation docs doc manual changelog release notes upgrade migration migrating install installation "
    "overview introduction faq reference policy license licence contributing readme troubleshooting quickstart specification"
)
_CODE = word_set(
    "class classes function functions method module helper helpers util utils utilities implementation implemented handler "
    "parser code defined interface abstract base type types struct entry point wrapper internal internals"
)
_LONG = 20  # words; longer queries are all alike


def intent(query: str) -> dict[str, float]:
    """Return the features of a query's wording, each from 0 to 2."""
    words = _WORD.findall(query.lower())
    known = set(words)
    return {
        "ends with ?": float(query.rstrip().endswith("?")),
        "asks like a question": float(bool(_QUESTION.match(query.lstrip()))),
        "asks for a place": float(bool(_LOCATION.match(query.lstrip()))),
        "reports a problem": float(bool(_PROBLEM.search(query))),
        "begins with a request": float(bool(_REQUEST.match(query.lstrip()))),
        "speaks of the user": float(bool(known & _PERSONAL)),
        "length": min(len(words), _LONG) / 10,
        "names a kind of document": float(bool(known & _DOCUMENTS)),
        "names a part of code": float(bool(known & _CODE)),
        "has an identifier": float(bool(_IDENTIFIER.search(query))),
    }


def asks_for_amount(query: str) -> bool:
    """Return whether a query wants a number or a default."""
    return _AMOUNT.search(query) is not None


def asks_how(query: str) -> bool:
    """Return whether a query wants to know how something is done."""
    return _HOW.match(query.lstrip()) is not None
