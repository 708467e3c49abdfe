"""A PostgreSQL server of the tests' own: a cluster in a temporary folder, on loopback, that ends with the tests."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

import pytest

from assay.database.address import Address
from support.processes import children, is_alive
from support.waiting import PATIENCE

OWNER, PASSWORD = "owner", "s3cret/owner"  # the password needs quoting in an address
_QUOTED = PASSWORD.replace("/", "%2F")


@cache
def binaries() -> Path | None:
    """The folder of `initdb` and `postgres`: on PATH, or Debian's newest."""
    if on_path := shutil.which("initdb"):
        return Path(on_path).resolve().parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


class Cluster:
    """One server process. Passwords are checked over TCP; `durable` is for tests of crashes."""

    def __init__(self, durable: bool = False) -> None:
        folder = binaries()
        if folder is None:
            pytest.skip("PostgreSQL's server programs are not installed (initdb)")
        pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'psycopg[binary]'")
        self._programs = folder
        # short, because the path of a socket has at most 107 bytes; outside of pytest's folder, which is its user's own
        self.folder = Path(tempfile.mkdtemp(prefix="assay-pg-", dir="/tmp"))
        # PostgreSQL refuses to run as root
        self._user: dict[str, object] = (
            {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        )
        password = self.folder / "password"
        password.write_text(PASSWORD)
        if self._user:
            for path in (self.folder, password):
                shutil.chown(path, "postgres", "postgres")
        command = [folder / "initdb", "-D", self.folder / "data", "-U", OWNER, "-N", "-E", "UTF8", "--no-locale"]
        command += ["--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={password}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder, **self._user)  # type: ignore[call-overload]
        self._settings = {"fsync": "on" if durable else "off", "synchronous_commit": "on" if durable else "off"}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._databases = 0
        self.start()

    def start(self) -> None:
        settings = self._settings | {
            "listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": self.folder,
            "max_connections": 60, "shared_buffers": "32MB", "dynamic_shared_memory_type": "mmap",
        }  # fmt: skip
        command = [str(self._programs / "postgres"), "-D", str(self.folder / "data")]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **self._user)  # type: ignore[call-overload]
        import psycopg

        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.address("postgres")).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._server.poll() is not None:
                    raise AssertionError((self.folder / "log").read_text()) from None
                time.sleep(0.05)

    def kill(self) -> None:
        """Kill the server and everything it started, as a power failure would."""
        self._server.send_signal(signal.SIGSTOP)  # it starts nothing more
        killed = children(self._server.pid)
        for process in (*killed, self._server.pid):
            os.kill(process, signal.SIGKILL)
        self._server.wait()
        while any(
            is_alive(process) for process in killed
        ):  # until then they hold the memory that the next server needs
            time.sleep(0.01)

    def close(self) -> None:
        self._server.send_signal(signal.SIGQUIT)  # at once: the folder is removed anyway
        try:
            self._server.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, database: str, login: str = f"{OWNER}:{_QUOTED}", project: str = "") -> str:
        return f"postgresql://{login}@127.0.0.1:{self.port}/{database}" + (f"?project={project}" if project else "")

    def new_database(self) -> str:
        """Make an empty database and return its name."""
        import psycopg

        self._databases += 1
        name = f"d{self._databases}"
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return name


def new_postgres_store(cluster: Cluster, project: str = "shop") -> str:
    """Make a store with one project in a new database; return its address, as its owner."""
    database = cluster.new_database()
    add_project(cluster.address(database, project=project))
    return cluster.address(database, project=project)


def add_project(address: str) -> None:
    from assay.database import postgres, schema

    place = Address.parse(address)
    with postgres.connect(place) as connection:
        schema.migrate(connection)
        schema.add_project(connection, place)


def execute(address: str, statement: str) -> list[tuple[object, ...]]:
    """Run a statement as a login, past the store."""
    import psycopg

    with psycopg.connect(Address.parse(address).uri, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def new_login(cluster: Cluster, address: str, name: str, *roles: str) -> str:
    """Make a login that is a member of roles, as the owner of a store; return its address."""
    database, project = re.search(r"/(\w+)\?project=(.*)", address).groups()  # type: ignore[union-attr]
    execute(address, f"CREATE ROLE {name} LOGIN PASSWORD 'pw-{name}'")
    for role in roles:
        execute(address, f'GRANT "{role}" TO {name}')
    return cluster.address(database, f"{name}:pw-{name}", project)


def owned_database(cluster: Cluster, name: str, project: str) -> str:
    """Make an empty database of a new login that may create roles and is no superuser; return its address."""
    database, server = cluster.new_database(), cluster.address("postgres")
    execute(server, f"CREATE ROLE {name} LOGIN CREATEROLE PASSWORD 'pw-{name}'")
    execute(server, f"ALTER DATABASE {database} OWNER TO {name}")
    return cluster.address(database, f"{name}:pw-{name}", project)


# the grants of `assay store init` up to format 2
_FORMER_GRANTS = """
CREATE ROLE {reader} NOLOGIN; CREATE ROLE {writer} NOLOGIN;
INSERT INTO assay.projects VALUES ('{project}', '{reader}', '{writer}');
GRANT {reader} TO {writer};
GRANT {writer} TO CURRENT_USER;
GRANT USAGE ON SCHEMA assay TO {reader};
GRANT SELECT ON ALL TABLES IN SCHEMA assay TO {reader};
GRANT INSERT, UPDATE, DELETE ON {tables} TO {writer};
"""


def store_of_format(number: int, address: str) -> str:
    """Make the store of an empty database as a version with format 1 or 2 did, with one project; return its address."""
    from assay.database import schema

    place = Address.parse(address)
    execute(
        address,
        "CREATE SCHEMA assay; CREATE TABLE assay.migrations (number int8 PRIMARY KEY, applied timestamptz DEFAULT now())",
    )
    for applied in range(1, number + 1):
        execute(address, schema.MIGRATIONS[applied - 1])
        execute(address, f"INSERT INTO assay.migrations (number) VALUES ({applied})")
    tables = ", ".join(f"assay.{table}" for table in (schema.TABLES[:4] if number == 1 else schema.TABLES))
    names = {"project": place.project, "reader": place.reader, "writer": place.writer}
    execute(address, _FORMER_GRANTS.format(tables=tables, **names))
    return address
