"""BERT encoder in numpy, for model folders without an ONNX file: MiniLM, BGE, E5, GTE and cross-encoders based on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_MASKED = np.float32(-1e9)  # added to the attention scores of padding


class Bert:
    """Token ids, attention mask and token type ids in; a vector for each token out."""

    def __init__(self, weights: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> None:
        prefix = "bert." if any(name.startswith("bert.") for name in weights) else ""
        self._weights = {name.removeprefix(prefix): np.asarray(array, np.float32) for name, array in weights.items()}
        try:
            self.width, self.layers = int(settings["hidden_size"]), int(settings["num_hidden_layers"])
            self._heads, self._epsilon = int(settings["num_attention_heads"]), float(settings["layer_norm_eps"])
            self.longest = int(settings["max_position_embeddings"])
        except (KeyError, TypeError, ValueError) as error:
            raise AssayError(f"config.json does not describe a BERT model ({error})") from None

    def states(self, ids: Ints, mask: Ints, types: Ints) -> Floats:
        """Return the hidden states of the last layer: texts × tokens × width."""
        words = self._weights["embeddings.word_embeddings.weight"][ids]
        positions = self._weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        token_types = self._weights["embeddings.token_type_embeddings.weight"][types]
        states = self._layer_norm(words + positions + token_types, "embeddings")
        bias = (1 - mask[:, None, None, :]).astype(np.float32) * _MASKED
        for layer in range(self.layers):
            states = self._layer(states, bias, f"encoder.layer.{layer}")
        return states

    def relevance(self, states: Floats) -> Floats:
        """Return the cross-encoder score from the state of the first token."""
        pooled = np.tanh(self._dense(states[:, 0], "pooler.dense"))
        return self._dense(pooled, "classifier")[:, -1]  # with two classes, the second is "relevant"

    def _layer(self, states: Floats, bias: Floats, name: str) -> Floats:
        attended = self._dense(
            self._attention(states, bias, f"{name}.attention.self"), f"{name}.attention.output.dense"
        )
        states = self._layer_norm(states + attended, f"{name}.attention.output")
        inner = _gelu(self._dense(states, f"{name}.intermediate.dense"))
        return self._layer_norm(states + self._dense(inner, f"{name}.output.dense"), f"{name}.output")

    def _attention(self, states: Floats, bias: Floats, name: str) -> Floats:
        texts, tokens, width = states.shape
        query, key, value = (
            self._dense(states, f"{name}.{part}").reshape(texts, tokens, self._heads, -1).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(width / self._heads)) + bias
        attention = np.exp(scores - scores.max(axis=-1, keepdims=True))
        attention /= attention.sum(axis=-1, keepdims=True)
        return np.asarray((attention @ value).transpose(0, 2, 1, 3).reshape(texts, tokens, width))

    def _dense(self, states: Floats, name: str) -> Floats:
        projected: Floats = states @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return projected

    def _layer_norm(self, states: Floats, name: str) -> Floats:
        centred = states - states.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(self._epsilon))
        normalized: Floats = (
            centred / spread * self._weights[f"{name}.LayerNorm.weight"] + self._weights[f"{name}.LayerNorm.bias"]
        )
        return normalized


def _gelu(values: Floats) -> Floats:
    """Gaussian error linear unit; error function by Abramowitz and Stegun 7.1.26 (error at most 1.5e-7)."""
    scaled = np.abs(values) * np.float32(np.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * scaled)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    error = np.sign(values) * (1 - series * np.exp(-scaled * scaled))
    return np.asarray(values * 0.5 * (1 + error), np.float32)
