"""Local models: `folder:PATH`, a model folder as published on a hub, and `wordllama`, a table of word pieces."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError, install
from assay.search.embed.embedders import EMBEDDER_HELP, Role, Vectors
from assay.search.embed.rerankers import Candidate, Scores
from assay.store.word_vectors import unit

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1"}
_HEADER_LIMIT = 100 << 20  # bytes; the maximum of the format


def tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Return the memory-mapped arrays of a safetensors file."""
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if size > _HEADER_LIMIT:
                raise ValueError("header too long")
            header = json.loads(file.read(size))
        data = np.memmap(path, "u1", "r", offset=8 + size)
        return {name: _tensor(data, row) for name, row in header.items() if name != "__metadata__"}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise AssayError(f"{path}: cannot be read as safetensors ({error})") from None


def _tensor(data: NDArray[np.uint8], row: dict[str, Any]) -> NDArray[Any]:
    first, last = row["data_offsets"]
    raw = data[first:last]
    if row["dtype"] == "BF16":  # the upper half of a float32
        return (raw.view("<u2").astype("<u4") << 16).view("<f4").reshape(row["shape"])
    dtype = np.dtype(_TYPES[row["dtype"]])
    if len(raw) != dtype.itemsize * math.prod(row["shape"]):
        raise ValueError("truncated")
    return raw.view(dtype).reshape(row["shape"])


def tokenizer(path: Path, extra: str) -> Any:
    """Load a tokenizer.json; needs the tokenizers package."""
    try:
        from tokenizers import Tokenizer  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        missing("the package 'tokenizers' is not installed", extra)
    if not path.is_file():
        raise AssayError(f"{path}: no such tokenizer. {EMBEDDER_HELP}")
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises nothing more specific
        raise AssayError(f"{path}: cannot be read as a tokenizer ({error})") from None


def record(path: Path) -> dict[str, Any]:
    """Read a small JSON object; empty if the file is missing."""
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise AssayError(f"{path}: cannot be read ({error})") from None
    if not isinstance(content, dict):
        raise AssayError(f"{path}: must hold an object")
    return content


def missing(what: str, extra: str) -> NoReturn:
    """Raise an error that says what is missing, how to install it, and the alternatives."""
    raise AssayError(f"{what}: {install(extra)}. {EMBEDDER_HELP}")


def batched(
    lengths: list[int], size: int, run: Callable[[list[int]], NDArray[np.float32]], width: int
) -> NDArray[np.float32]:
    """Return the rows that `run` computes in batches of similar length, to keep padding small."""
    rows = np.zeros((len(lengths), width), np.float32)
    order = sorted(range(len(lengths)), key=lambda place: (lengths[place], place))
    for first in range(0, len(order), size):
        part = order[first : first + size]
        rows[part] = run(part)
    return rows


# folder:PATH

_ONNX = ("model.onnx", "onnx/model.onnx")
_EXPORT = "convert it with: optimum-cli export onnx --model FOLDER FOLDER, or take one published with an ONNX file"
_EXTRA = "onnx"
_BATCH = 32
_DEFAULT_MAX_TOKENS = 512  # tokens, if the folder sets no limit
_DIGEST_BYTES = 1 << 20  # read from each end of the weights to tell models apart
_PROMPTS = {
    "passage": ("passage", "document"),
    "query": ("query",),
}  # names in the configuration of sentence-transformers


class Folder:
    """The files of a model (tokenizer.json, config.json and model.onnx), and a way to run it with onnxruntime."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_dir():
            raise AssayError(f"{path}: no such model folder. {EMBEDDER_HELP}")
        self.settings = record(path / "config.json")
        onnx = next((path / name for name in _ONNX if (path / name).is_file()), None)
        if onnx is None:
            weights = "only PyTorch weights (safetensors), " if any(path.glob("*.safetensors")) else ""
            raise AssayError(f"{path}: {weights}no model.onnx; {_EXPORT}. {EMBEDDER_HELP}")
        self.onnx = onnx
        self.pieces = tokenizer(path / "tokenizer.json", _EXTRA)
        self.pieces.no_padding()
        self.pieces.enable_truncation(self.longest)

    @property
    def longest(self) -> int:
        """Maximum tokens of a text; the rest is truncated."""
        limits = (
            record(self.path / "sentence_bert_config.json").get("max_seq_length"),
            self.settings.get("max_position_embeddings"),
        )
        return min((limit for limit in limits if isinstance(limit, int) and limit > 2), default=_DEFAULT_MAX_TOKENS)

    @cached_property
    def name(self) -> str:
        """Folder name and a digest of everything that determines its vectors."""
        digest = blake2b(digest_size=8)
        with self.onnx.open("rb") as file:
            size = self.onnx.stat().st_size
            digest.update(f"{size} {self.longest}".encode() + file.read(_DIGEST_BYTES))
            file.seek(max(0, size - _DIGEST_BYTES))
            digest.update(file.read())
        for small in ("tokenizer.json", "config.json", "1_Pooling/config.json", "config_sentence_transformers.json"):
            digest.update((self.path / small).read_bytes() if (self.path / small).is_file() else b"\0")
        return f"folder:{self.path.resolve().name}:{digest.hexdigest()}"

    @cached_property
    def session(self) -> Any:
        try:
            import onnxruntime  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            missing("the package 'onnxruntime' is not installed", _EXTRA)
        try:
            return onnxruntime.InferenceSession(str(self.onnx), providers=["CPUExecutionProvider"])
        except Exception as error:  # the package has its own exception types
            raise AssayError(f"{self.onnx}: cannot be used as a model ({error})") from None

    def run(self, encoded: Sequence[Any]) -> tuple[Floats, Ints]:
        """Run the model on tokenized texts; return its output and the attention mask."""
        width = max(1, *(len(encoding.ids) for encoding in encoded))
        ids, types, mask = (np.zeros((len(encoded), width), np.int64) for _ in range(3))
        for row, encoding in enumerate(encoded):
            ids[row, : len(encoding.ids)], types[row, : len(encoding.ids)] = encoding.ids, encoding.type_ids
            mask[row, : len(encoding.ids)] = 1
        try:
            available = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
            inputs = {encoding.name: available[encoding.name] for encoding in self.session.get_inputs()}
            return np.asarray(self.session.run(None, inputs)[0], np.float32), mask
        except AssayError:
            raise
        except Exception as error:  # a mismatch of model and tokenizer can raise anything
            raise AssayError(f"{self.path}: the model cannot be run ({type(error).__name__}: {error})") from None

    def encode(self, texts: Sequence[Any]) -> list[Any]:
        return list(self.pieces.encode_batch([_clean(text) for text in texts]))


class FolderEmbedder:
    """Embedder of a local model: token states pooled as the folder configures."""

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
        prompt = next((self._prompts[name] for name in _PROMPTS[role] if self._prompts.get(name)), "")
        encoded = self._folder.encode([prompt + text for text in texts])

        def run(part: list[int]) -> Vectors:
            return self._pooled([encoded[place] for place in part])

        return unit(batched([len(encoding.ids) for encoding in encoded], _BATCH, run, self.dimensions))

    def _pooled(self, encoded: Sequence[Any]) -> Vectors:
        states, mask = self._folder.run(encoded)
        if states.ndim == 2:  # already pooled by the model
            return states
        if self._first_token:
            return np.asarray(states[:, 0], np.float32)
        weights = mask[:, :, None].astype(np.float32)
        return np.asarray((states * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1), np.float32)


class FolderReranker:
    """Local cross-encoder, which reads query and passage together."""

    def __init__(self, path: Path) -> None:
        self._folder = Folder(path)

    @property
    def name(self) -> str:
        return self._folder.name

    def scores(self, query: str, candidates: Sequence[Candidate]) -> Scores:
        encoded = self._folder.encode(
            [(query, f"{candidate.title}\n{candidate.text}".strip()) for candidate in candidates]
        )

        def run(part: list[int]) -> Floats:
            rows, _ = self._folder.run([encoded[place] for place in part])
            if rows.ndim != 2:
                raise AssayError(f"{self._folder.path}: not a cross-encoder: the model has no classifier")
            return rows[:, -1:]  # with two classes, the second is "relevant"

        return batched([len(encoding.ids) for encoding in encoded], _BATCH, run, 1)[:, 0].astype(np.float64)


def _clean(text: Any) -> Any:
    """Replace lone surrogates, which tokenizers reject."""
    if isinstance(text, tuple):
        return tuple(_clean(part) for part in text)
    return text.encode("utf-8", "replace").decode()


# wordllama: 32,000 word-piece vectors from the package of that name; no model runs

_TABLE = Path("weights/l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers/l2_supercat_tokenizer_config.json")
_WORDLLAMA_EXTRA = "dense"
_WORDLLAMA_BATCH = 512


class WordLlama:
    """Mean of word-piece vectors. The package itself is never imported: its loader needs the network."""

    name = "wordllama:l2_supercat_256"

    def __init__(self, table: NDArray[Any], pieces: Any) -> None:
        self._table, self._pieces = table, pieces

    @classmethod
    def installed(cls) -> WordLlama:
        spec = find_spec("wordllama")
        places = [Path(location) for location in (spec.submodule_search_locations or ())] if spec else []
        folder = next((place for place in places if (place / _TABLE).is_file()), None)
        if folder is None:
            missing("the wordllama table is not installed", _WORDLLAMA_EXTRA)
        return cls(tensors(folder / _TABLE)["embedding.weight"], tokenizer(folder / _TOKENIZER, _WORDLLAMA_EXTRA))

    @cached_property
    def dimensions(self) -> int:
        return int(self._table.shape[1])

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for first in range(0, len(texts), _WORDLLAMA_BATCH):
            part = [text.encode("utf-8", "replace").decode() for text in texts[first : first + _WORDLLAMA_BATCH]]
            for place, encoding in enumerate(self._pieces.encode_batch(part, add_special_tokens=False), first):
                if encoding.ids:
                    rows[place] = self._table[encoding.ids].mean(axis=0, dtype=np.float32)
        return unit(rows)
