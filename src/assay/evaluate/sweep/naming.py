"""What configurations are called: `chunk_512_no_rerank` as in seed 004, with whatever else tells them apart."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.evaluate.sweep.grid import NONE, Configuration

_OTHER = re.compile(r"[^\w.+-]+")
_LONGEST = 40  # characters of a value in a name


def names(configurations: Sequence[Configuration]) -> list[str]:
    """A name for each configuration, in order; no two are the same."""
    varied = {
        setting: list(dict.fromkeys(one.settings[setting] for one in configurations if setting in one.settings))
        for setting in dict.fromkeys(name for one in configurations for name in one.settings)
    }
    found = [
        "_".join(_part(name, value, varied[name]) for name, value in one.settings.items()) for one in configurations
    ]
    plain = [
        re.sub("_+", "_", name).strip("_") or _short(one.system)
        for name, one in zip(found, configurations, strict=True)
    ]
    out: list[str] = []
    for name in plain:
        number = 1
        while (unique := f"{name}_{number}" if number > 1 else name) in out:
            number += 1
        out.append(unique)
    return out


def _part(setting: str, value: str, values: Sequence[str]) -> str:
    """One setting in a name; an embedder only where there are several, a reranker by name only where there are several."""
    if setting == "chunker":
        kind, _, size = value.partition(":")
        return f"{'chunk' if kind == 'structure' else kind}_{size.replace(':', '_')}"
    if setting == "embedder":
        return "" if len(values) == 1 else "lexical" if value == NONE else _short(value)
    if setting == "reranker":
        models = [one for one in values if one != NONE]
        return "no_rerank" if value == NONE else "with_rerank" if len(models) == 1 else f"rerank_{_short(value)}"
    return f"{setting.rpartition('.')[2]}_{_short(value)}"


def _short(value: str) -> str:
    """`folder:models/bge-small` → bge-small, `openai:http://host/v1#nomic` → nomic."""
    last = value.rpartition("#")[2] if "#" in value else value.rstrip("/").rpartition("/")[2]
    return _OTHER.sub("_", last).strip("_")[:_LONGEST]
