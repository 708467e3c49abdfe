"""Trials of published indexes whose author changed rows, numbers or bytes: refused, or every command answers."""

from __future__ import annotations

import random
import shutil
import sqlite3
import threading
from pathlib import Path

import numpy as np

from fuzz import trials
from fuzz.mutate import damage
from fuzz.trials import DONE, Step, Trial
from support.command import assay
from support.published import change_catalogue, content, names, replace_file, restate_digests

_PLACE = "place"
_making = threading.Lock()  # trials are made in several threads
_ODD = (
    0, 1, -1, 7, 255, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63), 0.5, 9e999, "", "x", "shop/cart.py::Cart", "a\0b", "../..", "é" * 5_000,
    b"", b"x", b"\xff", None,
)  # fmt: skip
_NUMBERS = (0, 1, -1, 7, 127, 255, 1 << 20, (1 << 31) - 1, -(1 << 31))


def pulled(name: str, choice: random.Random, scratch: Path, count: int, without: frozenset[str]) -> Trial:
    """A published index of which one to three values, numbers or bytes are changed."""
    base = scratch / "published"
    with _making:
        if not base.exists():
            _publish(base, scratch)
    work = scratch / name
    shutil.copytree(base / _PLACE, work / _PLACE)
    before = _files(work)
    for _ in range(choice.choice((1, 1, 2, 3))):
        choice.choice((_change_row, _change_row, _change_array, _change_bytes))(work, choice)
    mutants = {path: data for path, data in _files(work).items() if before.get(path) != data}
    shutil.rmtree(work)
    asked = (
        ("status",), ("symbols", "*total*"), ("context", "total price"), ("search", "total price"), ("ask", "total price"), ("impact", "total"),
        ("why", "total price", "total"), ("owners", "shop/cart.py"), ("graph", "Cart"), ("tests", "shop/cart.py"),
    )  # fmt: skip
    steps = (
        Step(("pull", _PLACE, "--no-refresh")), *(Step((*arguments, "--no-refresh")) for arguments in asked[1:]), Step(asked[0]),
        Step(("index",), DONE), *(Step(arguments) for arguments in asked),
    )  # fmt: skip
    return Trial(name, mutants, steps, base=base)


def _publish(base: Path, scratch: Path) -> None:
    making = scratch / "publishing"
    trials._make_indexed(making)
    (making / "CODEOWNERS").write_text("* @shop\n")
    assay(making, "index")
    assay(making, "publish", _PLACE)
    shutil.rmtree(making / ".assay")
    making.rename(base)


def _files(work: Path) -> dict[str, bytes]:
    return {path.relative_to(work).as_posix(): path.read_bytes() for path in sorted(work.rglob("*")) if path.is_file()}


def _change_row(work: Path, choice: random.Random) -> None:
    """Set a column of one row, or of all, to something odd."""
    place, scratch = work / _PLACE, work / "catalogue.db"
    data = content(place, "catalogue.db")
    scratch.write_bytes(data)
    connection = sqlite3.connect(scratch)
    try:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = choice.choice(sorted(tables))
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    except sqlite3.DatabaseError:  # damaged by an earlier change
        return
    finally:
        connection.close()
    column, first, value = choice.choice(columns), columns[0], choice.choice(_ODD)
    where = choice.choice(("1", f'"{first}" = (SELECT max("{first}") FROM {table})'))
    try:
        data = change_catalogue(data, scratch, (f'UPDATE {table} SET "{column}" = ? WHERE {where}', (value,)))
    except sqlite3.Error:  # SQLite stores no such value there
        return
    replace_file(place, "catalogue.db", data)


def _change_array(work: Path, choice: random.Random) -> None:
    """Change a number of an array, and state the checksums of what results."""
    place, folder = work / _PLACE, work / "generation"
    folder.mkdir()
    try:
        for name in names(place):
            if name.endswith((".npy", ".db")):
                (folder / name).write_bytes(content(place, name))
        path = choice.choice(sorted(folder.glob("*.npy")))
        array = np.load(path)
        if not len(array):
            return
        field = choice.choice(array.dtype.names) if array.dtype.names else None
        values = (array[field] if field else array).reshape(-1)
        position = choice.randrange(len(values))
        values[position : None if choice.random() < 0.2 else position + 1] = np.array(choice.choice(_NUMBERS)).astype(
            values.dtype
        )
        np.save(path, array)
        restate_digests(folder)
        for changed in (path.name, "catalogue.db"):
            replace_file(place, changed, (folder / changed).read_bytes())
    except (ValueError, sqlite3.Error):  # damaged by an earlier change
        return
    finally:
        shutil.rmtree(folder)


def _change_bytes(work: Path, choice: random.Random) -> None:
    """Damage a file as a failing disk would."""
    name = choice.choice(sorted(names(work / _PLACE)))
    replace_file(work / _PLACE, name, damage(content(work / _PLACE, name), choice))
