"""Tables, roles and policies of the PostgreSQL store: numbered migrations, applied by the owner of the database.

Every row belongs to a project. A project has two roles that nobody logs in as: its reader and its writer. Row-level
security shows a role the rows of the projects it is a member of, and the owner is no exception, so that no statement
has to name the project and none can forget to. Feedback also belongs to a repository: a connection that names one
(the setting `assay.repository`) sees and adds only rows of that one, others see those of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.database.address import Address
from assay.errors import AssayError

if TYPE_CHECKING:
    import psycopg

# types of the columns that bulk writes fill; binary COPY converts nothing by itself
TYPES = {
    "eval_query_results": {
        "run_id": "text", "position": "int8", "query_id": "text", "hits": "bytea", "answer": "bytea", "trace": "bytea",
        "config": "bytea", "tokens": "int8", "latency_ms": "float8", "error": "text", "unstable": "bool",
    },
    "eval_judged": {
        "run_id": "text", "matching": "text", "version": "int8", "name": "text", "kind": "text", "data": "bytea",
    },
}  # fmt: skip

_ADVISORY_LOCK = 0x6173736179  # "assay": one migration at a time in a database

_FIRST = """
CREATE TABLE assay.projects (project text COLLATE "C" PRIMARY KEY, reader name NOT NULL UNIQUE, writer name NOT NULL UNIQUE);

CREATE FUNCTION assay.readable() RETURNS text[] LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT coalesce(array_agg(p.project), '{}') FROM assay.projects p JOIN pg_roles r ON r.rolname = p.reader
    WHERE pg_has_role(r.oid, 'usage')
$$;
CREATE FUNCTION assay.writable() RETURNS text[] LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT coalesce(array_agg(p.project), '{}') FROM assay.projects p JOIN pg_roles r ON r.rolname = p.writer
    WHERE pg_has_role(r.oid, 'usage')
$$;

CREATE TABLE assay.eval_golden (
    project text COLLATE "C" NOT NULL REFERENCES assay.projects, golden text COLLATE "C", digest text, path text, format text, queries bytea,
    PRIMARY KEY (project, golden)
);
CREATE TABLE assay.eval_runs (
    project text COLLATE "C" NOT NULL, run_id text COLLATE "C", created text COLLATE "C", finished text, status text, label text,
    golden_hash text, golden text COLLATE "C", system text, config text, matching text, level text, k int8, depth int8, budget int8,
    repeat int8, answers bool, corpus text, index_fingerprint text, chunker_version text, versions text, environment text,
    warnings text, aggregate_json text, number int8 GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (project, run_id), FOREIGN KEY (project, golden) REFERENCES assay.eval_golden
);
CREATE INDEX eval_runs_by_golden ON assay.eval_runs (project, golden);
CREATE TABLE assay.eval_query_results (
    project text COLLATE "C" NOT NULL, run_id text COLLATE "C", position int8, query_id text, hits bytea, answer bytea, trace bytea,
    config bytea, tokens int8, latency_ms float8, error text, unstable bool,
    PRIMARY KEY (project, run_id, position), FOREIGN KEY (project, run_id) REFERENCES assay.eval_runs
);
CREATE TABLE assay.eval_judged (
    project text COLLATE "C" NOT NULL, run_id text COLLATE "C", matching text, version int8, name text, kind text, data bytea,
    PRIMARY KEY (project, run_id, matching, name), FOREIGN KEY (project, run_id) REFERENCES assay.eval_runs
);
"""

# The functions stand in a sub-query so that they are called once per statement, not once per row.
_POLICIES = """
ALTER TABLE assay.{table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE assay.{table} FORCE ROW LEVEL SECURITY;
CREATE POLICY readers ON assay.{table} FOR SELECT USING (project = ANY ((SELECT assay.readable())::text[]));
CREATE POLICY inserts ON assay.{table} FOR INSERT WITH CHECK (project = ANY ((SELECT assay.writable())::text[]));
CREATE POLICY updates ON assay.{table} FOR UPDATE USING (project = ANY ((SELECT assay.writable())::text[]));
CREATE POLICY deletes ON assay.{table} FOR DELETE USING (project = ANY ((SELECT assay.writable())::text[]));
"""

_RUN_TABLES = ("eval_golden", "eval_runs", "eval_query_results", "eval_judged")

# Projects and repositories are filled in by the settings of a connection, which row-level security checks.
_SECOND = """
ALTER TABLE assay.eval_golden ALTER project SET DEFAULT current_setting('assay.project', true);
ALTER TABLE assay.eval_runs ALTER project SET DEFAULT current_setting('assay.project', true);
ALTER TABLE assay.eval_query_results ALTER project SET DEFAULT current_setting('assay.project', true);
ALTER TABLE assay.eval_judged ALTER project SET DEFAULT current_setting('assay.project', true);

CREATE TABLE assay.eval_baselines (
    project text COLLATE "C" NOT NULL DEFAULT current_setting('assay.project', true), name text COLLATE "C",
    run_id text COLLATE "C" NOT NULL, created text COLLATE "C" NOT NULL, author text NOT NULL,
    PRIMARY KEY (project, name), FOREIGN KEY (project, run_id) REFERENCES assay.eval_runs
);
COMMENT ON TABLE assay.eval_baselines IS 'runs that gates compare with, by name';
CREATE TABLE assay.eval_experiments (
    project text COLLATE "C" NOT NULL DEFAULT current_setting('assay.project', true) REFERENCES assay.projects, number int8,
    created text COLLATE "C" NOT NULL, author text NOT NULL, title text NOT NULL, hypothesis text NOT NULL, what text NOT NULL,
    before text COLLATE "C" NOT NULL, after text COLLATE "C" NOT NULL, result text NOT NULL, conclusion text NOT NULL,
    PRIMARY KEY (project, number)
);
COMMENT ON TABLE assay.eval_experiments IS 'hypotheses, and their outcomes from two runs';

CREATE TABLE assay.symbols (
    project text COLLATE "C" NOT NULL DEFAULT current_setting('assay.project', true) REFERENCES assay.projects,
    repository text COLLATE "C" NOT NULL DEFAULT nullif(current_setting('assay.repository', true), ''),
    key int8 GENERATED ALWAYS AS IDENTITY, id text COLLATE "C" NOT NULL, text bytea NOT NULL, file bytea NOT NULL,
    gone bytea NOT NULL DEFAULT '', useful int8 NOT NULL DEFAULT 0 CHECK (useful >= 0),
    not_useful int8 NOT NULL DEFAULT 0 CHECK (not_useful >= 0), time float8 NOT NULL CHECK (abs(time) < 1e12),
    PRIMARY KEY (project, repository, key), UNIQUE (project, repository, id, text)
);
COMMENT ON TABLE assay.symbols IS 'feedback: versions of symbols with their votes';
CREATE TABLE assay.vocabulary (
    project text COLLATE "C" NOT NULL DEFAULT current_setting('assay.project', true),
    repository text COLLATE "C" NOT NULL DEFAULT nullif(current_setting('assay.repository', true), ''),
    term text COLLATE "C" NOT NULL, symbol int8 NOT NULL, word text COLLATE "C" NOT NULL, count int8 NOT NULL DEFAULT 0,
    number int8 GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (project, repository, term, symbol),
    FOREIGN KEY (project, repository, symbol) REFERENCES assay.symbols ON DELETE CASCADE
);
CREATE INDEX vocabulary_symbol ON assay.vocabulary (project, repository, symbol);
COMMENT ON TABLE assay.vocabulary IS 'feedback: words of tasks and the symbols that were used for them';
CREATE TABLE assay.sessions (
    project text COLLATE "C" NOT NULL DEFAULT current_setting('assay.project', true) REFERENCES assay.projects,
    repository text COLLATE "C" NOT NULL DEFAULT nullif(current_setting('assay.repository', true), ''),
    name text COLLATE "C" NOT NULL, words text NOT NULL, watched bool NOT NULL DEFAULT false,
    time float8 NOT NULL CHECK (abs(time) < 1e12),
    PRIMARY KEY (project, repository, name)
);
COMMENT ON TABLE assay.sessions IS 'feedback: the last task of each session of a day';
CREATE TABLE assay.pending (
    project text COLLATE "C" NOT NULL DEFAULT current_setting('assay.project', true),
    repository text COLLATE "C" NOT NULL DEFAULT nullif(current_setting('assay.repository', true), ''),
    session text COLLATE "C" NOT NULL, symbol int8 NOT NULL, used bool NOT NULL DEFAULT false,
    PRIMARY KEY (project, repository, session, symbol),
    FOREIGN KEY (project, repository, session) REFERENCES assay.sessions ON DELETE CASCADE,
    FOREIGN KEY (project, repository, symbol) REFERENCES assay.symbols ON DELETE CASCADE
);
CREATE INDEX pending_symbol ON assay.pending (project, repository, symbol);
COMMENT ON TABLE assay.pending IS 'feedback: the symbols that each session received last';
CREATE TABLE assay.accesses (
    project text COLLATE "C" NOT NULL DEFAULT current_setting('assay.project', true),
    repository text COLLATE "C" NOT NULL DEFAULT nullif(current_setting('assay.repository', true), ''),
    session text COLLATE "C" NOT NULL, symbol int8 NOT NULL, time float8 NOT NULL CHECK (abs(time) < 1e12),
    number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    FOREIGN KEY (project, repository, session) REFERENCES assay.sessions ON DELETE CASCADE,
    FOREIGN KEY (project, repository, symbol) REFERENCES assay.symbols ON DELETE CASCADE
);
CREATE INDEX accesses_of ON assay.accesses (project, repository, session, symbol);
CREATE INDEX accesses_symbol ON assay.accesses (project, repository, symbol);
COMMENT ON TABLE assay.accesses IS 'feedback: times at which each session received a symbol';
"""
FEEDBACK_TABLES = ("symbols", "vocabulary", "sessions", "pending", "accesses")
# restricts the policies above; the setting is the client's own, so this selects rows and protects none
_ONE_REPOSITORY = """
CREATE POLICY repository ON assay.{table} AS RESTRICTIVE
    USING (coalesce((SELECT current_setting('assay.repository', true)), '') IN ('', repository));
"""
_GRANT_TO_PROJECTS = """
DO $$ DECLARE p record; BEGIN
    FOR p IN SELECT reader, writer FROM assay.projects LOOP
        EXECUTE format('GRANT SELECT ON {tables} TO %I', p.reader);
        EXECUTE format('GRANT INSERT, UPDATE, DELETE ON {tables} TO %I', p.writer);
    END LOOP;
END $$;
"""

# A function's body is parsed at every call, in the session of whoever asks. Unless named, `pg_temp` is searched first for
# tables and types; so it is named last, and every name has a schema. Policies are stored parsed; they are set once more
# so that those of every store are these.
_QUALIFIED_FUNCTION = """
CREATE OR REPLACE FUNCTION assay.{name}() RETURNS pg_catalog.text[] LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(pg_catalog.array_agg(p.project), '{{}}') FROM assay.projects p
    JOIN pg_catalog.pg_roles r ON r.rolname OPERATOR(pg_catalog.=) p.{role}
    WHERE pg_catalog.pg_has_role(r.oid, 'usage')
$$;
"""
_QUALIFIED_POLICIES = """
ALTER POLICY readers ON assay.{table} USING (project OPERATOR(pg_catalog.=) ANY ((SELECT assay.readable())::pg_catalog.text[]));
ALTER POLICY inserts ON assay.{table} WITH CHECK (project OPERATOR(pg_catalog.=) ANY ((SELECT assay.writable())::pg_catalog.text[]));
ALTER POLICY updates ON assay.{table} USING (project OPERATOR(pg_catalog.=) ANY ((SELECT assay.writable())::pg_catalog.text[]));
ALTER POLICY deletes ON assay.{table} USING (project OPERATOR(pg_catalog.=) ANY ((SELECT assay.writable())::pg_catalog.text[]));
"""
# Nobody but members of a project acts as one: in format 2 the owner was a member of every writer role.
_REVOKE_FROM_OWNER = """
REVOKE CREATE ON SCHEMA assay FROM PUBLIC;
DO $$ DECLARE member record; BEGIN
    FOR member IN
        SELECT DISTINCT p.writer, o.rolname AS owner FROM assay.projects p
        JOIN pg_roles w ON w.rolname = p.writer JOIN pg_auth_members m ON m.roleid = w.oid
        JOIN pg_roles o ON o.oid = m.member JOIN pg_class t ON t.oid = 'assay.projects'::regclass
        WHERE o.oid = t.relowner OR o.rolname = current_user
    LOOP
        BEGIN
            EXECUTE format('REVOKE %I FROM %I', member.writer, member.owner);
        EXCEPTION WHEN insufficient_privilege THEN
            RAISE WARNING '% stays a member of a role of the store; one who may manage roles ends that with: %',
                member.owner, format('REVOKE %I FROM %I', member.writer, member.owner);
        END;
    END LOOP;
END $$;
"""


def _policies(tables: tuple[str, ...]) -> str:
    return "".join(_POLICIES.format(table=table) for table in tables)


def _qualified(tables: tuple[str, ...]) -> str:
    return ", ".join(f"assay.{table}" for table in tables)


_NEW_TABLES = ("eval_baselines", "eval_experiments", *FEEDBACK_TABLES)

# A migration never changes; the next one is appended.
MIGRATIONS = (
    _FIRST + _policies(_RUN_TABLES),
    _SECOND
    + _policies(_NEW_TABLES)
    + "".join(_ONE_REPOSITORY.format(table=table) for table in FEEDBACK_TABLES)
    + _GRANT_TO_PROJECTS.format(tables=_qualified(_NEW_TABLES)),
    _QUALIFIED_FUNCTION.format(name="readable", role="reader")
    + _QUALIFIED_FUNCTION.format(name="writable", role="writer")
    + "".join(_QUALIFIED_POLICIES.format(table=table) for table in (*_RUN_TABLES, *_NEW_TABLES))
    + _REVOKE_FROM_OWNER,
)
TABLES = (*_RUN_TABLES, *_NEW_TABLES)  # with rows of projects

_CREATE_ROLE = """
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = {name}) THEN CREATE ROLE {role} NOLOGIN; END IF;
END $$
"""
_GRANTS = """
GRANT {reader} TO {writer};
GRANT USAGE ON SCHEMA assay TO {reader};
GRANT SELECT ON ALL TABLES IN SCHEMA assay TO {reader};
GRANT INSERT, UPDATE, DELETE ON {tables} TO {writer};
"""
_FOREIGN_OWNER = """
SELECT r.rolname FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r ON r.oid = n.nspowner
JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database()
WHERE n.nspname = 'assay' AND NOT (r.rolsuper OR r.rolname = current_user OR r.oid = d.datdba)
"""


def migrate(connection: psycopg.Connection) -> list[int]:
    """Apply the migrations that are missing, all or none, one process at a time; return their numbers."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_ADVISORY_LOCK,))
        connection.execute("CREATE SCHEMA IF NOT EXISTS assay")
        _require_own_schema(connection)
        connection.execute(
            "CREATE TABLE IF NOT EXISTS assay.migrations (number int8 PRIMARY KEY, applied timestamptz DEFAULT now())"
        )
        applied = version(connection)
        _require_not_newer(applied)
        missing = range(applied + 1, len(MIGRATIONS) + 1)
        for number in missing:
            connection.execute(MIGRATIONS[number - 1].encode())
            connection.execute("INSERT INTO assay.migrations (number) VALUES (%s)", (number,))
    return list(missing)


def _require_own_schema(connection: psycopg.Connection) -> None:
    """Raise AssayError if the schema belongs to a login that could change what this one, with more rights, runs there."""
    for (stranger,) in connection.execute(_FOREIGN_OWNER):
        raise AssayError(
            f"the schema 'assay' belongs to {stranger}, who could run code as you. Connect as {stranger}, or drop it first"
        )


def add_project(connection: psycopg.Connection, address: Address) -> bool:
    """Create the project of an address with its two roles, or repair their rights; return True if it is new."""
    from psycopg import sql

    roles = {"reader": sql.Identifier(address.reader), "writer": sql.Identifier(address.writer)}
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_ADVISORY_LOCK,))
        for name in (address.reader, address.writer):
            connection.execute(sql.SQL(_CREATE_ROLE).format(name=sql.Literal(name), role=sql.Identifier(name)))
        added = connection.execute(
            "INSERT INTO assay.projects VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            (address.project, address.reader, address.writer),
        )
        connection.execute(sql.SQL(_GRANTS).format(tables=sql.SQL(_qualified(TABLES)), **roles))
    return added.rowcount > 0


def version(connection: psycopg.Connection) -> int:
    """Return the number of the last migration."""
    row = connection.execute("SELECT coalesce(max(number), 0) FROM assay.migrations").fetchone()
    return int(row[0]) if row else 0


def require_current(applied: int) -> None:
    """Raise AssayError unless the database has exactly the tables of this version of assay."""
    _require_not_newer(applied)
    if applied < len(MIGRATIONS):
        raise AssayError(
            f"the store has format {applied}, this version of assay needs {len(MIGRATIONS)}. "
            "Its owner updates it with: assay store migrate ADDRESS"
        )


def _require_not_newer(applied: int) -> None:
    if applied > len(MIGRATIONS):
        raise AssayError(
            f"the store has format {applied}, this version of assay reads {len(MIGRATIONS)}. Use a newer assay."
        )
