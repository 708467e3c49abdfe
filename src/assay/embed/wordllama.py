"""`wordllama`: a table of 32,000 word pieces that the package of that name carries. A text is the mean of its pieces; no model runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.embed.model_files import missing, tensors, tokenizer
from assay.embed.vectors import Role, Vectors, unit

_TABLE = Path("weights/l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers/l2_supercat_tokenizer_config.json")
_EXTRA = "dense"
_BATCH = 512


class WordLlama:
    """Looks up and averages; the package itself is never imported, as its own loader wants the network."""

    name = "wordllama:l2_supercat_256"

    def __init__(self, table: NDArray[Any], pieces: Any) -> None:
        self._table, self._pieces = table, pieces

    @classmethod
    def installed(cls) -> WordLlama:
        found = find_spec("wordllama")
        places = [Path(one) for one in (found.submodule_search_locations or ())] if found else []
        folder = next((one for one in places if (one / _TABLE).is_file()), None)
        if folder is None:
            missing("the table of wordllama is not installed", _EXTRA)
        return cls(tensors(folder / _TABLE)["embedding.weight"], tokenizer(folder / _TOKENIZER, _EXTRA))

    @cached_property
    def dimensions(self) -> int:
        return int(self._table.shape[1])

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for first in range(0, len(texts), _BATCH):
            part = [text.encode("utf-8", "replace").decode() for text in texts[first : first + _BATCH]]
            for place, one in enumerate(self._pieces.encode_batch(part, add_special_tokens=False), first):
                if one.ids:
                    rows[place] = self._table[one.ids].mean(axis=0, dtype=np.float32)
        return unit(rows)
