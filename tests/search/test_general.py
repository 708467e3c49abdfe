"""The shipped word vectors: synonyms are near, unknown words are ignored, damage is reported."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.search.embed import embedder
from assay.store.word_vectors import TABLE, TextVectors, load_table, tokens

# each with a synonym and a word of another field
SYNONYMS = [
    ("severity", "seriousness", "banana"),
    ("delete", "remove", "colour"),
    ("error", "failure", "font"),
    ("folder", "directory", "exception"),
    ("fetch", "download", "grammar"),
    ("begin", "start", "password"),
    ("picture", "image", "thread"),
    ("automobile", "car", "compiler"),
    ("job", "task", "colour"),
    ("repair", "fix", "network"),
    ("encrypt", "cipher", "calendar"),
    ("quick", "fast", "parser"),
    ("amazon object storage", "s3", "keyboard"),
]
UNKNOWN = ["", "   ", "\n\t", "qqzzxv", "!?", "日本語", "\ud800", "\0"]


@pytest.fixture(scope="module")
def table() -> TextVectors:
    return TextVectors(load_table())


@pytest.mark.parametrize(("text", "synonym", "unrelated"), SYNONYMS)
def test_a_synonym_is_nearer_than_an_unrelated_word(
    table: TextVectors, text: str, synonym: str, unrelated: str
) -> None:
    vector, near, far = table.embed([text, synonym, unrelated])
    assert vector @ near > vector @ far + 0.1


def test_a_text_without_known_words_is_zero(table: TextVectors) -> None:
    rows = table.embed(UNKNOWN)
    assert rows.shape == (len(UNKNOWN), table.dimensions)
    assert not rows.any()


def test_identifiers_are_split_and_inflections_share_their_stem(table: TextVectors) -> None:
    assert np.array_equal(*table.embed(["parseHeader", "parse header"]))
    assert table.embed(["unencryptedly"]).any() == table.embed(["unencrypt"]).any()
    assert tokens("sha256Sum") == ["sha256", "sum"]
    assert tokens("_12_34") == ["12", "34"]


def test_a_name_in_mixed_case_is_one_word(table: TextVectors) -> None:
    assert np.array_equal(*table.embed(["GitHub", "github"]))


def test_an_unknown_number_does_not_hide_its_word(table: TextVectors) -> None:
    assert np.array_equal(*table.embed(["harbour98765", "harbour"]))


@given(texts=st.lists(st.text(max_size=30) | st.sampled_from(["s3 bucket", "delete a file", "qqzzxv"]), max_size=8))
def test_a_row_has_length_one_or_is_zero_whatever_stands_beside_it(table: TextVectors, texts: list[str]) -> None:
    rows = table.embed(texts)
    lengths = np.linalg.norm(rows, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))
    many = table.embed(texts + ["filler"] * 100)  # enough texts to decode the whole table
    assert np.array_equal(many[: len(texts)], rows)
    assert all(np.array_equal(table.embed([text])[0], row) for text, row in zip(texts, rows, strict=True))


def test_the_spec_words_gives_the_shipped_table_and_the_same_vectors_each_time() -> None:
    first, second = embedder("words"), embedder("words")
    assert first.name == second.name
    assert first.name.startswith("words:")
    assert np.array_equal(first.embed(["a queue of jobs"]), second.embed(["a queue of jobs"]))
    with pytest.raises(AssayError, match="takes no argument"):
        embedder("words:300")


def _without(path: Path, name: str) -> None:
    with np.load(path) as arrays:
        kept = {key: arrays[key] for key in arrays.files if key != name}
    np.savez(path, **kept)


def _with(path: Path, **changed: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> None:
    with np.load(path) as arrays:
        contents = {key: arrays[key] for key in arrays.files}
    np.savez(path, **{**contents, **changed})


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        _cut,
        _flip,
        Path.unlink,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_text("not a table"),
        lambda path: _without(path, "scales"),
        lambda path: _with(path, rows=np.array([60_000], "<u2")),
        lambda path: _with(path, scales=np.zeros(3, "<f2")),
        lambda path: _with(path, levels=np.zeros(4, "<f4")),
        lambda path: _with(path, text=np.array([0xFF, 0xFE], np.uint8)),
        lambda path: _with(path, codes=np.zeros((5, 2), "<i8")),
    ],
)
def test_a_damaged_table_is_named_with_a_remedy(tmp_path: Path, damage: object) -> None:
    path = tmp_path / "words.npz"
    shutil.copy(TABLE, path)
    assert callable(damage)
    damage(path)
    with pytest.raises(AssayError, match=r"words\.npz: the table of word vectors cannot be used .* Reinstall assay"):
        load_table(path)
