"""Postings: counts by term and field, read back from a mapped index, equal after any update."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.index import facts as F
from assay.index import version
from assay.index.extract.texts import count_words, place_words
from assay.store import postings as P
from assay.store.generation import map_arrays
from assay.store.postings import FIELDS, Segment
from assay.text.terms import terms, words
from support.repository import Repository

law = settings(deadline=None)

# -- terms -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parsedHeaders of an HTTPRequest", ["pars", "header", "of", "an", "http", "request"]),
        ("resolve resolves resolved resolving", ["resolv"] * 4),
        ("utf8_decode(x)", ["utf", "8", "decod", "x"]),
        ("größeÄndern, naïve café", ["größeändern", "naïv", "café"]),
        ("用户 登录", ["用户", "登录"]),
        ("\n -- ** 🎉 __ ", []),
    ],
)
def test_a_text_becomes_the_stems_of_its_words(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@law
@given(st.text(), st.text())
def test_the_terms_of_two_texts_are_those_of_both(first: str, second: str) -> None:
    assert terms(f"{first} {second}") == terms(first) + terms(second)


@law
@given(st.text())
def test_terms_are_lower_case_letters_or_digits(text: str) -> None:
    for term in terms(text):
        assert term
        assert "\n" not in term
        assert words(term), f"{term!r} would be found by nobody"


# -- counting and finding ----------------------------------------------------------------------------------------------

word = st.sampled_from(["load", "loads", "HTTPServer", "user_name", "zebra", "größe", "x1", "the"])
text = st.lists(word, max_size=6).map(" ".join)
symbol = st.tuples(word, st.lists(word, max_size=2), st.builds(F.TextFact, text, text, text, text))
source = st.tuples(st.lists(symbol, max_size=4), st.builds(F.TextFact, st.just(""), text, text, text))
folder_of_files = st.dictionaries(
    st.lists(word, min_size=1, max_size=3).map(lambda parts: "/".join(parts) + ".py"), source, max_size=4
)

Item = tuple[str, str, str, F.TextFact]  # name, qualified name, path, texts
Source = tuple[list[tuple[str, list[str], F.TextFact]], F.TextFact]


def _items(path: str, content: Source) -> list[Item]:
    symbols, own = content
    found = [(name, ".".join([*owners, name]), path, texts) for name, owners, texts in symbols]
    return [*found, (path.rpartition("/")[2], "", path, own)]


def _counted(path: str, content: Source, first: int) -> list[P.Words]:
    items = _items(path, content)
    symbols = [F.SymbolFact(name, "function", symbol, 1, F.FILE, 1, 1) for name, symbol, _, _ in items[:-1]]
    return place_words(
        count_words(symbols, [texts for *_, texts in items]), path, list(range(first, first + len(items)))
    )


def _expected(item: Item) -> list[Counter[str]]:
    """The plain way: a bag of terms for each field."""
    name, symbol, path, t = item
    qualifier = symbol[: len(symbol) - len(name)] if symbol else ""
    return [Counter(terms(one)) for one in (name, qualifier, path, t.signature, t.doc, t.identifiers, t.literals)]


def _written(words: Segment) -> Segment:
    with tempfile.TemporaryDirectory() as folder:
        digest = words.write(Path(folder))
        opened = Segment.open(map_arrays(Path(folder), P.FILES))
        assert opened.digest == digest
        return opened


def _holds(opened: Segment, items: dict[int, Item]) -> None:
    """Whether an index says of these items what the plain way says, and nothing else."""
    bags = {number: _expected(item) for number, item in items.items()}
    everything = sorted({term for fields in bags.values() for field in fields for term in field})
    assert opened.terms_like("") == everything
    assert len(opened) == len(everything)
    assert opened.numbers.tolist() == sorted(items)
    for number, fields in bags.items():
        assert opened.lengths[number].tolist() == [field.total() for field in fields]
    for term in everything:
        having = {n: [f[term] for f in fields] for n, fields in sorted(bags.items()) if any(f[term] for f in fields)}
        found, counts = opened.get(term)
        assert found.tolist() == list(having)
        assert counts.tolist() == list(having.values())
    assert opened.frequencies.tolist() == [len(opened.get(term)[0]) for term in everything]
    for place, field in enumerate(FIELDS):
        had = [(everything[term], item) for term, item in zip(*(a.tolist() for a in opened.having(place)), strict=True)]
        assert sorted(had) == sorted((t, n) for n, bag in bags.items() for t in bag[place]), field
    assert opened.digests().keys() == items.keys()


@law
@given(folder_of_files)
def test_every_term_is_found_with_its_items_and_its_count_in_each_field(files: dict[str, Source]) -> None:
    items: dict[int, Item] = {}
    parts: list[P.Words] = []
    for path, content in files.items():
        parts += _counted(path, content, len(items) + 1)
        items |= dict(enumerate(_items(path, content), len(items) + 1))
    _holds(_written(P.joined(parts)), items)


@law
@given(folder_of_files, folder_of_files)
def test_replacing_the_words_of_some_items_is_the_same_as_counting_all(
    before: dict[str, Source], after: dict[str, Source]
) -> None:
    """Files of the same path keep the number of their first item if they have one; the others are new or gone."""
    items: dict[int, Item] = {}
    owned: dict[str, list[int]] = {}
    parts: list[P.Words] = []
    for path, content in before.items():
        owned[path] = list(range(len(items) + 1, len(items) + 1 + len(_items(path, content))))
        parts += _counted(path, content, owned[path][0])
        items |= dict(zip(owned[path], _items(path, content), strict=True))
    opened = _written(P.joined(parts))
    removed = [number for path in after if path in owned for number in owned[path]]
    for number in removed:
        del items[number]
    fresh: list[P.Words] = []
    following = max([0, *items, *removed]) + 1
    for path, content in after.items():
        fresh += _counted(path, content, following)
        items |= dict(enumerate(_items(path, content), following))
        following += len(_items(path, content))
    _holds(_written(opened.replaced([*removed, following + 99], P.joined(fresh))), items)


def test_terms_that_begin_alike_are_found_and_no_others() -> None:
    many = F.TextFact("", "", "apple applet apply application banana größe größer", "")
    opened = _written(P.joined(_counted("zz.py", ([], many), 1)))
    assert opened.terms_like("appl") == sorted({*terms("apple applet apply application")})
    assert opened.terms_like("größ") == sorted({*terms("größe größer")})
    assert opened.terms_like("q") == []
    assert opened.terms_like("\udc80") == []


def test_an_unknown_term_has_no_items() -> None:
    opened = _written(P.joined(_counted("a.py", ([], F.TextFact("", "", "middle", "")), 1)))
    for term in ("", "aardvark", "middl\n", "middle", "zzz", "\udc80"):
        found, counts = opened.get(term)
        assert (found.shape, counts.shape) == ((0,), (0, len(FIELDS)))


def test_a_count_stops_at_what_its_type_can_hold_and_the_length_tells_the_truth() -> None:
    opened = _written(P.joined(_counted("a.py", ([], F.TextFact("", "", "load " * 300, "")), 1)))
    assert opened.get("load")[1][0, P.IDENTIFIERS] == 255
    assert opened.lengths[1, P.IDENTIFIERS] == 300


def test_no_words_are_words_too() -> None:
    opened = _written(P.joined([]))
    assert len(opened) == 0
    assert opened.terms_like("") == []
    assert opened.get("x")[0].tolist() == []


# -- in an index -------------------------------------------------------------------------------------------------------

CART = '''"""Shopping."""
class Cart:
    def add_item(self, price: Money):
        """Puts something in."""
        return registry.lookup("unit cost")
'''


def _found(repository: Repository, term: str) -> dict[str, set[str]]:
    """Ids of the items that have a term, and in which fields."""
    opened = repository.open()
    try:
        items, counts = opened.postings.get(term)
        fields = np.array(FIELDS)
        return {
            opened.item(number).id: set(fields[row > 0].tolist())
            for number, row in zip(items.tolist(), counts, strict=True)
        }
    finally:
        opened.close()


@pytest.mark.parametrize(
    ("term", "item", "field"),
    [
        ("add", "shop/basket.py::Cart.add_item", "name"),
        ("cart", "shop/basket.py::Cart.add_item", "qualifier"),
        ("shop", "shop/basket.py::Cart.add_item", "path"),
        ("money", "shop/basket.py::Cart.add_item", "signature"),
        ("someth", "shop/basket.py::Cart.add_item", "doc"),
        ("registri", "shop/basket.py::Cart.add_item", "identifiers"),
        ("cost", "shop/basket.py::Cart.add_item", "literals"),
        ("basket", "shop/basket.py", "name"),
        ("shop", "shop/basket.py", "path"),
        ("shop", "shop/basket.py", "doc"),
    ],
)
def test_every_field_of_an_item_is_indexed(repository: Repository, term: str, item: str, field: str) -> None:
    repository.write("shop/basket.py", CART)
    repository.index()
    assert field in _found(repository, term)[item]


def test_the_name_is_not_repeated_in_the_qualifier(repository: Repository) -> None:
    repository.write("shop/basket.py", CART)
    repository.index()
    assert "qualifier" not in _found(repository, "add")["shop/basket.py::Cart.add_item"]
    assert "qualifier" not in _found(repository, "cart")["shop/basket.py::Cart"]


def test_an_update_counts_only_the_changed_file(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for number in range(20):
        repository.write(f"m{number}.py", f"def function_{number}():\n    return shared\n")
    repository.write("cart.py", CART)
    repository.index()
    import assay.index.extract as extract

    counted = tmp_path / "counted"  # a file: the counting is done in another process

    def watch(symbols: list[F.SymbolFact], texts: list[F.TextFact]) -> F.WordFacts:
        with counted.open("a") as file:
            file.writelines(f"{symbol.name}\n" for symbol in symbols)
        return count_words(symbols, texts)

    monkeypatch.setattr(extract, "count_words", watch)
    repository.write("cart.py", "def remove_pear():\n    return shared\n")
    (repository.root / "m3.py").unlink()
    assert repository.index().mode == "update"
    assert counted.read_text() == "remove_pear\n"
    assert _found(repository, "add") == _found(repository, "money") == {}
    assert set(_found(repository, "pear")) == {"cart.py::remove_pear"}
    assert set(_found(repository, "share")) == {"cart.py::remove_pear"} | {
        f"m{n}.py::function_{n}" for n in range(20) if n != 3
    }
    opened = repository.open()
    assert "money" not in opened.postings.terms_like("mon")
    opened.close()


def test_an_empty_repository_has_an_index_without_words(repository: Repository) -> None:
    repository.index()
    opened = repository.open()
    assert len(opened.postings) == 0
    opened.close()


def test_two_indexes_differ_when_the_words_of_one_item_do(repository: Repository) -> None:
    repository.write("a.py", "def f():\n    return one\n")
    repository.index()
    opened = repository.open()
    words = opened.generation.postings.words()
    before = opened.generation.postings.digests()
    counts = words.counts.copy()
    row = int(np.flatnonzero(words.terms == words.vocabulary.index("one"))[0])
    counts[row, P.DOC] += 1
    changed = P.Words(words.vocabulary, words.terms, words.items, counts, words.numbers, words.lengths)
    after = _written(P.joined([changed])).digests()
    assert {number for number in before if before[number] != after[number]} == {int(words.items[row])}
    opened.close()


@pytest.mark.parametrize("of", [version.extractor_version, version.index_version])
def test_another_stemmer_is_another_version(of: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = version.word_files()
    assert {path.name for path in paths} == {"terms.py", "postings.py"}
    stemmer = next(path for path in paths if path.name == "terms.py")
    other = tmp_path / stemmer.name
    other.write_bytes(stemmer.read_bytes() + b"\n")
    compute = of.__wrapped__  # type: ignore[attr-defined]
    before = compute()
    monkeypatch.setattr(version, "word_files", lambda: [other if path == stemmer else path for path in paths])
    assert compute() != before
