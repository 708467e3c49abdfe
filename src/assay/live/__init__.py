"""A repository that stays open while its files change, or several: the index is kept up to date behind those who ask."""

from assay.live.resident import Resident
from assay.live.residents import Residents, resident_of
from assay.live.state import State

__all__ = ["Resident", "Residents", "State", "resident_of"]
