"""The configuration of a repository: `assay.toml` at its root, checked as a whole. Below it stand the user's own configuration, then defaults.

Settings that need trust (config/trust) and do not have it are left out, and one line names them.

[context]                      what `assay context` does when no option says otherwise
[search]                       the same for `assay search`: how documents are divided, embedded and judged again
[ask]                          the same for `assay ask`: when to refuse, and who writes
[profile.NAME]                 a ranking of one's own: base = "default", and any of its numbers
[classes.CONCEPT]              phrases people use here, and the names the code has for them
[workspace]                    the repositories that are asked as one from this folder
"""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.config import trust, user
from assay.config.trust import Risk
from assay.config.user import BadConfiguration, read_table
from assay.errors import AssayError
from assay.pack.render import FORMS
from assay.rank.profile import BASE, DEFAULT, PROFILES, Profile, flat, from_table, known, numbers
from assay.rank.signals.classes import EquivalenceClass, user_classes
from assay.text.chunk import DEFAULT as CHUNKER

__all__ = ["NAME", "NONE", "BadConfiguration", "Configuration", "Setting", "load", "settings"]

NAME = "assay.toml"
BUILT_IN = "built in"
USER = "user configuration"
_SECTIONS = ("context", "search", "ask", "profile", "classes", "workspace")
_USER_SECTIONS = ("context", "search", "ask", user.SERVERS)
# the setting with a key's variable → the server it is for: a key never goes to the server that another file, or an option, names
_KEYS = {"embedder_key_variable": "embedder", "reranker_key_variable": "reranker", "model_key_variable": "model"}
_LEAST = {"budget": 0, "k": 1}
NONE = "none"  # an embedder or a reranker that is not wanted


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
    embedder: str = "lsa"  # `none`, or a spec of assay.search.embed
    reranker: str = "features"
    vectors: float = 0.5  # what nearness in meaning counts, all being 1
    embedder_key_variable: str = ""  # the environment variable with the key of a server
    reranker_key_variable: str = ""

    def but(self, **said: Any) -> SearchSettings:
        """With what is said instead; None says nothing. A key stays with its server."""
        return dataclasses.replace(self, **_changes(self, said))


@dataclass(frozen=True, slots=True)
class AskSettings:
    """How questions are answered where nothing else is asked for."""

    threshold: float = 0.5  # of confidence, below which the answer is a refusal
    model: str = ""  # URL#NAME of who writes; empty: excerpts
    model_key_variable: str = ""  # the environment variable with its key

    def but(self, **said: Any) -> AskSettings:
        """With what is said instead; None says nothing. A key stays with its server."""
        return dataclasses.replace(self, **_changes(self, said))


def _changes(settings: SearchSettings | AskSettings, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are given, and no key for a server that is replaced by another one."""
    changes = {name: value for name, value in given.items() if value is not None}
    for key in [
        key for key, server in _KEYS.items() if server in changes and key not in changes and getattr(settings, key)
    ]:
        from assay.config.servers import origin_of_spec  # few have a key

        before, after = getattr(settings, _KEYS[key]), changes[_KEYS[key]]
        if origin_of_spec(before) != origin_of_spec(after):
            changes[key] = ""
    return changes


@dataclass(frozen=True, slots=True)
class WorkspaceSettings:
    """What is asked together from this folder."""

    roots: tuple[str, ...] = ()  # `path` from here, or `label=path`; roots.py says what they may be


_SEARCH = dataclasses.asdict(SearchSettings())
_ASK = dataclasses.asdict(AskSettings())


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a repository has settled. `file` is None when it has no file; `given` is what counts of it, `own` of the user's configuration.

    `risks` are its settings that need trust, `ignored` those of them that do not have it.
    """

    file: Path | None = None
    context: ContextSettings = ContextSettings()
    search: SearchSettings = SearchSettings()
    ask: AskSettings = AskSettings()
    profiles: Mapping[str, Profile] = field(default_factory=lambda: PROFILES)  # the built-in ones and its own
    classes: tuple[EquivalenceClass, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    workspace: WorkspaceSettings = WorkspaceSettings()
    own: Mapping[str, Any] = field(default_factory=dict)
    risks: tuple[Risk, ...] = ()
    ignored: tuple[Risk, ...] = ()

    @property
    def ignored_settings(self) -> list[str]:
        """The names of what is ignored, as in `[search] embedder`."""
        return list(dict.fromkeys(risk.title for risk in self.ignored))

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


def load(root: Path | None) -> Configuration:
    """The configuration of the repository at `root`, or the user's alone; raises BadConfiguration with everything that is wrong with it."""
    folder = root or Path()
    path = folder / NAME
    table, own = read_table(path, folder) if root else None, user.read()
    if table is None and not own:
        return Configuration()
    problems: list[str] = []
    below = _Parsed(user.path() if own else path, own, _USER_SECTIONS, problems)
    if user.SERVERS in own:
        from assay.config.servers import read_servers

        read_servers(own)
    above = _Parsed(path, table or {}, _SECTIONS, problems)
    if problems:
        raise BadConfiguration(problems)
    risks = tuple(trust.risks(above.table, folder))
    ignored = () if not risks or trust.is_trusted(path, risks) else risks
    given = _bind_keys(trust.without(above.table, ignored))
    own = _bind_keys(own, given)
    configuration = Configuration(
        path if table is not None else None,
        ContextSettings(**_named(below.context, own, "context") | _named(above.context, given, "context")),
        SearchSettings(**_named(below.search, own, "search") | _named(above.search, given, "search")),
        AskSettings(**_named(below.ask, own, "ask") | _named(above.ask, given, "ask")),
        above.profiles, above.classes, given,
        WorkspaceSettings(tuple(given.get("workspace", {}).get("roots", ()))),
        own, risks, ignored,
    )  # fmt: skip
    if ignored:
        trust.announce(_ignoring(path, configuration.ignored_settings))
    return configuration


def _ignoring(path: Path, names: Sequence[str]) -> str:
    import shlex

    try:
        here = Path.cwd().is_relative_to(path.parent.resolve())
    except OSError:  # the current folder is gone
        here = False
    show = "assay trust --show" if here else f"assay trust --show --root {shlex.quote(str(path.parent))}"
    return f"{path}: ignored until you trust it: {', '.join(names)} ({show})"


class _Parsed:
    """The settings of a file by section, checked; everything that is wrong is added to the problems."""

    def __init__(self, path: Path, table: Mapping[str, Any], allowed: Collection[str], problems: list[str]) -> None:
        self.table = table
        sections = _right(table, lambda name, rows: _section(path, name, rows, allowed), problems)
        own = sections.get("profile", {})
        self.profiles = {**PROFILES, **_right(own, lambda name, rows: from_table(name, rows, str(path)), problems)}
        names = {**self.profiles, **own}  # a profile with a mistake in it is still one that can be named

        def fitting(section: str, defaults: Mapping[str, Any]) -> dict[str, Any]:
            where, rows = f"{path}: [{section}]", sections.get(section, {})
            return _right(rows, lambda key, value: _fitting(where, defaults, key, value), problems)

        rows = sections.get("context", {})
        self.context = _right(rows, lambda key, value: _setting(path, key, value, names), problems)
        self.ask = fitting("ask", _ASK)
        rows = sections.get("classes", {})
        classes = _right(rows, lambda concept, row: user_classes({concept: row}, str(path))[0], problems)
        self.classes = tuple(classes.values())
        self.search = fitting("search", _SEARCH)
        _right(sections.get("workspace", {}), lambda key, value: _roots(path, key, value), problems)


def _bind_keys(table: Mapping[str, Any], above: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The table without keys whose server it does not name itself, or whose server a table above replaces."""
    bound = dict(table)
    for section in ("search", "ask"):
        rows, over = user.section(table, section), user.section(above or {}, section)
        loose = [key for key, server in _KEYS.items() if server not in rows or server in over]
        if section in table:
            bound[section] = {name: value for name, value in rows.items() if name not in loose}
    return bound


def _named(settings: Mapping[str, Any], table: Mapping[str, Any], section: str) -> dict[str, Any]:
    """Those of checked settings that a table still has."""
    return {name: settings[name] for name in user.section(table, section)}


def _right(rows: Mapping[str, Any], read: Callable[[str, Any], Any], problems: list[str]) -> dict[str, Any]:
    """The rows that could be read, by name; what is wrong with the others is added to the problems."""
    right = {}
    for name, value in rows.items():
        try:
            right[name] = read(name, value)
        except AssayError as error:
            problems.append(str(error))
    return right


def _section(path: Path, name: str, rows: Any, allowed: Collection[str]) -> dict[str, Any]:
    known("section", name, allowed, str(path))
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
    rows: list[Setting] = []
    for title in ("context", "search", "ask", "workspace"):
        values = dataclasses.asdict(getattr(configuration, title))
        rows += _settings((title,), values, given.get(title, {}), "default", user.section(configuration.own, title))
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
    section: tuple[str, ...],
    values: Mapping[str, Any],
    given: Mapping[str, Any],
    otherwise: str,
    own: Mapping[str, Any] = types.MappingProxyType({}),
) -> list[Setting]:
    return [
        Setting(section, name, value, NAME if name in given else USER if name in own else otherwise)
        for name, value in values.items()
    ]


# Adding a table to a TOML file that people write, without touching anything else in it.

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def table_text(path: Sequence[str], rows: Mapping[str, Any]) -> str:
    """A table as TOML has it: `[profile.mine]`, and a line for each row."""
    lines = [f"[{'.'.join(map(key, path))}]", *(f"{key(name)} = {value(one)}" for name, one in rows.items())]
    return "\n".join([*lines, ""])


def with_table(text: str, path: Sequence[str], rows: Mapping[str, Any], comment: str = "") -> str:
    """The text with a table more at its end. Raises AssayError when that cannot be, because something stands there already."""
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = newline * (2 - text.endswith("\n")) if text.strip("\ufeff \r\n\t") else ""
    said = "".join(f"# {line}\n" for line in comment.splitlines())
    added = text + gap + (said + table_text(path, rows)).replace("\n", newline)
    if _parsed(added) != _deepened(_parsed(text), path, rows):
        raise AssayError(
            f"[{'.'.join(map(key, path))}] cannot be added: something of that name stands there in another form"
        )
    return added


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return {}


def _deepened(table: dict[str, Any], path: Sequence[str], rows: Mapping[str, Any]) -> dict[str, Any] | None:
    """What should come out: the table with one more at a path; None when there is one, or no place for it."""
    inner = table
    for name in path[:-1]:
        inner = inner.setdefault(name, {})
        if not isinstance(inner, dict):
            return None
    if path[-1] in inner:
        return None
    inner[path[-1]] = dict(rows)
    return table


def key(name: str) -> str:
    return name if _BARE.fullmatch(name) else value(name)


def value(given: object) -> str:
    """A value of TOML; a table stands in one line."""
    if isinstance(given, Mapping):
        return f"{{ {', '.join(f'{key(name)} = {value(one)}' for name, one in given.items())} }}"
    return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")
