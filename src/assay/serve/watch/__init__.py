"""Index maintenance for servers: watch files, refresh in a child process, lease open repositories to threads."""

from __future__ import annotations

from assay.serve.watch.keeper import State
from assay.serve.watch.resident import Resident, WorkspaceResident, resident_of

__all__ = ["Resident", "State", "WorkspaceResident", "resident_of"]
