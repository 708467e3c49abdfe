"""Embedders: unit vectors, determinism, and errors that name a remedy."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.search.embed import Candidate, embed_all, embedder, lsa, reranker, server
from assay.search.embed import folder as folder_module
from assay.search.embed import server as openai
from assay.search.embed.folder import WordLlama, tensors
from assay.search.embed.lsa import Sparse
from assay.search.embed.server import ServerEmbedder
from assay.store import passages, vectors
from assay.store.passages import ChunkedDocument, PassageFacts, Passages
from assay.store.vectors import VectorStore
from assay.text.terms import terms
from support.model_server import CUT, DROP, ModelServer, Reply, run_model_server
from support.paths import ROOT
from support.property_tests import examples
from support.waiting import PATIENCE

SHIPS = ["the ship left the harbour", "a boat in the harbour", "the ship and the boat sail", "sail the boat at sea"]
BREAD = ["flour and water make dough", "the oven bakes the bread", "dough becomes bread in the oven", "flour for bread"]
CORPUS = SHIPS + BREAD
TEXTS = st.lists(
    st.text(st.sampled_from("ship boat harbour bread oven dough \n"), max_size=40) | st.text(max_size=8), max_size=12
)


@pytest.fixture(scope="module")
def trained() -> lsa.Lsa:
    return lsa.train(CORPUS)


@given(texts=TEXTS)
def test_every_row_has_length_one_or_is_zero(trained: lsa.Lsa, texts: list[str]) -> None:
    rows = trained.embed(texts)
    lengths = np.linalg.norm(rows, axis=1)
    assert rows.dtype == np.float32
    assert rows.shape == (len(texts), trained.dimensions)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))


@given(texts=TEXTS)
def test_a_text_has_the_same_vector_whatever_stands_beside_it(trained: lsa.Lsa, texts: list[str]) -> None:
    together = trained.embed(texts)
    for place, text in enumerate(texts):
        assert np.array_equal(together[place], trained.embed([text])[0])


def test_batches_do_not_change_vectors(trained: lsa.Lsa, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = trained.embed(CORPUS)
    monkeypatch.setattr(lsa, "_BATCH", 3)
    assert np.array_equal(trained.embed(CORPUS), whole)


def test_words_that_share_texts_are_near_though_they_never_meet(trained: lsa.Lsa) -> None:
    model = lsa.train(CORPUS, dimensions=2)
    ship, sea, oven, flour = model.embed(["ship", "sea", "oven", "flour"])
    assert ship @ sea > 0.5 > ship @ oven
    assert oven @ flour > 0.5


def test_training_is_deterministic_and_does_not_depend_on_what_came_before() -> None:
    np.random.default_rng().random(3)
    first, second = lsa.train(CORPUS), lsa.train(CORPUS)
    assert first.name == second.name
    assert np.array_equal(first.table, second.table)
    assert lsa.train(SHIPS).name != first.name


def test_the_directions_are_those_of_an_exact_decomposition() -> None:
    model = lsa.train(CORPUS, dimensions=3)
    places = {term: place for place, term in enumerate(model.vocabulary)}
    counts = np.zeros((len(CORPUS), len(places)))
    for row, text in enumerate(CORPUS):
        for term, count in Counter(terms(text)).items():
            counts[row, places[term]] = np.log1p(count)
    rarity = np.log(len(CORPUS) / (counts > 0).sum(0))
    weighted = counts * rarity
    exact = np.linalg.svd(weighted / np.linalg.norm(weighted, axis=1, keepdims=True))[2][:3].T * rarity[:, None]
    similarities, expected = model.table.astype(float) @ model.table.T.astype(float), exact @ exact.T
    assert np.allclose(similarities, expected, atol=0.02)


@pytest.mark.parametrize("corpus", [[], [""], ["", "  \n"], ["one"], ["one one one"], ["a b c"] * 5])
def test_a_corpus_that_teaches_nothing_still_makes_an_embedder(corpus: list[str]) -> None:
    model = embedder("lsa", corpus)
    rows = model.embed(["one", "", "unknown"])
    assert rows.shape == (3, model.dimensions)
    assert np.isfinite(rows).all()
    assert not rows[1].any()


def test_a_large_corpus_is_trained_on_an_even_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lsa, "MOST_TEXTS", 4)
    model = lsa.train(CORPUS)
    assert set(model.vocabulary) == set(lsa.train([CORPUS[place * len(CORPUS) // 4] for place in range(4)]).vocabulary)
    assert model.embed(["harbour", "oven"]).any(axis=1).all()


def test_passages_are_trained_on_and_embedded_by_their_postings_as_by_their_texts(tmp_path: Path) -> None:
    def passage(heading: str, text: str) -> PassageFacts:
        return PassageFacts(text, (heading, "") if heading else (), (1, 2), (0, 9), 0, Counter(terms(text)))

    facts = [passage(f"Chapter {place}" if place % 2 else "", text) for place, text in enumerate(CORPUS)]
    documents = [ChunkedDocument("ships.md", "markdown", facts[:4]), ChunkedDocument("bread.md", "markdown", facts[4:])]
    passages.write(tmp_path / "passages.npz", "key", "structure:512", documents)
    texts = Passages.open(tmp_path / "passages.npz").full_texts()
    assert list(texts)[:2] == [CORPUS[0], f"Chapter 1\n{CORPUS[1]}"]
    assert texts[1:3] == list(texts)[1:3]
    with pytest.raises(IndexError):
        texts[len(CORPUS)]
    by_postings, by_texts = lsa.train(texts), lsa.train(list(texts))
    assert by_postings.name == by_texts.name
    known = [by_postings.vocabulary.index(term) for term in by_texts.vocabulary]
    assert len(known) == len(by_postings.vocabulary), "words of paths do not count"
    assert np.array_equal(by_postings.table[known], by_texts.table)
    assert np.allclose(by_texts.embed(texts), by_texts.embed(list(texts)), atol=1e-6)


def test_a_corpus_beyond_the_sample_of_the_first_iterations_has_nearly_the_same_neighbours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    corpus = [f"{text} {word}" for text in CORPUS for word in ("today", "slowly", "again", "twice")]
    whole = lsa.train(corpus, dimensions=2)
    monkeypatch.setattr(lsa, "_SAMPLE", 16)
    sampled = lsa.train(corpus, dimensions=2)
    assert sampled.name == whole.name
    for model in (whole, sampled):
        ship, sea, oven, flour = model.embed(["ship", "sea", "oven", "flour"])
        assert min(ship @ sea, oven @ flour) > 0.5 > ship @ oven


def test_a_stored_table_is_used_for_the_same_texts_only(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "vectors.db")
    corpus = [f"{text} number {place}" for place, text in enumerate(CORPUS * 3)]
    first = embedder("lsa", corpus, store)
    again = embedder("lsa", corpus, VectorStore(tmp_path / "vectors.db"))
    assert again.name == first.name
    assert np.array_equal(again.embed(CORPUS), first.embed(CORPUS))
    edited = [*corpus[1:], "one text is new"]
    assert embedder("lsa", edited, store).name == embedder("lsa", edited).name != first.name


def test_only_the_newest_trained_tables_are_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "MOST_STATES", 2)
    store = VectorStore(tmp_path / "vectors.db")
    names = [embedder("lsa", CORPUS[:size], store).name for size in (6, 7, 8)]
    assert [store.state(name) is not None for name in names] == [False, True, True]


def test_a_damaged_table_is_trained_again(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "vectors.db")
    first = embedder("lsa", CORPUS, store)
    store.keep_state(first.name, b"no table")
    assert np.array_equal(embedder("lsa", CORPUS, store).embed(CORPUS), first.embed(CORPUS))


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(50))
def test_a_sparse_product_is_the_dense_one(rows: int, columns: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    dense = generator.integers(-2, 3, (rows, columns)).astype(np.float32)
    places = [np.flatnonzero(row) for row in dense]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in places])]).astype(np.int64)
    sparse = Sparse(starts, np.concatenate(places).astype(np.int32), dense[dense != 0], columns)
    other = generator.standard_normal((columns, 3)).astype(np.float32)
    assert np.allclose(sparse @ other, dense @ other, atol=1e-5)
    assert np.allclose(sparse.transposed() @ np.eye(rows, dtype=np.float32), dense.T)


@pytest.mark.parametrize(
    "spec", ["", "lda", "LSA ", "lsa:300", "wordllama:x", "folder:", "folder:/nowhere/at/all", "openai:"]
)
def test_a_spec_that_names_nothing_is_a_clear_error(spec: str, tmp_path: Path) -> None:
    with pytest.raises(AssayError) as error:
        embedder(spec, CORPUS, root=tmp_path)
    assert "\n" not in str(error.value)


def test_a_missing_model_names_the_three_ways_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_module, "find_spec", lambda name: None)
    for spec in ("wordllama", "folder:nowhere", "something"):
        with pytest.raises(AssayError) as error:
            embedder(spec, root=tmp_path)
        assert all(way in str(error.value) for way in ("lsa", "folder:PATH", "openai:URL"))


class Letters:
    """Stands for a tokenizer: every known letter is a piece."""

    def encode_batch(self, texts: list[str], add_special_tokens: bool) -> list[Any]:
        encoded = [[ord(letter) - ord("a") for letter in text if "a" <= letter <= "d"] for text in texts]
        return [dataclasses.make_dataclass("Encoded", ["ids"])(ids) for ids in encoded]


def test_a_table_averages_the_pieces_of_a_text() -> None:
    table = np.eye(4, 3, dtype=np.float16)
    rows = WordLlama(table, Letters()).embed(["a", "ab", "", "\ud800"])
    assert np.allclose(rows, np.array([[1, 0, 0], [math.sqrt(0.5), math.sqrt(0.5), 0], [0, 0, 0], [0, 0, 0]]))


def test_safetensors_are_read_and_damaged_ones_refused(tmp_path: Path) -> None:
    values = np.arange(6, dtype="<f4").reshape(2, 3)
    path = tmp_path / "model.safetensors"
    header = json.dumps({"one": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + values.tobytes())
    assert np.array_equal(tensors(path)["one"], values)
    for damaged in (b"", b"\xff" * 20, path.read_bytes()[:-4], (5).to_bytes(8, "little") + b"[1,2]" + b"x"):
        path.write_bytes(damaged)
        with pytest.raises(AssayError, match="safetensors"):
            tensors(path)


class Words:
    """Stands for a tokenizer of a model folder: one piece for each known word."""

    known = ("ship", "boat", "oven", "q:")

    def no_padding(self) -> None: ...

    def enable_truncation(self, longest: int) -> None:
        self.longest = longest

    def encode_batch(self, texts: list[str | tuple[str, str]]) -> list[Any]:
        words = [" ".join(text).split() if isinstance(text, tuple) else text.split() for text in texts]
        ids = [[self.known.index(word) for word in row if word in self.known][: self.longest] for row in words]
        return [types.SimpleNamespace(ids=row, type_ids=[0] * len(row)) for row in ids]


class Session:
    """Stands for a model that onnxruntime runs: states of a token, or a classifier with two classes."""

    outputs = "states"

    def __init__(self, path: str, providers: list[str]) -> None:
        assert Path(path).read_bytes()

    def get_inputs(self) -> list[Any]:
        return [types.SimpleNamespace(name=name) for name in ("input_ids", "attention_mask")]

    def run(self, names: None, inputs: dict[str, Any]) -> list[Any]:
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        if self.outputs == "classes":
            same = (ids[:, :1] == ids).sum(axis=1) - (1 - mask).sum(axis=1)
            return [np.stack([np.zeros(len(ids)), same], axis=1)]
        return [np.eye(4, dtype=np.float32)[ids]]  # padding has states too; the mask leaves them out


@pytest.fixture
def model_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(folder_module, "tokenizer", lambda path, extra: Words())
    monkeypatch.setitem(sys.modules, "onnxruntime", types.SimpleNamespace(InferenceSession=Session))
    (tmp_path / "config.json").write_text(json.dumps({"max_position_embeddings": 7}))
    (tmp_path / "model.onnx").write_bytes(b"weights")
    return tmp_path


def test_a_local_folder_makes_vectors_through_its_own_tokenizer(model_folder: Path) -> None:
    model = embedder(f"folder:{model_folder.name}", root=model_folder.parent)
    rows = model.embed(["ship", "ship boat oven", "oven " * 50, "", "\ud800"])
    assert rows.shape == (5, 4)
    assert np.allclose(rows[0], [1, 0, 0, 0])
    assert np.allclose(rows[1], np.array([1, 1, 1, 0]) / math.sqrt(3))  # mean of the states, padding left out
    assert np.allclose(rows[2], [0, 0, 1, 0])
    before = model.name
    (model_folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "q: "}}))
    prompted = embedder(f"folder:{model_folder}")
    assert prompted.name != before
    assert np.allclose(prompted.embed(["boat"], "query"), prompted.embed(["q: boat"]))


def test_a_folder_may_pool_by_the_first_token(model_folder: Path) -> None:
    (model_folder / "1_Pooling").mkdir()
    (model_folder / "1_Pooling/config.json").write_text('{"pooling_mode_cls_token": true}')
    assert np.allclose(embedder(f"folder:{model_folder}").embed(["boat oven"]), [[0, 1, 0, 0]])


def test_a_local_cross_encoder_scores_query_and_passage_together(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = reranker(f"folder:{model_folder}")
    with pytest.raises(AssayError, match="not a cross-encoder"):
        model.scores("ship", [Candidate("boat")])
    monkeypatch.setattr(Session, "outputs", "classes")
    scores = model.scores("ship", [Candidate("oven"), Candidate("ship ship", title="boat"), Candidate("ship")])
    assert np.argsort(-scores).tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("name", "reason"),
    [("model.safetensors", r"only PyTorch weights \(safetensors\), no model\.onnx"), ("x", "no model")],
)
def test_a_folder_without_an_onnx_model_says_how_to_convert_it(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / name).write_bytes(b"weights")
    with pytest.raises(AssayError, match=rf"{reason}.*optimum-cli export onnx.*Three ways to get an embedder"):
        embedder(f"folder:{tmp_path}")


# servers


def vector_of(text: str) -> list[float]:
    return [float(len(text)), float(text.count("a")), 1.0]


def embeddings(path: str, body: dict[str, Any]) -> Any:
    rows = [{"index": place, "embedding": vector_of(text)} for place, text in enumerate(body["input"])]
    return {"data": rows[::-1]}  # the order is that of the indexes, not of the list


@pytest.fixture
def model_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with run_model_server(embeddings) as running:
        yield running


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    return []


def client(
    running: ModelServer, pauses: list[float], model: str = "m", timeout: float = 5.0, key_variable: str = ""
) -> ServerEmbedder:
    made = ServerEmbedder(f"{running.url}#{model}", key_variable)
    made.server = dataclasses.replace(made.server, sleep=pauses.append, timeout=timeout)
    return made


def test_a_server_is_asked_in_batches_and_its_rows_are_put_in_order(
    model_server: ModelServer, pauses: list[float]
) -> None:
    texts = ["a" * place for place in range(150)]
    rows = client(model_server, pauses).embed(texts)
    expected = np.array([vector_of(text or "-") for text in texts])
    assert np.allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    assert [len(body["input"]) for body in model_server.asked] == [1, 64, 64, 22]
    assert {body["model"] for body in model_server.asked} == {"m"}
    assert set(model_server.paths) == {"/v1/embeddings"}


def test_requests_stay_below_a_size(
    model_server: ModelServer, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai, "BATCH_CHARACTERS", 10)
    client(model_server, pauses).embed(["a" * 6, "a" * 6, "a" * 30, "a", "a"])
    assert [len(body["input"]) for body in model_server.asked] == [1, 1, 1, 1, 2]


@pytest.mark.parametrize("trouble", [Reply(status=429), Reply(status=503), Reply(DROP), Reply(CUT)])
def test_passing_trouble_is_waited_out_with_growing_pauses(
    model_server: ModelServer, pauses: list[float], trouble: Reply
) -> None:
    model_server.script = [trouble, trouble, trouble]
    assert client(model_server, pauses).embed(["a"]).shape == (1, 3)
    assert pauses == [0.5, 1.0, 2.0]


def test_the_pause_a_server_asks_for_is_kept_and_one_too_long_is_an_error(
    model_server: ModelServer, pauses: list[float]
) -> None:
    model_server.script = [
        Reply(status=429, headers={"Retry-After": "7"}),
        Reply(status=429, headers={"Retry-After": "junk"}),
    ]
    client(model_server, pauses).embed(["a"])
    assert pauses == [7.0, 1.0]
    model_server.script = [Reply(status=503, headers={"Retry-After": "86400"})]
    with pytest.raises(AssayError, match="wait 86400 s"):
        client(model_server, pauses).embed(["a"])
    assert len(pauses) == 2


def test_a_date_to_wait_for_is_understood() -> None:
    assert server._retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    later = server._retry_after("Wed, 21 Oct 2099 07:28:00 GMT")
    assert later is not None
    assert later > 1e9


def test_trouble_that_does_not_pass_ends_with_an_error(model_server: ModelServer, pauses: list[float]) -> None:
    model_server.script = [Reply(status=503)] * 20
    with pytest.raises(AssayError, match=r"HTTP 503 .*6 attempts.*cached"):
        client(model_server, pauses).embed(["a"])
    assert len(pauses) == server.ATTEMPTS - 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>", "not JSON"),
        (b"", "not JSON"),
        ([], "not a .*response"),
        ({"error": "x"}, "not a .*response"),
        ({"data": None}, "not a .*response"),
        ({"data": [{"index": 0, "embedding": "abc"}]}, "not a .*response"),
        ({"data": []}, "0 vectors for 1 texts"),
        ({"data": [{"index": 0, "embedding": []}]}, "different lengths"),
        ({"data": [{"index": 1, "embedding": [1.0]}]}, "indexes"),
        (b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}', "not finite"),
        (b'{"data": [{"index": 0, "embedding": [1e999]}]}', "not finite"),
    ],
)
def test_an_answer_that_is_none_is_a_clear_error(
    model_server: ModelServer, pauses: list[float], body: Any, reason: str
) -> None:
    model_server.script = [Reply(body)]
    with pytest.raises(AssayError, match=reason) as error:
        client(model_server, pauses).embed(["a"])
    assert model_server.url in str(error.value)


def test_another_number_of_dimensions_than_before_is_refused(model_server: ModelServer, pauses: list[float]) -> None:
    made = client(model_server, pauses)
    assert made.dimensions == 3
    model_server.script = [Reply({"data": [{"index": 0, "embedding": [1.0, 2.0]}]})]
    with pytest.raises(AssayError, match="2 dimensions, those before had 3"):
        made.embed(["a"])


def test_a_server_that_does_not_answer_in_time_is_given_up(pauses: list[float]) -> None:
    import threading

    release = threading.Event()

    def slow(path: str, body: dict[str, Any]) -> Any:
        release.wait(PATIENCE)
        return {}

    with run_model_server(slow) as running:
        made = client(running, pauses, timeout=0.05)
        with pytest.raises(AssayError, match=r"no answer within 0\.05 s"):
            made.embed(["a"])
        release.set()


def test_a_server_that_is_not_there_is_a_clear_error(pauses: list[float]) -> None:
    with run_model_server(embeddings) as running:
        made = client(running, pauses)
    with pytest.raises(AssayError, match="cannot be reached"):
        made.embed(["a"])


def test_the_key_is_read_from_the_named_variable_and_stands_in_no_name_or_error(
    model_server: ModelServer, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "secret-123\n")
    made = client(model_server, pauses, key_variable="MY_KEY")
    made.embed(["a"])
    assert model_server.headers[-1]["Authorization"] == "Bearer secret-123"
    assert "secret" not in made.name
    model_server.script = [Reply({"error": "bad key"}, status=401)]
    with pytest.raises(AssayError, match="key in MY_KEY is refused") as error:
        made.embed(["a"])
    assert "secret" not in str(error.value)
    monkeypatch.setenv("MY_KEY", "secret\n123")
    with pytest.raises(AssayError, match="MY_KEY") as error:
        made.embed(["a"])
    assert "secret" not in str(error.value)
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(AssayError, match=r"MY_KEY.*not set"):
        made.embed(["a"])


@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_is_not_followed_as_it_would_carry_the_key_away(
    model_server: ModelServer, pauses: list[float], status: int
) -> None:
    model_server.script = [Reply(status=status, headers={"Location": "http://elsewhere.invalid/"})]
    with pytest.raises(AssayError, match=r"points to http://elsewhere\.invalid/"):
        client(model_server, pauses).embed(["a"])


@pytest.mark.parametrize(
    ("argument", "url"),
    [
        ("https://h", "https://h/v1/embeddings"),
        ("http://localhost:1/v1/", "http://localhost:1/v1/embeddings"),
        ("https://h/api/v1/embeddings#m", "https://h/api/v1/embeddings"),
        ("https://h/deep?version=2#m", "https://h/deep/embeddings?version=2"),
    ],
)
def test_an_address_is_completed(argument: str, url: str) -> None:
    assert server.server(argument, "embeddings").url == url


@pytest.mark.parametrize(
    "argument", ["", "h", "ftp://h", "http://", "http://h:0", "http://h:x", "http://u:p@h/v1", "http://[h"]
)
def test_what_is_no_address_is_refused(argument: str) -> None:
    with pytest.raises(AssayError):
        server.server(argument, "embeddings")


def test_what_was_embedded_before_a_failure_is_kept_and_not_asked_for_again(
    model_server: ModelServer, pauses: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.search.embed.embedders.PORTION", 10)
    store, made = VectorStore(tmp_path / "vectors.db"), client(model_server, pauses)
    texts = [f"text {place}" for place in range(30)]
    assert made.dimensions == 3
    model_server.script = [Reply(embeddings("", {"input": texts[:10]})), Reply(status=400)]
    with pytest.raises(AssayError, match="400"):
        embed_all(made, texts, store)
    model_server.asked.clear()
    rows = embed_all(made, texts, store)
    assert [text for body in model_server.asked for text in body["input"]] == texts[10:]
    assert np.allclose(rows, made.embed(texts))


def test_the_example_of_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (ROOT / "docs/guides/embedders.md").read_text("utf-8")
    example = guide.split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(example, names)
    assert names["rows"].tolist() == [1, 0]
    assert len(names["again"]) == 2
