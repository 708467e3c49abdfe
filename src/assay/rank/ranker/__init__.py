"""The learned ranker: the best candidates of a ranking, ordered anew by what thousands of public commits went on to change.

ranking ──▶ candidates ──▶ features (features.py) ──▶ a sum of weighted features (model.py, ranker.json) ──▶ scores

`scripts/train_ranker.py` learns the weights and writes ranker.json; nothing here needs what it trains with.
"""

from __future__ import annotations
