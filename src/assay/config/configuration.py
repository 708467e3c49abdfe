"""Configuration of a repository: `assay.toml`, over the user's configuration, over defaults.

All problems of a file are reported together. Untrusted risky settings (config/trust) are left out and named on one
line.

[context]            defaults of `assay context`
[search]             defaults of `assay search`: chunker, embedder, reranker
[ask]                defaults of `assay ask`: refusal threshold and model
[profile.NAME]       a ranking profile: base = "default", and any of its numbers
[classes.CONCEPT]    phrases of a concept, and the names it has in the code
[enrich]             programs of `assay enrich`, and whether they may run code of the repository
[workspace]          repositories that are queried together from this folder
[flags]              names of the repository's own feature flag calls
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.config import cluster, trust, user
from assay.config.trust import Risk
from assay.config.user import BadConfiguration, read_table
from assay.errors import AssayError
from assay.index.flag_patterns import is_pattern
from assay.pack.render import FORMS
from assay.rank.profile import BASE, DEFAULT, PROFILES, Profile, flatten, from_table, settings_of
from assay.rank.signals.classes import EquivalenceClass, user_classes
from assay.text.chunk import DEFAULT as CHUNKER
from assay.text.suggest import require_name

__all__ = ["NAME", "NONE", "BadConfiguration", "Configuration", "Setting", "load", "settings"]

NAME = "assay.toml"
BUILT_IN = "built in"
USER = "user configuration"
_SECTIONS = ("context", "search", "ask", "profile", "classes", "workspace", "enrich", "flags")
_USER_SECTIONS = ("context", "search", "ask", "enrich", user.SERVERS, user.SERVE, cluster.SECTION)
# key variable → setting of its server: a key never goes to a server that another file or an option names
_KEYS = {"embedder_key_variable": "embedder", "reranker_key_variable": "reranker", "model_key_variable": "model"}
_MINIMUM = {"budget": 0, "k": 1}
NONE = "none"  # disables the embedder or reranker


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """Defaults for tasks."""

    profile: str = DEFAULT
    budget: int = 50_000  # tokens
    k: int = 50  # items
    format: str = "text"
    threshold: float = 0.67  # confidence below which an answer warns that the code is probably not here


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Defaults for passage search."""

    k: int = 10
    chunker: str = str(CHUNKER)
    embedder: str = "lsa"  # `none`, or a spec of assay.search.embed
    reranker: str = "features"
    vectors: float = 0.5  # share of vector similarity in the blended score
    embedder_key_variable: str = ""  # environment variable with the server's key
    reranker_key_variable: str = ""

    def but(self, **overrides: Any) -> SearchSettings:
        """Return a copy with the given overrides; None means no override. A key is dropped if its server changes."""
        return dataclasses.replace(self, **_changes(self, overrides))


@dataclass(frozen=True, slots=True)
class AskSettings:
    """Defaults for questions."""

    threshold: float = 0.70  # confidence from which a question is answered
    refuse_below: float = 0.20  # confidence below which it is refused; between the two, the closest passages are shown
    model: str = ""  # URL#NAME of the model; empty: excerpts
    model_key_variable: str = ""  # environment variable with its key

    def but(self, **overrides: Any) -> AskSettings:
        """Return a copy with the given overrides; None means no override. A key is dropped if its server changes."""
        return dataclasses.replace(self, **_changes(self, overrides))


def _changes(settings: SearchSettings | AskSettings, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the overrides that are not None, and clear the key of a server that is replaced."""
    changes = {name: value for name, value in overrides.items() if value is not None}
    for key in [
        key for key, server in _KEYS.items() if server in changes and key not in changes and getattr(settings, key)
    ]:
        before, after = getattr(settings, _KEYS[key]), changes[_KEYS[key]]
        if user.origin_of_spec(before) != user.origin_of_spec(after):
            changes[key] = ""
    return changes


@dataclass(frozen=True, slots=True)
class WorkspaceSettings:
    """Repositories that are queried together."""

    roots: tuple[str, ...] = ()  # relative `path` or `label=path`, see roots.py


@dataclass(frozen=True, slots=True)
class EnrichSettings:
    """Tools that `assay enrich` may start."""

    allow_build: bool = False  # tools may run code of the repository: builds, macros
    programs: Mapping[str, str] = field(default_factory=dict)  # absolute paths by name of tool or program


@dataclass(frozen=True, slots=True)
class FlagSettings:
    """Feature flags that an index looks for beside those of known libraries."""

    patterns: tuple[str, ...] = ()  # names of calls, see index/flag_patterns.py


_SEARCH = dataclasses.asdict(SearchSettings())
_ASK = dataclasses.asdict(AskSettings())


@dataclass(frozen=True, slots=True)
class Configuration:
    """The effective settings of a repository.

    `file` is None without an assay.toml; `given` holds its effective settings, `own` those of the user's configuration.
    `risks` are its settings that need trust, `ignored` those that lack it.
    """

    file: Path | None = None
    context: ContextSettings = ContextSettings()
    search: SearchSettings = SearchSettings()
    ask: AskSettings = AskSettings()
    profiles: Mapping[str, Profile] = field(default_factory=lambda: PROFILES)  # built-in and own
    classes: tuple[EquivalenceClass, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    workspace: WorkspaceSettings = WorkspaceSettings()
    own: Mapping[str, Any] = field(default_factory=dict)
    risks: tuple[Risk, ...] = ()
    ignored: tuple[Risk, ...] = ()
    enrich: EnrichSettings = EnrichSettings()
    flags: FlagSettings = FlagSettings()

    @property
    def ignored_settings(self) -> list[str]:
        """Names of ignored settings, as in `[search] embedder`."""
        return list(dict.fromkeys(risk.title for risk in self.ignored))

    def profile(self, name: str | None = None) -> Profile:
        """Return a profile by name, or the configured one; an unknown name raises an error with suggestions."""
        return self.profiles[require_name("profile", name or self.context.profile, self.profiles)]


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting and its origin: a file, the default, or its base profile."""

    section: tuple[str, ...]
    name: str
    value: Any
    origin: str

    @property
    def built_in(self) -> bool:
        return self.origin == BUILT_IN


def load(root: Path | None) -> Configuration:
    """Load the configuration at `root`, or the user's alone. Raises BadConfiguration with all problems."""
    folder = root or Path()
    path = folder / NAME
    table, own = read_table(path, folder) if root else None, user.read()
    if table is None and not own:
        return Configuration()
    problems: list[str] = []
    user.store(own)
    sections = {name: rows for name, rows in own.items() if name != user.STORE}
    below = _Parsed(user.path() if own else path, sections, _USER_SECTIONS, problems)
    if user.SERVERS in own:
        user.read_servers(own)
    if user.SERVE in own:
        user.allowed_folders(own)
    if cluster.SECTION in own:
        cluster.read_cluster(own)
    above = _Parsed(path, table or {}, _SECTIONS, problems)
    if problems:
        raise BadConfiguration(problems)
    risks = tuple(trust.risks(above.table, folder))
    ignored = () if not risks or trust.is_trusted(path, risks) else risks
    given = _bind_keys(trust.without(above.table, ignored))
    own = _bind_keys(own, given)
    configuration = Configuration(
        path if table is not None else None,
        ContextSettings(**_pick(below.context, own, "context") | _pick(above.context, given, "context")),
        SearchSettings(**_pick(below.search, own, "search") | _pick(above.search, given, "search")),
        AskSettings(**_pick(below.ask, own, "ask") | _pick(above.ask, given, "ask")),
        above.profiles, above.classes, given,
        WorkspaceSettings(tuple(given.get("workspace", {}).get("roots", ()))),
        own, risks, ignored,
        EnrichSettings(**_pick(below.enrich, own, "enrich") | _pick(above.enrich, given, "enrich")),
        FlagSettings(tuple(given.get("flags", {}).get("patterns", ()))),
    )  # fmt: skip
    if ignored:
        trust.announce(_ignored_message(path, configuration.ignored_settings))
    return configuration


def _ignored_message(path: Path, names: Sequence[str]) -> str:
    import shlex

    try:
        inside = Path.cwd().is_relative_to(path.parent.resolve())
    except OSError:  # the current folder was deleted
        inside = False
    show = "assay trust --show" if inside else f"assay trust --show --root {shlex.quote(str(path.parent))}"
    return f"{path}: ignored until you trust it: {', '.join(names)} ({show})"


class _Parsed:
    """Validated settings of a file by section; problems are appended to the given list."""

    def __init__(self, path: Path, table: Mapping[str, Any], allowed: Collection[str], problems: list[str]) -> None:
        self.table = table
        sections = _parse_rows(table, lambda name, rows: _section(path, name, rows, allowed), problems)
        own = sections.get("profile", {})
        self.profiles = {**PROFILES, **_parse_rows(own, lambda name, rows: from_table(name, rows, str(path)), problems)}
        names = {**self.profiles, **own}  # a profile with errors can still be referenced

        def checked(section: str, defaults: Mapping[str, Any]) -> dict[str, Any]:
            location, rows = f"{path}: [{section}]", sections.get(section, {})
            return _parse_rows(rows, lambda key, value: _checked(location, defaults, key, value), problems)

        rows = sections.get("context", {})
        self.context = _parse_rows(rows, lambda key, value: _setting(path, key, value, names), problems)
        self.ask = checked("ask", _ASK)
        rows = sections.get("classes", {})
        classes = _parse_rows(rows, lambda concept, row: user_classes({concept: row}, str(path))[0], problems)
        self.classes = tuple(classes.values())
        self.search = checked("search", _SEARCH)
        rows = sections.get("enrich", {})
        self.enrich = _parse_rows(rows, lambda key, value: _enrich_setting(path, key, value), problems)
        _parse_rows(sections.get("workspace", {}), lambda key, value: _roots(path, key, value), problems)
        _parse_rows(sections.get("flags", {}), lambda key, value: _patterns(path, key, value), problems)


def _bind_keys(table: Mapping[str, Any], above: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the table without keys whose server it does not name itself, or whose server a table above replaces."""
    bound = dict(table)
    for section in ("search", "ask"):
        rows, overriding = user.section(table, section), user.section(above or {}, section)
        unbound = [key for key, server in _KEYS.items() if server not in rows or server in overriding]
        if section in table:
            bound[section] = {name: value for name, value in rows.items() if name not in unbound}
    return bound


def _pick(settings: Mapping[str, Any], table: Mapping[str, Any], section: str) -> dict[str, Any]:
    """Return the validated settings that a table still has."""
    return {name: settings[name] for name in user.section(table, section)}


def _parse_rows(rows: Mapping[str, Any], read: Callable[[str, Any], Any], problems: list[str]) -> dict[str, Any]:
    """Parse the rows and return the valid ones by name; errors are appended to the problems."""
    parsed = {}
    for name, value in rows.items():
        try:
            parsed[name] = read(name, value)
        except AssayError as error:
            problems.append(str(error))
    return parsed


def _section(path: Path, name: str, rows: Any, allowed: Collection[str]) -> dict[str, Any]:
    if name == user.STORE:
        raise AssayError(
            f"{path}: a repository cannot choose the run store, which gets questions and code; set {name} in {user.path()}"
        )
    require_name("section", name, allowed, str(path))
    if not isinstance(rows, dict):
        raise AssayError(f"{path}: [{name}] must be a table, not {rows!r}")
    return rows


def _setting(path: Path, key: str, value: Any, profiles: Collection[str]) -> Any:
    """Validate a setting of [context]."""
    location = f"{path}: [context]"
    settings = dataclasses.asdict(ContextSettings())
    if isinstance(settings[require_name("setting", key, settings, location)], str):
        return require_name(key, value, {"profile": profiles, "format": FORMS}[key], location)
    return _checked(location, settings, key, value)


def _enrich_setting(path: Path, key: str, value: Any) -> Any:
    """Validate a setting of [enrich]."""
    location = f"{path}: [enrich]"
    require_name("setting", key, ("allow_build", "programs"), location)
    if key == "allow_build":
        if not isinstance(value, bool):
            raise AssayError(f"{location} allow_build must be true or false, not {value!r}")
        return value
    if not isinstance(value, dict) or not all(isinstance(program, str) for program in value.values()):
        raise AssayError(f'{location} programs must be a table of paths, for example {{ gopls = "/opt/go/bin/gopls" }}')
    return value


def _roots(path: Path, key: str, value: Any) -> tuple[str, ...]:
    location = f"{path}: [workspace]"
    require_name("setting", key, ("roots",), location)
    if not isinstance(value, list) or not all(isinstance(root, str) and root.strip() for root in value):
        raise AssayError(
            f'{location} roots must be a list of folders, for example ["../api", "docs=../handbook"], not {value!r}'
        )
    return tuple(value)


def _patterns(path: Path, key: str, value: Any) -> tuple[str, ...]:
    location = f"{path}: [flags]"
    require_name("setting", key, ("patterns",), location)
    if not isinstance(value, list) or not all(is_pattern(pattern) for pattern in value):
        raise AssayError(f'{location} patterns must be names of calls, for example ["my_flags.is_on"], not {value!r}')
    return tuple(value)


def search_settings(texts: Mapping[str, str]) -> dict[str, Any]:
    """Parse search settings given as text, by name; an unknown name raises an error with suggestions."""
    return _read_text("search", _SEARCH, texts)


def ask_settings(texts: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse answer settings given as text: those of the search, and its own."""
    parsed = _read_text("ask", _SEARCH | _ASK, texts)
    return {name: parsed[name] for name in parsed if name in _SEARCH}, {
        name: parsed[name] for name in parsed if name in _ASK
    }


def _read_text(location: str, defaults: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    parsed: dict[str, Any] = {}
    for name, text in texts.items():
        default = defaults[require_name("setting", name, defaults, location)]
        try:
            parsed[name] = _checked(location, defaults, name, type(default)(text))
        except ValueError:
            raise AssayError(f"{location}: {name} must be a number, not {text!r}") from None
    return parsed


def _checked(location: str, defaults: Mapping[str, Any], key: str, value: Any) -> Any:
    """Validate a setting of [search] or [ask]; specs are validated where they are used."""
    default = defaults[require_name("setting", key, defaults, location)]
    if isinstance(default, int):
        return _checked_integer(location, key, value)
    if isinstance(default, float):
        if type(value) not in (int, float) or not 0 <= value <= 1:
            raise AssayError(f"{location} {key} must be a number from 0 to 1, not {value!r}")
        return float(value)
    if not isinstance(value, str) or (default and not value.strip()):
        raise AssayError(f'{location} {key} must be text, for example "{default or "MY_KEY"}", not {value!r}')
    return value


def _checked_integer(location: str, key: str, value: Any) -> int:
    minimum = _MINIMUM[key]
    if type(value) is not int or value < minimum:
        raise AssayError(f"{location} {key} must be a whole number of at least {minimum}, not {value!r}")
    return value


def settings(configuration: Configuration) -> list[Setting]:
    """List all effective settings: [context], [search], [ask], the active profile, own profiles and classes."""
    given, context = configuration.given, configuration.context
    rows: list[Setting] = []
    for title in ("context", "search", "ask", "enrich", "workspace", "flags"):
        values = dataclasses.asdict(getattr(configuration, title))
        rows += _settings((title,), values, given.get(title, {}), "default", user.section(configuration.own, title))
    own = given.get("profile", {})
    for name in dict.fromkeys((context.profile, *own)):
        table = own.get(name, {})
        base = table.get(BASE, DEFAULT)
        section, origin = ("profile", name), f"profile {base}" if name in own else BUILT_IN
        if name in own:
            rows += _settings(section, {BASE: base}, table, "default")
        rows += _settings(section, flatten(settings_of(configuration.profiles[name])), flatten(table), origin)
    for row in configuration.classes:
        values = {key: value for key, value in dataclasses.asdict(row).items() if key != "concept"}
        rows += _settings(("classes", row.concept), values, given["classes"][row.concept], "default")
    return rows


def _settings(
    section: tuple[str, ...],
    values: Mapping[str, Any],
    from_file: Mapping[str, Any],
    default_origin: str,
    from_user: Mapping[str, Any] = types.MappingProxyType({}),
) -> list[Setting]:
    return [
        Setting(section, name, value, NAME if name in from_file else USER if name in from_user else default_origin)
        for name, value in values.items()
    ]
