"""Editions of a page: its translations and the copies of other versions, recognized by their paths alone.

Repositories keep them in folders (`docs/ja/guide.md`, `docs/v1/guide.md`, `docs/next/guide.md`), in file names
(`README.zh-CN.md`, `README.日本語.md`), or where Docusaurus puts them (`i18n/`, `versioned_docs/`). Many folders look
like language codes without being any (`it`, `io`, `os`), so a code counts only if pages below it have counterparts
elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple


class Edition(NamedTuple):
    """The page that a document is an edition of, and which edition it is."""

    page: str  # path without language and version; equal for all editions of a page
    language: str = ""  # `ja`, `zh-CN`; empty: not marked, usually English
    version: str = ""  # `2.1`, `3.x`; empty: not marked
    current: bool = True  # False: a copy of an older version


def editions(paths: Sequence[str]) -> list[Edition]:
    """Return the edition of each document of a repository."""
    documents = [_Document(*_split_ending(path)) for path in paths]
    folders = _folders(documents)
    for document in documents:
        _read_docusaurus(document, folders)
        _read_container(document)
    _read_language_folders(documents)
    _read_language_suffixes(documents)
    _read_versions(documents)
    return [Edition(doc.page + doc.ending, doc.language, doc.version, doc.current) for doc in documents]


@dataclass(slots=True)
class _Document:
    page: str  # path without ending; language and version are removed as they are recognized
    ending: str
    language: str = ""
    version: str = ""
    current: bool = True


_MAX_DEPTH = 16  # folders that are examined; deeper ones are an attack
_SAME_ENDINGS = {".mdx": ".md", ".markdown": ".md", ".htm": ".html", ".asciidoc": ".adoc"}
_SHARED_NAMES = frozenset(["readme", "index", "_index"])  # nearly every folder has one


def _split_ending(path: str) -> tuple[str, str]:
    stem, dot, ending = path.rpartition(".")
    if not dot or "/" in ending or not stem or stem.endswith("/"):
        return path, ""
    ending = f".{ending.lower()}"
    return stem, _SAME_ENDINGS.get(ending, ending)


def _folders(documents: Iterable[_Document]) -> set[str]:
    """Return all folders with documents below them."""
    direct = {document.page.rpartition("/")[0] for document in documents}
    return {_join(parent, name) for folder in direct for parent, name, _ in _splits(f"{folder}/", bool)}


def _splits(page: str, is_wanted: Callable[[str], object]) -> list[tuple[str, str, str]]:
    """Return each folder of a path whose name is wanted, with what stands before and after it."""
    parts = page.split("/")
    return [
        ("/".join(parts[:place]), name, "/".join(parts[place + 1 :]))
        for place, name in enumerate(parts[:-1][:_MAX_DEPTH])
        if is_wanted(name)
    ]


def _join(*parts: str) -> str:
    return "/".join(filter(None, parts))


def _has_name(rest: str) -> bool:
    """Return whether a path says more about a page than README or index do."""
    return rest.rpartition("/")[2].lower() not in _SHARED_NAMES


# Languages

_CODES = frozenset(
    re.findall(
        r"\w+",
        """
        aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el
        en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu
        ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na
        nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so
        sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
        fil
        """,
    )
)  # ISO 639-1
# codes that mean little else: one page with a counterpart is enough
_UNMISTAKABLE = frozenset(["en", "zh", "ja", "ko", "fr", "de", "ru", "pt", "pl", "uk", "fa", "hi", "ar", "nl", "sv"])
# languages by their names, in themselves and in English
_NAMES = {
    "中文": "zh", "简体中文": "zh-CN", "繁體中文": "zh-TW", "日本語": "ja", "한국어": "ko", "русский": "ru", "українська": "uk",
    "español": "es", "français": "fr", "deutsch": "de", "português": "pt", "italiano": "it", "türkçe": "tr",
    "polski": "pl", "فارسی": "fa", "العربية": "ar", "हिन्दी": "hi", "chinese": "zh", "japanese": "ja", "korean": "ko",
    "russian": "ru", "spanish": "es", "french": "fr", "german": "de", "portuguese": "pt", "english": "en",
}  # fmt: skip
_COUNTRIES = {"cn": "zh", "jp": "ja", "kr": "ko", "tw": "zh-TW", "ua": "uk", "br": "pt-BR", "cz": "cs", "se": "sv"}
_CODE = re.compile(r"([A-Za-z]{2,3})(?:[-_]([A-Za-z]{4}))?(?:[-_]([A-Za-z]{2}|\d{3}))?")
# `README.zh-CN`, `README_de`; longer tags first, but `how-to-de` ends with German, not with Tongan
_SUFFIXES = (
    re.compile(r"(.+?)([._-])([A-Za-z]{2}[-_](?:[A-Z][a-z]{3}|[A-Z]{2}|[A-Z][a-z]{3}[-_][A-Z]{2}))"),
    re.compile(rf"(.+?)([._-])((?:{'|'.join(sorted(_UNMISTAKABLE))})[-_][a-z]{{2,4}})"),
    re.compile(rf"(.+?)([._-])({'|'.join(_NAMES)})", re.I),
    re.compile(r"(.+)([._-])([A-Za-z]{2,3})"),
)
_SUFFIXED = re.compile(rf"[._-](?:[A-Za-z]{{2,4}}|{'|'.join(_NAMES)})$", re.I)  # rejects most names
_CONTAINER = re.compile(r"(?:.*[-_])?(?:i18n|l10n|locales?|translations?)", re.I)
_CONTAINED = re.compile(r"(?:18n|10n|locales?|translations?)/", re.I)  # rejects most paths
_MANY = 3  # neighbouring folders or files with codes, which need no counterparts
_MIN_SHARE = 0.5  # of the pages below a code that may mean something else: those with counterparts


@lru_cache(maxsize=1 << 12)
def _language(name: str) -> str:
    """Return a name as a language tag, `pt_br` → pt-BR, `日本語` → ja; empty if it is none."""
    if language := _NAMES.get(name.lower()):
        return language
    match = _CODE.fullmatch(name)
    if not match or match[1].lower() not in _CODES:
        return ""
    return "-".join(filter(None, (match[1].lower(), (match[2] or "").capitalize(), (match[3] or "").upper())))


def _is_unmistakable(language: str) -> bool:
    return language.partition("-")[0] in _UNMISTAKABLE


def _read_container(document: _Document) -> None:
    """Read a language in a folder for translations: `docs/translations/ja/guide`, `locale/ja/LC_MESSAGES/guide`."""
    if not _CONTAINED.search(document.page):
        return
    parts = document.page.split("/")
    for place, (container, name) in enumerate(pairwise(parts[:_MAX_DEPTH])):
        if place + 2 < len(parts) and _CONTAINER.fullmatch(container) and (language := _language(name)):
            rest = [part for part in parts[place + 2 :] if part != "LC_MESSAGES"]
            document.page, document.language = "/".join([*parts[:place], *rest]), language
            return


def _read_language_folders(documents: Sequence[_Document]) -> None:
    """Read languages in folders: `docs/ja/guide` beside `docs/guide` or `docs/en/guide`."""
    pages = {document.page for document in documents}
    below: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))  # parent → code → pages in it
    for document in documents:
        for parent, name, rest in _splits(document.page, _language) if not document.language else ():
            below[parent][name].add(rest)
    siblings = Counter(folder.rpartition("/")[0] for folder in _folders(documents)) if below else {}
    accepted = {
        (parent, name)
        for parent, codes in below.items()
        for name in _languages_below(parent, codes, pages, siblings[parent])
    }
    for document in documents:
        for parent, name, rest in _splits(document.page, _language) if accepted and not document.language else ():
            if (parent, name) in accepted:
                document.page, document.language = _join(parent, rest), _language(name)
                break


def _languages_below(parent: str, codes: dict[str, set[str]], pages: set[str], siblings: int) -> set[str]:
    """Return the folders of a parent that are languages."""
    is_certain = any(_is_unmistakable(_language(name)) for name in codes)
    if len(codes) >= _MANY and 2 * len(codes) >= siblings and is_certain:
        return set(codes)
    frequency = Counter(rest for rests in codes.values() for rest in rests)
    accepted, shared = set[str](), dict[str, set[str]]()
    for name, rests in codes.items():
        shared[name] = {rest for rest in rests if frequency[rest] > 1 or _join(parent, rest) in pages}
        named = any(map(_has_name, shared[name])) and len(shared[name]) >= _MIN_SHARE * len(rests)
        if shared[name] and (named or _is_unmistakable(_language(name))):
            accepted.add(name)
    translated = {rest for name in accepted for rest in shared[name]}
    return accepted | {name for name in codes if accepted and shared[name] & translated}


def _read_language_suffixes(documents: Sequence[_Document]) -> None:
    """Read languages at the end of file names: `guide.fr`, `README.zh-CN`, `README_de`."""
    pages = {document.page for document in documents}
    suffixed: dict[str, dict[str, _Document]] = defaultdict(dict)  # page without suffix → suffix → document
    for document in documents:
        folder, _, name = document.page.rpartition("/")
        if document.language or not _SUFFIXED.search(name):
            continue
        matches = (match for pattern in _SUFFIXES if (match := pattern.fullmatch(name)))
        if match := next((match for match in matches if _suffix_language(match[1], match[3])), None):
            suffixed[_join(folder, match[1])][match[2] + match[3]] = document
    for page, copies in suffixed.items():
        is_readme = page.rpartition("/")[2].lower() == "readme"
        base = page if page in pages or not is_readme or "README" not in pages else "README"
        for suffix, document in copies.items():
            language = _suffix_language(page.rpartition("/")[2], suffix[1:])
            has_counterpart = base in pages or len(copies) > 1
            is_certain = suffix[0] == "." or is_readme or _is_unmistakable(language) or len(copies) >= _MANY
            if has_counterpart and is_certain:
                document.page, document.language = base, language


def _suffix_language(stem: str, suffix: str) -> str:
    """Return the language of a suffix. READMEs are also marked with countries: `README_CN`."""
    country = _COUNTRIES.get(suffix.lower(), "") if stem.lower() == "readme" else ""
    return country or _language(suffix)


# Docusaurus

_TRANSLATED = re.compile(
    r"(?:(.+)/)?i18n/([^/]+)/docusaurus-plugin-content-(docs|blog|pages)(?:-([^/]+))?/(?:(current|version-[^/]+)/)?(.+)"
)
_VERSIONED = re.compile(r"(?:(.+)/)?(?:([^/]+)_)?versioned_docs/(version-[^/]+)/(.+)")


def _read_docusaurus(document: _Document, folders: set[str]) -> None:
    """Read the layout of Docusaurus: translations in `i18n/`, older versions in `versioned_docs/`."""
    if "docusaurus-plugin" not in document.page and "versioned_docs/" not in document.page:
        return
    if match := _TRANSLATED.fullmatch(document.page):
        site, code, plugin, instance, version, rest = match.groups()
        if not (language := _language(code)):
            return
        document.language = language
        name = {"pages": "src/pages"}.get(plugin, instance or plugin)
    elif match := _VERSIONED.fullmatch(document.page):
        site, instance, version, rest = match.groups()
        name = instance or "docs"
    else:
        return
    site = site or ""
    # the site may have a folder of its own beside the documents
    home = site if _join(site, name) in folders else site.rpartition("/")[0]
    document.page = _join(home if _join(home, name) in folders else site, name, rest)
    if version and version != "current":
        document.version, document.current = version.removeprefix("version-"), False


# Versions

_NUMBER = re.compile(r"(.*?)(\d+(?:\.\d+)*(?:\.x)?)")
_PREFIXES = frozenset(["", "v", "ver", "version", "release", "rel", "r"])
# names of a version that has no number; of two copies, the one that comes first here is current: what people have installed
_ALIASES = (
    "stable", "latest", "current", "main", "master", "next", "edge", "dev", "development", "unstable", "nightly",
)  # fmt: skip


class _Version(NamedTuple):
    """The name of a folder: what stands before the number, and the number."""

    prefix: str
    number: str


@lru_cache(maxsize=1 << 12)
def _version(name: str) -> _Version | None:
    """Return a folder's name as a version: `v1`, `2.1`, `quartz-3.x`; None for `chapter-2` and `2024`."""
    match = _NUMBER.fullmatch(name)
    if not match:
        return None
    prefix = match[1].rstrip("-_.").lower()
    is_version = "." in match[2] or (prefix and prefix in _PREFIXES)
    return _Version(prefix, match[2]) if is_version else None


def _order(number: str) -> tuple[float, ...]:
    return tuple(float("inf") if part == "x" else float(part[:9]) for part in number.split("."))


def _read_versions(documents: Sequence[_Document]) -> None:
    """Read versions in folders whose names differ only in a number, and mark older copies."""
    groups: dict[tuple[str, str], _Versions] = defaultdict(_Versions)
    pages = {document.page for document in documents}
    for document in documents:
        for parent, name, rest in _splits(document.page, _version) if not document.version else ():
            if version := _version(name):
                groups[parent, version.prefix].pages[version.number].add(rest)
    for (parent, _), versions in groups.items():
        versions.compare(parent, pages)
    products: dict[str, int] = defaultdict(int)  # groups of versions in one folder
    for (parent, _), versions in groups.items():
        products[parent] += versions.are_copies
    for document in documents:
        for parent, name, rest in _splits(document.page, _version) if groups and not document.version else ():
            version = _version(name)
            if version and (versions := groups[parent, version.prefix]).are_copies:
                # `docs/README` is no edition of `docs/v1/README` if it only introduces the versions
                apart = products[parent] > 1 or not (_has_name(rest) or versions.have_base)
                document.page = _join(parent, version.prefix or "version" if apart else "", rest)
                document.version, document.current = version.number, version.number == versions.newest
                break
    _read_aliases(documents)
    _read_alias_copies(documents)
    unversioned = {(document.page, document.language) for document in documents if not document.version}
    for document in documents:
        if document.version and (document.page, document.language) in unversioned:
            document.current = False


class _Versions:
    """Folders whose names differ only in a number: the pages below each."""

    def __init__(self) -> None:
        self.pages: dict[str, set[str]] = defaultdict(set)
        self.are_copies = self.have_base = False
        self.newest = ""

    def compare(self, parent: str, pages: set[str]) -> None:
        """Find whether they hold copies of the same pages, or of pages that stand beside them."""
        frequency = Counter(rest for rests in self.pages.values() for rest in rests if _has_name(rest))
        self.have_base = any(_join(parent, alias, rest) in pages for rest in frequency for alias in ("", *_ALIASES))
        self.are_copies = self.have_base or any(count > 1 for count in frequency.values())
        self.newest = max(self.pages, key=_order)


def _is_alias(name: str) -> bool:
    return name.lower() in _ALIASES


def _read_aliases(documents: Sequence[_Document]) -> None:
    """Remove the name of the current version from paths, beside folders of numbered versions."""
    versioned = {document.page for document in documents if document.version}
    for document in documents:
        for parent, _, rest in _splits(document.page, _is_alias) if versioned and not document.version else ():
            if _join(parent, rest) in versioned:
                document.page = _join(parent, rest)
                break


def _read_alias_copies(documents: Sequence[_Document]) -> None:
    """Read versions without numbers that stand beside each other: `docs/latest/guide` and `docs/next/guide`."""
    below: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))  # parent → name → pages in it
    for document in documents:
        for parent, name, rest in _splits(document.page, _is_alias) if not document.version else ():
            below[parent][name].add(rest)
    accepted = {
        (parent, name): current
        for parent, names in below.items()
        if (current := _current_alias(names))
        for name in names
    }
    for document in documents:
        for parent, name, rest in _splits(document.page, _is_alias) if accepted and not document.version else ():
            if (parent, name) in accepted:
                document.page = _join(parent, rest)
                document.version, document.current = name, name == accepted[parent, name]
                break


def _current_alias(names: Mapping[str, set[str]]) -> str:
    """Return the name of the current version; empty unless most pages of the smallest folder stand in another, too."""
    smallest, *others = sorted(names.values(), key=len)
    shared = smallest & set().union(*others)
    is_copy = any(map(_has_name, shared)) and len(shared) >= _MIN_SHARE * len(smallest)
    return min(names, key=lambda name: _ALIASES.index(name.lower())) if is_copy else ""
