"""A repository that stays open while its files change: the index is kept up to date behind those who ask."""

from assay.live.resident import Resident
from assay.live.state import State

__all__ = ["Resident", "State"]
