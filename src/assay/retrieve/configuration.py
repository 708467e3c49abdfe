"""The configuration of a repository: `assay.toml` at its root, checked as a whole. What it does not say has its default.

[context]                      what `assay context` does when no option says otherwise
[search]                       the same for `assay search`: how documents are divided, embedded and judged again
[ask]                          the same for `assay ask`: when to refuse, and who writes
[profile.NAME]                 a ranking of one's own: base = "default", and any of its numbers
[classes.CONCEPT]              phrases people use here, and the names the code has for them
[workspace]                    the repositories that are asked as one from this folder
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.retrieve.equivalence import EquivalenceClass, user_classes
from assay.retrieve.profile import DEFAULT, PROFILES, Profile
from assay.retrieve.render import FORMS
from assay.retrieve.settings import BASE, flat, from_table, known, numbers
from assay.text.chunk import DEFAULT as CHUNKER

NAME = "assay.toml"
BUILT_IN = "built in"
_SECTIONS = ("context", "search", "ask", "profile", "classes", "workspace")
_LEAST = {"budget": 0, "k": 1}
NONE = "none"  # an embedder or a reranker that is not wanted
_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")  # how tomllib ends its messages


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """How tasks are answered where nothing else is asked for."""

    profile: str = DEFAULT
    budget: int = 50_000  # tokens
    k: int = 50  # items
    format: str = "text"
    threshold: float = 0.23  # of confidence, below which an answer says that it is probably not here


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How passages are searched where nothing else is asked for."""

    k: int = 10
    chunker: str = str(CHUNKER)
    embedder: str = "lsa"  # `none`, or a spec of assay.embed
    reranker: str = "features"
    vectors: float = 0.5  # what nearness in meaning counts, all being 1
    embedder_key_variable: str = ""  # the environment variable with the key of a server
    reranker_key_variable: str = ""

    def but(self, **said: Any) -> SearchSettings:
        """With what is said instead; None says nothing."""
        return dataclasses.replace(self, **{name: value for name, value in said.items() if value is not None})


@dataclass(frozen=True, slots=True)
class AskSettings:
    """How questions are answered where nothing else is asked for."""

    threshold: float = 0.5  # of confidence, below which the answer is a refusal
    model: str = ""  # URL#NAME of who writes; empty: excerpts
    model_key_variable: str = ""  # the environment variable with its key

    def but(self, **said: Any) -> AskSettings:
        """With what is said instead; None says nothing."""
        return dataclasses.replace(self, **{name: value for name, value in said.items() if value is not None})


@dataclass(frozen=True, slots=True)
class WorkspaceSettings:
    """What is asked together from this folder."""

    roots: tuple[str, ...] = ()  # `path` from here, or `label=path`; roots.py says what they may be


_SEARCH = dataclasses.asdict(SearchSettings())
_ASK = dataclasses.asdict(AskSettings())


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a repository has settled. `file` is None when it has no file; `given` is what stands in it."""

    file: Path | None = None
    context: ContextSettings = ContextSettings()
    search: SearchSettings = SearchSettings()
    ask: AskSettings = AskSettings()
    profiles: Mapping[str, Profile] = field(default_factory=lambda: PROFILES)  # the built-in ones and its own
    classes: tuple[EquivalenceClass, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    workspace: WorkspaceSettings = WorkspaceSettings()

    def profile(self, name: str | None = None) -> Profile:
        """The profile of that name, or the one in use; an unknown name is an error that offers the nearest."""
        return self.profiles[known("profile", name or self.context.profile, self.profiles)]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, and where it comes from: the file, the default, or the profile it is based on."""

    section: tuple[str, ...]
    name: str
    value: Any
    origin: str

    @property
    def built_in(self) -> bool:
        return self.origin == BUILT_IN


class BadConfiguration(AssayError):
    """What is wrong with a configuration, a line for each problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def load(root: Path) -> Configuration:
    """The configuration of the repository at `root`; raises BadConfiguration with everything that is wrong with it."""
    path = root / NAME
    table = _read(path)
    if table is None:
        return Configuration()
    problems: list[str] = []
    sections = _right(table, lambda name, rows: _section(path, name, rows), problems)
    own = sections.get("profile", {})
    profiles = {**PROFILES, **_right(own, lambda name, rows: from_table(name, rows, str(path)), problems)}
    names = {**profiles, **own}  # a profile with a mistake in it is still one that can be named
    context = _right(sections.get("context", {}), lambda key, value: _setting(path, key, value, names), problems)
    ask = _right(sections.get("ask", {}), lambda key, value: _fitting(f"{path}: [ask]", _ASK, key, value), problems)
    rows = sections.get("classes", {})
    classes = _right(rows, lambda concept, row: user_classes({concept: row}, str(path))[0], problems)
    search = _right(
        sections.get("search", {}), lambda key, value: _fitting(f"{path}: [search]", _SEARCH, key, value), problems
    )
    workspace = _right(sections.get("workspace", {}), lambda key, value: _roots(path, key, value), problems)
    if problems:
        raise BadConfiguration(problems)
    return Configuration(
        path, ContextSettings(**context), SearchSettings(**search), AskSettings(**ask), profiles, tuple(classes.values()), table,
        WorkspaceSettings(**workspace),
    )  # fmt: skip


def _right(rows: Mapping[str, Any], read: Callable[[str, Any], Any], problems: list[str]) -> dict[str, Any]:
    """The rows that could be read, by name; what is wrong with the others is added to the problems."""
    right = {}
    for name, value in rows.items():
        try:
            right[name] = read(name, value)
        except AssayError as error:
            problems.append(str(error))
    return right


def _read(path: Path) -> dict[str, Any] | None:
    """The file as a table; None when there is none."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadConfiguration([f"{path}: cannot be read ({error.strerror or error})"]) from None
    except UnicodeDecodeError as error:
        before = error.object.count(b"\n", 0, error.start)
        raise BadConfiguration([f"{path}:{before + 1}: not UTF-8"]) from None
    import tomllib  # most repositories have no such file

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also for a number too long, and for nesting too deep
        said = str(error)
        place = _PLACE.search(said)
        line = f":{place[1] or text.count(chr(10)) + 1}" if place else ""
        raise BadConfiguration([f"{path}{line}: not TOML: {_PLACE.sub('', said)}"]) from None


def _section(path: Path, name: str, rows: Any) -> dict[str, Any]:
    known("section", name, _SECTIONS, str(path))
    if not isinstance(rows, dict):
        raise AssayError(f"{path}: [{name}] must be a table, not {rows!r}")
    return rows


def _setting(path: Path, key: str, value: Any, profiles: Collection[str]) -> Any:
    """One setting of [context], if it is what it should be."""
    where = f"{path}: [context]"
    settings = dataclasses.asdict(ContextSettings())
    if isinstance(settings[known("setting", key, settings, where)], str):
        return known(key, value, {"profile": profiles, "format": FORMS}[key], where)
    return _fitting(where, settings, key, value)


def _roots(path: Path, key: str, value: Any) -> tuple[str, ...]:
    where = f"{path}: [workspace]"
    known("setting", key, ("roots",), where)
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        raise AssayError(
            f'{where} roots must be a list of folders, for example ["../api", "docs=../handbook"], not {value!r}'
        )
    return tuple(value)


def search_settings(said: Mapping[str, str]) -> dict[str, Any]:
    """Settings of a search that were written as text, by name; a wrong one is an error that offers the nearest."""
    return _read_text("search", _SEARCH, said)


def ask_settings(said: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same of an answer: those of the search behind it, and its own."""
    read = _read_text("ask", _SEARCH | _ASK, said)
    return {name: read[name] for name in read if name in _SEARCH}, {name: read[name] for name in read if name in _ASK}


def _read_text(where: str, defaults: Mapping[str, Any], said: Mapping[str, str]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for name, text in said.items():
        default = defaults[known("setting", name, defaults, where)]
        try:
            read[name] = _fitting(where, defaults, name, type(default)(text))
        except ValueError:
            raise AssayError(f"{where}: {name} must be a number, not {text!r}") from None
    return read


def _fitting(where: str, defaults: Mapping[str, Any], key: str, value: Any) -> Any:
    """One setting of [search] or [ask], if it is what it should be; what specs mean is said where they are used."""
    default = defaults[known("setting", key, defaults, where)]
    if isinstance(default, int):
        return _whole(where, key, value)
    if isinstance(default, float):
        if type(value) not in (int, float) or not 0 <= value <= 1:
            raise AssayError(f"{where} {key} must be a number from 0 to 1, not {value!r}")
        return float(value)
    if not isinstance(value, str) or (default and not value.strip()):
        raise AssayError(f'{where} {key} must be text, for example "{default or "MY_KEY"}", not {value!r}')
    return value


def _whole(where: str, key: str, value: Any) -> int:
    least = _LEAST[key]
    if type(value) is not int or value < least:
        raise AssayError(f"{where} {key} must be a whole number of at least {least}, not {value!r}")
    return value


def settings(configuration: Configuration) -> list[Setting]:
    """Everything that is settled: the settings of [context], [search] and [ask], the profile in use, one's own profiles and classes."""
    given, context = configuration.given, configuration.context
    rows = _settings(("context",), dataclasses.asdict(context), given.get("context", {}), "default")
    rows += _settings(("search",), dataclasses.asdict(configuration.search), given.get("search", {}), "default")
    rows += _settings(("ask",), dataclasses.asdict(configuration.ask), given.get("ask", {}), "default")
    rows += _settings(
        ("workspace",), dataclasses.asdict(configuration.workspace), given.get("workspace", {}), "default"
    )
    own = given.get("profile", {})
    for name in dict.fromkeys((context.profile, *own)):
        table = own.get(name, {})
        base = table.get(BASE, DEFAULT)
        section, origin = ("profile", name), f"profile {base}" if name in own else BUILT_IN
        if name in own:
            rows += _settings(section, {BASE: base}, table, "default")
        rows += _settings(section, flat(numbers(configuration.profiles[name])), flat(table), origin)
    for one in configuration.classes:
        values = {key: value for key, value in dataclasses.asdict(one).items() if key != "concept"}
        rows += _settings(("classes", one.concept), values, given["classes"][one.concept], "default")
    return rows


def _settings(
    section: tuple[str, ...], values: Mapping[str, Any], given: Mapping[str, Any], otherwise: str
) -> list[Setting]:
    return [Setting(section, name, value, NAME if name in given else otherwise) for name, value in values.items()]
