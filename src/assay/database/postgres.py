"""Team store: PostgreSQL with many readers and writers at once.

A connection takes on the role of its project (`SET ROLE`): the reader unless it writes. Rows in bulk arrive by COPY in a
temporary table and are moved from there in the same transaction, because COPY itself does not work with row-level
security.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg import errors, pq, sql
from psycopg.conninfo import conninfo_to_dict

from assay.database import (
    KEYS,
    Changes,
    Damaged,
    NotPermitted,
    Row,
    StoreError,
    StoreInUse,
    StoreUnreachable,
    merge_statement,
)
from assay.database.address import Address
from assay.database.schema import FEEDBACK_TABLES, TABLES, TYPES, require_current, version
from assay.errors import AssayError
from assay.system.http import is_loopback

CONNECT_TIMEOUT = 10  # seconds; a server that is there answers in milliseconds
QUICK_TIMEOUT = 3  # seconds, where an answer to a person waits for it and can do without
_STATEMENT_TIMEOUT = 300  # seconds; judged arrays of a million queries take 5
_IDLE_TIMEOUT = 60  # seconds that a stopped process may hold locks
_RETRY_PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)  # seconds; a server that crashed is back in about ten
_KEPT_CONNECTIONS = 4  # per address and role; connecting costs 5 to 20 ms, which pages of a server would notice
_KEPT_IN_TOTAL = 16  # of all addresses
_LIFETIME = 600.0  # seconds of a connection between uses: a role that was revoked ends with it
_FETCHED_AT_ONCE = 2_000  # rows; a few megabytes of hits

# errors that pass by themselves: another transaction was in the way, or the server is starting, stopping or full
_TRANSIENT = (
    errors.DeadlockDetected, errors.SerializationFailure, errors.AdminShutdown, errors.CrashShutdown,
    errors.CannotConnectNow, errors.TooManyConnections,
)  # fmt: skip
# the same while connecting, where psycopg has only the text
_TRANSIENT_REFUSALS = ("too many clients", "connection slots are reserved", "the database system is")
# texts of libpq, which has no codes for what happens before a server answers
_UNREACHABLE = (
    "refused", "timeout expired", "could not translate host name", "failed to resolve host", "unreachable", "No route to host",
    "No such file or directory", "closed the connection", "Connection reset", "connection is lost", "connection is closed",
)  # fmt: skip
_WRONG_PASSWORD = ("password authentication failed", "no password supplied")
_IN_USE = (errors.LockNotAvailable, errors.QueryCanceled, errors.TooManyConnections, errors.DeadlockDetected)

Result = TypeVar("Result")


class Postgres:
    """The `Database` of a project in PostgreSQL."""

    sequence = "number"
    same = "IS NOT DISTINCT FROM"

    def __init__(self, address: Address, role: str, wait: float, repository: str = "", patient: bool = True) -> None:
        self.place, self._address, self._role, self._wait = str(address), address, role, wait
        self._repository, self._patient = repository, patient
        self._db = _idle.take(address, role) or self._connect()
        self.member = self._set_up()

    def _connect(self) -> psycopg.Connection:
        if not self._patient:
            return connect(self._address, self._role, QUICK_TIMEOUT)
        return _retried(lambda: connect(self._address, self._role), _is_transient)

    def _set_up(self) -> str:
        """Set what differs between two uses of a connection; return the login."""
        settings = {
            "lock_timeout": f"{max(1, round(self._wait * 1000))}ms",
            "assay.project": self._address.project,
            "assay.repository": self._repository,
        }
        select = ", ".join(["set_config(%s, %s, false)"] * len(settings))
        values = [part for setting in settings.items() for part in setting]
        row = self._db.execute(f"SELECT session_user::text, {select}".encode(), values).fetchone()
        return str(row[0]) if row else ""

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        with self._db.cursor(binary=True) as cursor:
            return cursor.execute(_query(statement), parameters).fetchall()

    def stream(self, statement: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        with self._db.transaction(), self._db.cursor("stream", binary=True) as cursor:
            cursor.itersize = _FETCHED_AT_ONCE
            yield from cursor.execute(_query(statement), parameters)

    def change(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        return self._retry(lambda: self._db.execute(_query(statement), parameters).rowcount)

    def change_each(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            with self._db.transaction(), self._db.cursor() as cursor:
                cursor.executemany(_query(statement), rows)

    def insert(self, table: str, columns: Sequence[str], row: Sequence[Any]) -> bool:
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(row))})"
        return self._db.execute(f"{statement} ON CONFLICT DO NOTHING".encode(), row).rowcount > 0

    def replace(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self._retry(lambda: self._replace(table, columns, rows))

    def _replace(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        staging, names, key = f"pg_temp.new_{table}", ", ".join(columns), KEYS[table]
        others = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in key)
        with self._db.transaction(), self._db.cursor() as cursor:
            types = ", ".join(f"{name} {TYPES[table][name]}" for name in columns)
            cursor.execute(f"CREATE TEMPORARY TABLE IF NOT EXISTS new_{table} ({types})".encode())
            cursor.execute(f"TRUNCATE {staging}".encode())
            with cursor.copy(f"COPY {staging} ({names}) FROM STDIN (FORMAT BINARY)".encode()) as copy:
                copy.set_types([TYPES[table][name] for name in columns])
                for row in rows:
                    copy.write_row(row)
            # in the order of the key: two writers of the same rows wait for each other instead of deadlocking
            cursor.execute(
                f"INSERT INTO {table} ({names}) SELECT {names} FROM {staging} ORDER BY {', '.join(key)} "
                f"ON CONFLICT ({', '.join(_key(table))}) DO UPDATE SET {others}".encode()
            )

    def merge(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], changes: Changes) -> None:
        self.change_each(merge_statement(table, columns, _key(table), changes), rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._db.transaction():
            yield

    def exclusive(self) -> None:
        name = f"feedback {self._address.project} {self._repository}"
        self._db.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (name,))

    def size(self) -> int:
        tables = [f"assay.{table}" for table in TABLES]
        return int(
            self.rows(
                "SELECT sum(pg_total_relation_size(name::regclass))::int8 FROM unnest(?::text[]) name", (tables,)
            )[0][0]
        )

    def close(self) -> None:
        _idle.give(self._address, self._role, self._db)

    def _retry(self, work: Callable[[], Result]) -> Result:
        """Repeat idempotent work after a passing error, on a new connection if that one is lost."""
        if self._db.info.transaction_status in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR):
            return work()  # the transaction around it is lost as a whole

        def attempt() -> Result:
            if self._db.closed:
                self._db = self._connect()
                self._set_up()
            return work()

        return _retried(attempt, lambda error: _is_transient(error) or self._db.closed)


class _Idle:
    """Connections between two uses, for servers, which open the store once per page.

    A pool with threads of its own would start them in every command, and hides why a server refuses a connection.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: dict[tuple[Address, str, int], list[psycopg.Connection]] = {}
        self._since: WeakKeyDictionary[psycopg.Connection, float] = WeakKeyDictionary()

    def take(self, address: Address, role: str) -> psycopg.Connection | None:
        """Return a connection that still answers, or None."""
        while True:
            with self._lock:
                idle = self._connections.get((address, role, os.getpid()))
                connection = idle.pop() if idle else None
            if connection is None:
                return None
            if time.monotonic() - self._since[connection] < _LIFETIME:
                with suppress(psycopg.Error):
                    connection.execute("SELECT 1")
                    return connection
            connection.close()

    def give(self, address: Address, role: str, connection: psycopg.Connection) -> None:
        """Keep a connection for the next use, or close it."""
        surplus: psycopg.Connection | None = connection
        if not connection.closed and connection.info.transaction_status == pq.TransactionStatus.IDLE:
            with self._lock:
                idle = self._connections.setdefault((address, role, os.getpid()), [])
                self._since.setdefault(connection, time.monotonic())
                if len(idle) < _KEPT_CONNECTIONS:
                    idle.append(connection)
                    surplus = self._surplus()
        if surplus is not None:
            surplus.close()

    def _surplus(self) -> psycopg.Connection | None:
        """Take out the oldest connection of this process if there are too many."""
        own = [idle for key, idle in self._connections.items() if idle and key[2] == os.getpid()]
        if sum(map(len, own)) <= _KEPT_IN_TOTAL:
            return None
        return min(own, key=lambda idle: self._since[idle[0]]).pop(0)

    def close(self) -> None:
        with self._lock:
            for connection in (connection for idle in self._connections.values() for connection in idle):
                connection.close()
            self._connections.clear()


_idle = _Idle()
atexit.register(_idle.close)


def connect(address: Address, role: str = "", seconds: int = CONNECT_TIMEOUT) -> psycopg.Connection:
    """Connect as a role of the project, or as the login itself; time limits are set. Raises psycopg.Error."""
    parameters: dict[str, Any] = {
        "connect_timeout": seconds,
        "fallback_application_name": "assay",
        **conninfo_to_dict(address.uri),
    }
    if "sslmode" not in parameters and "PGSSLMODE" not in os.environ and not _is_local(parameters):
        parameters["sslmode"] = "require"  # libpq would send questions and code unencrypted if the server prefers
    connection = psycopg.connect(**parameters, autocommit=True)
    try:
        connection.execute(
            sql.SQL(
                "SET statement_timeout = {}; SET idle_in_transaction_session_timeout = {}; "
                "SET search_path = assay, pg_temp; SET client_min_messages = warning"
            ).format(f"{_STATEMENT_TIMEOUT}s", f"{_IDLE_TIMEOUT}s")
        )
        if role:
            connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
            require_current(version(connection))
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def opened(
    address: Address, write: bool, wait: float, repository: str = "", patient: bool = True
) -> Iterator[Postgres]:
    """Open a project as its writer or its reader. Errors of the server are raised as AssayError.

    With `repository`, only feedback of that one is seen and added. One who is not `patient` tries to connect once.
    """
    with translated(address):
        database = Postgres(address, address.writer if write else address.reader, wait, repository, patient)
        try:
            yield database
        finally:
            database.close()


@contextmanager
def translated(address: Address) -> Iterator[None]:
    """Raise errors of the driver as AssayError, without the password of the address."""
    try:
        yield
    except (psycopg.Error, Damaged) as error:
        raise _store_error(address, error) from None
    except AssayError as error:
        if type(error) is AssayError and str(error).startswith("the store has format"):
            raise StoreError(f"{address}: {error}") from None
        raise


def _store_error(address: Address, error: Exception) -> StoreError:
    message = " ".join(address.censored(str(error)).split())
    if isinstance(error, _IN_USE) or any(refusal in message for refusal in _TRANSIENT_REFUSALS):
        return StoreInUse(f"{address}: the store is busy ({message}). Try again later.")
    if isinstance(error, (errors.UndefinedTable, errors.InvalidSchemaName)):
        return StoreError(f"{address}: not a store yet. Its owner makes it one with: assay store init ADDRESS")
    if isinstance(error, (errors.UndefinedObject, errors.InvalidParameterValue)) and "role" in message:
        return StoreError(
            f"{address}: no project '{address.project}'. The owner adds it with: assay store init ADDRESS?project=NAME"
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return NotPermitted(
            f"{address}: not permitted ({message}). The owner grants it: GRANT {address.reader} (or {address.writer}) TO you"
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return NotPermitted(
            f"{address}: the server is read-only ({message}). Name the primary, or all hosts with "
            "target_session_attrs=read-write"
        )
    if any(refusal in message for refusal in _WRONG_PASSWORD):
        return StoreError(f"{address}: the password is wrong or missing ({message}). Keep it in ~/.pgpass")
    if isinstance(error, psycopg.OperationalError) and any(sign in message for sign in _UNREACHABLE):
        return StoreUnreachable(
            f"{address}: the server cannot be reached ({message}). Check host, port and network, and that it is running"
        )
    return StoreError(f"{address}: the store cannot be used ({message})")


def _is_transient(error: psycopg.Error) -> bool:
    return isinstance(error, _TRANSIENT) or any(refusal in str(error) for refusal in _TRANSIENT_REFUSALS)


def _retried(work: Callable[[], Result], passes: Callable[[psycopg.Error], bool]) -> Result:
    for pause in _RETRY_PAUSES:
        try:
            return work()
        except psycopg.Error as error:
            if not passes(error):
                raise
            time.sleep(pause)
    return work()


def _is_local(parameters: dict[str, Any]) -> bool:
    """Return whether all hosts are this machine: loopback, or a Unix socket."""
    hosts = str(parameters.get("hostaddr") or parameters.get("host") or os.environ.get("PGHOST", ""))
    return all(not host or host.startswith("/") or is_loopback(host) for host in hosts.split(","))


def _key(table: str) -> tuple[str, ...]:
    """Return the columns of a table's key, with those that row-level security checks."""
    scope = ("project", "repository") if table in FEEDBACK_TABLES else ("project",)
    return (*scope, *KEYS[table])


def _query(statement: str) -> bytes:
    return statement.replace("?", "%s").encode()
