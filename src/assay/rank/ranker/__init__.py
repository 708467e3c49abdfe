"""The learned ranker: reorders the top candidates with a linear model trained on public commits.

ranking ──▶ candidates ──▶ features (features.py) ──▶ weighted sum (model.py, ranker.json) ──▶ scores

`scripts/train_ranker.py` trains the weights and writes ranker.json; nothing here needs the training dependencies.
"""

from __future__ import annotations
