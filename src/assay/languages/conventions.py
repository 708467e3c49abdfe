"""Conventions across languages: paths of tests, and library calls that yield edges (environment, processes).

Keys of the tables are the last names of chains; an edge requires a literal argument.
"""

from __future__ import annotations

import re

# compiled on first use
_TEST_PATH = (
    r"(^|/)(tests?|specs?|testing|testdata|__tests__|__mocks__|[\w.-]*\.?(Unit|Acceptance|Integration|Functional)?Tests?)/"
    r"|(^|/)(test_[^/]*|conftest|[^/]*(_test|_spec|\.test|\.spec|[a-z]Tests?|[a-z]TestCase|_tests))\.\w+$|(^|/)tests?\.py$"
)


def is_test_path(path: str) -> bool:
    """Return whether a path looks like test code."""
    return re.search(_TEST_PATH, path) is not None


# Edges

# chain suffixes that read an environment variable
ENVIRONMENT_CHAINS = (
    "os.environ", "environ", "os.environ.get", "environ.get", "os.getenv", "getenv", "os.Getenv", "os.LookupEnv", "env.var", "env.var_os",
    "std.env.var", "System.getenv", "Environment.GetEnvironmentVariable", "ENV", "ENV.fetch", "process.env", "os.environ.setdefault", "_ENV",
    "Deno.env.get", "Bun.env",
)  # fmt: skip

# chain suffixes that start a process
PROCESS_CHAINS = (
    "subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_call", "subprocess.check_output", "Popen",
    "os.system", "os.popen", "asyncio.create_subprocess_exec",
    "exec.Command", "exec.CommandContext", "Command.new", "process.Command.new",
    "spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "child_process.spawn", "child_process.exec",
    "child_process.execSync", "child_process.spawnSync", "cp.spawn", "cp.exec",
    "Process.Start", "ProcessStartInfo", "ProcessBuilder", "system",
    "Open3.capture2", "Open3.capture2e", "Open3.capture3", "Open3.popen3",
)  # fmt: skip

# last names of all of the above: only these are checked for a literal argument
LITERAL_NAMES = frozenset(chain.rpartition(".")[2] for chain in (*ENVIRONMENT_CHAINS, *PROCESS_CHAINS))


def ends_like(chain: str, patterns: tuple[str, ...]) -> bool:
    """Return whether a chain equals one of the patterns or ends with one at a dot."""
    return any(chain == pattern or chain.endswith("." + pattern) for pattern in patterns)


# Purpose of files, by their names

# in the words that people ask with, for names without an ending
_ROLES = {
    "entry point of the program, command line": "main __main__ program cli manage bootstrap startup",
    "public interface, exports of the package or module": "index __init__ mod lib",
    "utilities, helpers, common functions": "util utils helper helpers common misc shared",
}
_ROLE_OF = {name: role for role, names in _ROLES.items() for name in names.split()}


def described_path(path: str) -> str:
    """Return a path with what its file is for, if its name or folder says so: `cmd/main.go` is an entry point."""
    folders, _, name = path.rpartition("/")
    folder = folders.rpartition("/")[2]
    role = _ROLE_OF.get(name.partition(".")[0].lower()) or (_ROLE_OF["main"] if folder in ("bin", "cmd") else "")
    return f"{path} {role}" if role else path
