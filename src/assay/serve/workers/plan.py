"""Description of a server: repositories, access and options; and serving it in one process."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from assay.config.roots import Root
from assay.errors import AssayError
from assay.serve.access import Access
from assay.serve.registry import Registry, RegistryWatcher
from assay.serve.telemetry import AuditLog
from assay.serve.watch import Resident, WorkspaceResident
from assay.serve.web.application import application, run
from assay.serve.web.bench import Bench, Registration


@dataclass(frozen=True)
class Reread:
    """Settings of the user's configuration, which a restart of workers reads again."""

    store: str  # address of a team's run store; empty: a file
    allowed: Sequence[Path]  # folders whose repositories requests may register


@dataclass(frozen=True)
class Plan:
    """Repositories, access and options by the command line; `reread` returns what the user's configuration says now."""

    access: Access
    roots: Sequence[Root]  # at first; a single repository has the label ""
    index_dir: Path | None  # of a single repository
    folder: Path | None  # of a workspace
    watch: bool
    runs_file: Path
    audit_file: Path | None
    registry: Registry | None  # None: `roots` are all there is
    reread: Callable[[], Reread]

    @property
    def single(self) -> bool:
        return any(not root.label for root in self.roots)

    def registered(self, say: Callable[[str], None]) -> list[Root] | None:
        """Return the registered repositories that can be served; None if the file cannot be read."""
        if self.registry is None:
            return None
        try:
            roots, problems = self.registry.usable()
        except AssayError as error:
            say(f"the registered repositories stay as they are: {error}")
            return None
        for problem in problems:
            say(problem)
        return roots


def serve_alone(plan: Plan, listening: socket.socket, say: Callable[[str], None]) -> None:
    """Serve in this process until Ctrl-C or SIGTERM; `say` prints a line."""
    with ExitStack() as stack:
        if plan.single:
            single = stack.enter_context(Resident(plan.roots[0].path, plan.index_dir, plan.watch))
            bench = _bench(plan, single, None)
        else:
            resident = stack.enter_context(WorkspaceResident(plan.roots, plan.folder, plan.watch, partly=True))

            def read_registry() -> None:
                roots = plan.registered(say)
                if roots is not None:
                    resident.replace_roots(roots)

            if plan.registry:
                stack.enter_context(closing(RegistryWatcher(plan.registry, read_registry)))
            bench = _bench(plan, resident, read_registry)
        run(application(bench, plan.access), listening)


def _bench(plan: Plan, resident: Resident | WorkspaceResident, changed: Callable[[], None] | None) -> Bench:
    settings = plan.reread()
    registration = Registration(plan.registry, settings.allowed, changed) if plan.registry and changed else None
    audit = AuditLog(plan.audit_file) if plan.audit_file else None
    return Bench(resident, plan.runs_file, audit, settings.store, registration)
