"""What is tried: axes of settings, and every combination of their values that is not excluded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from assay.errors import AssayError
from assay.evaluate.systems.protocol import PLACEHOLDER
from assay.text.chunk import parse as chunker
from assay.text.counting import counted
from assay.text.identifiers import nearest

SEARCH = "search"  # the system that has chunkers, embedders and rerankers
ENGINE = "assay"  # the system that has the numbers of a ranking
SETTABLE = (SEARCH, ENGINE)  # systems that take settings behind their name
MOST = 1000  # configurations; more is a slip in the grid, not a plan
NONE = "none"

SHARED = ("chunker", "embedder", "reranker")  # the settings of a search that every report names

# what a sweep of passages tries where nothing else is said: the sizes and the two rerankers of seed 004
USUAL: Mapping[str, tuple[str, ...]] = {
    "chunker": tuple(f"structure:{size}" for size in (512, 1024, 2048, 4096)),
    "embedder": ("lsa",),
    "reranker": (NONE, "features"),
}

Axes = Mapping[str, Sequence[str]]  # setting → the values to try


@dataclass(frozen=True, slots=True)
class Configuration:
    """A system with settings: one cell of the grid. Without settings it is what the repository has configured."""

    system: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def spec(self) -> str:
        """What `--system` of `eval run` takes: settings stand at their `{name}`, or behind a system that takes settings."""
        spec, behind = self.system, []
        for name, value in self.settings.items():
            if f"{{{name}}}" in spec:
                spec = spec.replace(f"{{{name}}}", value)
            else:
                behind.append(f"{name}={value}")
        return f"{spec}{',' if ':' in spec else ':'}{','.join(behind)}" if behind else spec


@dataclass(frozen=True, slots=True)
class Grid:
    """A system, axes of its settings, and combinations that are left out."""

    system: str = SEARCH
    axes: Axes = field(default_factory=dict)
    excluded: Sequence[Mapping[str, str]] = ()

    def configurations(self) -> list[Configuration]:
        """Every combination, the last axis changing fastest."""
        axes = dict(USUAL) | dict(self.axes) if self.system == SEARCH else dict(self.axes)
        self._check(axes)
        combinations = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
        for one in self.excluded:
            if not any(_has(settings, one) for settings in combinations):
                raise AssayError(f"excluding {_written(one)} excludes nothing; no configuration has it")
        kept = [one for one in combinations if not any(_has(one, excluded) for excluded in self.excluded)]
        if not kept:
            raise AssayError("every configuration is excluded; leave one")
        return [Configuration(self.system, settings) for settings in kept]

    def _check(self, axes: Axes) -> None:
        kind = self.system.partition(":")[0]
        for name, values in axes.items():
            if PLACEHOLDER.fullmatch(f"{{{name}}}"):
                raise AssayError(
                    f"{name} is no setting: a run fills in {{{name}}} itself; give the setting another name"
                )
            if kind not in SETTABLE and f"{{{name}}}" not in self.system:
                raise AssayError(
                    f"the system '{self.system}' has no place for {name}; write {{{name}}} where it belongs, "
                    f"as in 'cmd:search --{name} {{{name}}} {{query}}'"
                )
            if len(set(values)) < len(values):
                twice = next(value for value in values if list(values).count(value) > 1)
                raise AssayError(f"{name} {twice} is given twice")
            if not values:
                raise AssayError(f"{name} has no values to try")
        size = 1
        for values in axes.values():
            size *= len(values)
        if size > MOST:
            raise AssayError(
                f"the grid has {counted(size, 'configuration')}; a sweep tries {MOST:,} at most. Give fewer values"
            )
        for name in {name for one in self.excluded for name in one} - set(axes):
            near = nearest(name, axes, 1)
            raise AssayError(
                f"cannot exclude by '{name}', which is no axis." + (f" Did you mean '{near[0]}'?" if near else "")
            )


def _has(settings: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(settings.get(name) == value for name, value in wanted.items())


def _written(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def of_size(size: str) -> str:
    """`512` → the chunker of sections of that size."""
    return str(chunker(f"structure:{size}"))


def of_chunker(spec: str) -> str:
    """A chunker as it is always written."""
    return str(chunker(spec))
