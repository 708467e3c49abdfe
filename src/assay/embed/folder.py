"""`folder:PATH`: a local model as a hub gives it: tokenizer.json, config.json, and model.onnx or (BERT only) model.safetensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from assay.embed.bert import Bert, Floats, Ints
from assay.embed.embedders import WAYS
from assay.embed.model_files import batched, missing, record, tensors, tokenizer
from assay.embed.rerankers import Candidate, Scores
from assay.embed.vectors import Role, Vectors, unit
from assay.errors import AssayError

_ONNX = ("model.onnx", "onnx/model.onnx")
_EXTRA = "onnx"
_BATCH = 32
_LONGEST = 512  # tokens, where the folder does not say
_READ = 1 << 20  # bytes of each end of the weights that tell one model from another
_PROMPTS = {
    "passage": ("passage", "document"),
    "query": ("query",),
}  # their names in sentence-transformers' configuration

Run = Callable[[Ints, Ints, Ints], Floats]  # ids, mask, types → states of tokens, or one row for each text


class Folder:
    """The files of a model, and how to run it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_dir():
            raise AssayError(f"{path}: there is no such folder of a model. {WAYS}")
        self.settings = record(path / "config.json")
        self.onnx = next((path / one for one in _ONNX if (path / one).is_file()), None)
        self.weights = path / "model.safetensors"
        if self.onnx is None and not (self.weights.is_file() and self.settings.get("model_type") == "bert"):
            raise AssayError(f"{path}: has neither model.onnx nor the model.safetensors of a BERT model. {WAYS}")
        self.pieces = tokenizer(path / "tokenizer.json", _EXTRA)
        self.pieces.no_padding()
        self.pieces.enable_truncation(self.longest)

    @property
    def longest(self) -> int:
        """Tokens of a text that are read."""
        limits = (
            record(self.path / "sentence_bert_config.json").get("max_seq_length"),
            self.settings.get("max_position_embeddings"),
        )
        return min((one for one in limits if isinstance(one, int) and one > 2), default=_LONGEST)

    @cached_property
    def name(self) -> str:
        """The folder's own name and a digest of what decides its vectors."""
        digest = blake2b(digest_size=8)
        weights = self.onnx or self.weights
        with weights.open("rb") as file:
            size = weights.stat().st_size
            digest.update(f"{size} {self.longest}".encode() + file.read(_READ))
            file.seek(max(0, size - _READ))
            digest.update(file.read())
        for small in ("tokenizer.json", "config.json", "1_Pooling/config.json", "config_sentence_transformers.json"):
            digest.update((self.path / small).read_bytes() if (self.path / small).is_file() else b"\0")
        return f"folder:{self.path.resolve().name}:{digest.hexdigest()}"

    @cached_property
    def bert(self) -> Bert:
        return Bert(tensors(self.weights), self.settings)

    @cached_property
    def session(self) -> Any:
        try:
            import onnxruntime  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            missing("the package 'onnxruntime' is not installed", _EXTRA)
        try:
            return onnxruntime.InferenceSession(str(self.onnx), providers=["CPUExecutionProvider"])
        except Exception as error:  # the package raises its own kinds
            raise AssayError(f"{self.onnx}: cannot be used as a model ({error})") from None

    def run(self, encoded: Sequence[Any]) -> tuple[Floats, Ints]:
        """What the model makes of tokenized texts, and their mask."""
        width = max(1, *(len(one.ids) for one in encoded))
        ids, types, mask = (np.zeros((len(encoded), width), np.int64) for _ in range(3))
        for row, one in enumerate(encoded):
            ids[row, : len(one.ids)], types[row, : len(one.ids)] = one.ids, one.type_ids
            mask[row, : len(one.ids)] = 1
        try:
            if self.onnx is None:
                return self.bert.states(ids, mask, types), mask
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
            wanted = {one.name: given[one.name] for one in self.session.get_inputs()}
            return np.asarray(self.session.run(None, wanted)[0], np.float32), mask
        except AssayError:
            raise
        except Exception as error:  # a model that does not fit its tokenizer fails in as many ways as there are models
            raise AssayError(f"{self.path}: the model cannot be run ({type(error).__name__}: {error})") from None

    def encode(self, texts: Sequence[Any]) -> list[Any]:
        return list(self.pieces.encode_batch([_clean(text) for text in texts]))


class FolderEmbedder:
    """Vectors of a local model: its tokens' states pooled as the folder says."""

    def __init__(self, path: Path) -> None:
        self._folder = Folder(path)
        pooling = record(path / "1_Pooling/config.json")
        self._first_token = bool(pooling.get("pooling_mode_cls_token"))
        prompts = record(path / "config_sentence_transformers.json").get("prompts")
        self._prompts = prompts if isinstance(prompts, dict) else {}

    @property
    def name(self) -> str:
        return self._folder.name

    @cached_property
    def dimensions(self) -> int:
        return int(self._pooled(self._folder.encode(["a"])).shape[1])

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        prompt = next((self._prompts[one] for one in _PROMPTS[role] if self._prompts.get(one)), "")
        encoded = self._folder.encode([prompt + text for text in texts])

        def run(part: list[int]) -> Vectors:
            return self._pooled([encoded[place] for place in part])

        return unit(batched([len(one.ids) for one in encoded], _BATCH, run, self.dimensions))

    def _pooled(self, encoded: Sequence[Any]) -> Vectors:
        states, mask = self._folder.run(encoded)
        if states.ndim == 2:  # the model pools by itself
            return states
        if self._first_token:
            return np.asarray(states[:, 0], np.float32)
        weights = mask[:, :, None].astype(np.float32)
        return np.asarray((states * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1), np.float32)


class FolderReranker:
    """Scores of a local cross-encoder, which reads query and passage together."""

    def __init__(self, path: Path) -> None:
        self._folder = Folder(path)

    @property
    def name(self) -> str:
        return self._folder.name

    def scores(self, query: str, candidates: Sequence[Candidate]) -> Scores:
        encoded = self._folder.encode([(query, f"{one.title}\n{one.text}".strip()) for one in candidates])

        def run(part: list[int]) -> Floats:
            rows, _ = self._folder.run([encoded[place] for place in part])
            return (self._relevance(rows) if rows.ndim == 3 else rows[:, -1])[:, None]

        return batched([len(one.ids) for one in encoded], _BATCH, run, 1)[:, 0].astype(np.float64)

    def _relevance(self, states: Floats) -> Floats:
        try:
            return self._folder.bert.relevance(states)
        except KeyError:
            raise AssayError(f"{self._folder.path}: is no cross-encoder: it has no classifier") from None


def _clean(text: Any) -> Any:
    """Without lone surrogates, which tokenizers cannot take."""
    if isinstance(text, tuple):
        return tuple(_clean(one) for one in text)
    return text.encode("utf-8", "replace").decode()
