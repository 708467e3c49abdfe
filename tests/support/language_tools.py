"""Language servers and indexers written in Python, started by assay as the real ones are: by name, from the PATH."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

# A server that finds `def NAME` and `class NAME` in the files of the repository. MODE selects how it misbehaves.
_SERVER = """\
import json, os, re, sys, time
from pathlib import Path

MODE, LOG = {mode!r}, Path({log!r})
root, texts = Path(), dict()


def log(line):
    with LOG.open("a") as file:
        file.write(line + "\\n")


def send(message):
    body = json.dumps(dict(jsonrpc="2.0", **message)).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
    sys.stdout.buffer.flush()


def receive():
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    if not length:
        sys.exit(0)
    return json.loads(sys.stdin.buffer.read(length))


def span(line, column):
    return dict(start=dict(line=line, character=column), end=dict(line=line, character=column + 1))


def definition(uri, position):
    line = texts[uri].split("\\n")[position["line"]]
    after = line.encode("utf-16-le")[2 * position["character"] :].decode("utf-16-le")
    name = re.match(r"\\w*", after).group()
    for path in sorted(root.rglob("*.py")):
        for number, text in enumerate(path.read_text().split("\\n")):
            match = re.match(r"\\s*(?:def|class) (" + name + r")\\b", text) if name else None
            if match:
                return [dict(uri=path.as_uri(), range=span(number, match.start(1)))]
    return [dict(targetUri="file:///usr/lib/python/builtins.pyi", targetSelectionRange=span(0, 0))] if name else None


HOSTILE = [
    dict(uri="file:///etc/passwd", range=span(0, 0)), dict(uri="file:///%00", range=span(0, 0)),
    dict(uri="http://example.com/x.py", range=span(0, 0)), dict(uri="file://[", range=span(0, 0)),
    dict(uri=7, range=span(0, 0)), dict(uri="file:///x", range=None), dict(uri="file:///x", range=span(-1, 2**70)), "text", None,
]

log("start " + json.dumps(dict(cwd=os.getcwd(), environment=sorted(os.environ), path=os.environ["PATH"])))
if MODE == "crash":
    print("Error: \\x1b[31mno such module\\x1b[0m", file=sys.stderr)
    sys.exit(3)
if MODE == "garbage":
    sys.stdout.write("Listening…\\n" * 1000)
    sys.stdout.flush()
    time.sleep(60)
if MODE == "huge":
    sys.stdout.write("Content-Length: 99999999999999\\r\\n\\r\\n")
    sys.stdout.flush()
    time.sleep(60)
while True:
    message = receive()
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        root = Path(message["params"]["rootPath"])
        log("options " + json.dumps(message["params"]["initializationOptions"]))
        send(dict(id=900, method="workspace/configuration", params=dict(items=[dict(section="python"), dict(section="x.y"), 3])))
        send(dict(id=901, method="workspace/applyEdit", params=dict(edit=dict())))
        send(dict(id="text", method="window/showMessageRequest", params=dict()))
        send(dict(id=id, result=dict(capabilities=dict())))
    elif method == "textDocument/didOpen":
        document = message["params"]["textDocument"]
        texts[document["uri"]] = document["text"]
        log("open " + document["uri"].rpartition("/")[2])
        if MODE == "crash on open" and document["uri"].endswith("bad.py"):
            sys.exit(9)
        if MODE == "slow":
            time.sleep(1)
    elif method == "textDocument/definition":
        if MODE == "silent":
            time.sleep(60)
        while MODE == "flood":
            send(dict(method="window/logMessage", params=dict(type=4, message="x" * 100_000)))
        if MODE == "not json":
            sys.stdout.buffer.write(b"Content-Length: 5\\r\\n\\r\\n[[[[[")
            sys.stdout.buffer.flush()
            time.sleep(60)
        parameters = message["params"]
        result = HOSTILE if MODE == "hostile" else definition(parameters["textDocument"]["uri"], parameters["position"])
        send(dict(id=id, result=result))
    elif method is None:
        log("answer " + json.dumps(message))
"""

# An indexer that copies a prepared file to where it is told to write.
_INDEXER = """\
import shutil, sys
from pathlib import Path

if "--version" in sys.argv:
    print("1.2.3")
    sys.exit()
with Path({log!r}).open("a") as file:
    file.write("index " + " ".join(sys.argv[1:]) + "\\n")
if {message!r}:
    print({message!r}, file=sys.stderr)
    sys.exit(4)
shutil.copyfile({source!r}, sys.argv[sys.argv.index("--output") + 1])
"""


class Tools:
    """A folder of programs on the PATH, and the log of what they were asked."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._log = folder / "log.txt"
        folder.mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    @property
    def log(self) -> list[str]:
        return self._log.read_text().splitlines() if self._log.exists() else []

    @property
    def opened(self) -> list[str]:
        """Names of the files that the server opened."""
        return [line.removeprefix("open ") for line in self.log if line.startswith("open ")]

    def add_server(self, mode: str = "", name: str = "basedpyright-langserver") -> Path:
        return self.add(name, _SERVER.format(mode=mode, log=str(self._log)))

    def add_indexer(self, data: bytes, message: str = "", name: str = "scip-python") -> Path:
        source = self.folder / "prepared.scip"
        source.write_bytes(data)
        return self.add(name, _INDEXER.format(source=str(source), log=str(self._log), message=message))

    def add(self, name: str, code: str) -> Path:
        path = self.folder / name
        path.write_text(f"#!{sys.executable}\n{code}")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path
