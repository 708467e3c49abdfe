"""Commands answered by a running server of the same user, over its private socket."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.serve.local import client
from assay.serve.local.client import ask_server, socket_path
from assay.serve.watch.door import Door
from assay.store.layout import Home
from support.command import COMMAND, ENVIRONMENT, Done, assay
from support.repository import Repository
from support.waiting import until

TASK = "how is a cart stored"


@pytest.fixture
def shop(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """An indexed repository, with a runtime folder of its own."""
    (tmp_path / "runtime").mkdir(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    repository.write(
        "cart.py", "class Cart:\n    def store(self):\n        save(self)\n\n\ndef save(cart):\n    pass\n"
    )
    repository.write("README.md", "# Shop\n\nA cart is stored by `save`.\n")
    repository.commit()
    repository.index()
    monkeypatch.chdir(repository.root)
    return repository


@pytest.fixture
def served(shop: Repository) -> Iterator[Repository]:
    """The repository with an open door, whose process has answered once."""
    with Door(shop.root, Home.of(shop.root)).open():
        until(lambda: ask_server(["symbols", "Cart"]) is not None)
        yield shop


@pytest.fixture
def ask(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done | None]:
    """Ask the server only: its answer, or None if the command would have to answer itself."""
    monkeypatch.setattr(client, "_FIRST_SECONDS", 10.0)  # the machine may be busy

    def asked(*arguments: str) -> Done | None:
        capfd.readouterr()
        code = ask_server(list(arguments))
        sys.stdout.flush()
        return None if code is None else Done(code, *capfd.readouterr())

    return asked


Ask = Callable[..., Done | None]


def test_the_answer_is_that_of_the_command(served: Repository, ask: Ask) -> None:
    for arguments in (
        ["context", TASK],
        ["context", TASK, "--format", "json", "-k", "1"],
        ["context", "--pr", "HEAD"],
        ["search", "stored", "--explain"],
        ["search", "zzzzqqq"],
        ["ask", "how is a cart stored?"],
        ["why", TASK, "save"],
        ["impact", "save", "--color", "always"],
        ["impact", "nothing_here"],
    ):
        for _ in range(2):
            assert ask(*arguments) == assay(served.root, *arguments), arguments


def test_edits_and_settings_count_at_once(served: Repository, ask: Ask) -> None:
    assert ask("context", TASK) == assay(served.root, "context", TASK)
    served.write("store.py", "def store_cart(cart):\n    pass\n")
    answer = ask("context", TASK, "--no-refresh")
    assert answer
    assert answer == assay(served.root, "context", TASK, "--no-refresh")
    assert "1 file changed" in answer.out
    assert "store_cart" in ask("symbols", "store_cart").out  # type: ignore[union-attr]
    served.write("assay.toml", "[search]\nk = 1\nembedder = 'folder:/tmp/x'\n")
    for _ in range(2):
        answer = ask("search", "cart")
        assert answer == assay(served.root, "search", "cart")
        assert "ignored" in answer.err


def test_a_question_may_come_from_elsewhere(
    served: Repository, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (served.root / "below").mkdir()
    monkeypatch.chdir(served.root / "below")
    assert ask("context", TASK) == assay(served.root, "context", TASK)
    monkeypatch.chdir(tmp_path)
    assert ask("context", TASK) is None
    assert ask("context", TASK, f"--root={served.root}") == assay(served.root, "context", TASK)
    assert ask("context", TASK, "--root", str(served.root)) == assay(served.root, "context", TASK)


def test_what_only_the_command_can_answer_is_declined(served: Repository, ask: Ask) -> None:
    for arguments in (
        ["context", TASK, "--session", "mine"], ["context", "-"], ["search", "x", "--index"], ["status"], ["search"],
        ["context", TASK, "--index-dir=elsewhere"], ["search", "x", "--nonsense"], ["context", "x" * client.MOST_BYTES],
    ):  # fmt: skip
        assert ask(*arguments) is None, arguments
    assert ask("context", TASK)


def test_another_user_configuration_is_not_answered_for(
    served: Repository, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "ASSAY_STORE", "GIT_CONFIG_GLOBAL"):
        with monkeypatch.context() as patched:
            patched.setenv(name, str(tmp_path / "another"))
            assert ask("context", TASK) is None, name
    assert ask("context", TASK)


def test_another_version_is_not_asked(served: Repository, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "identity", lambda: "another")
    assert ask("context", TASK) is None


def test_a_process_of_another_user_is_not_asked(served: Repository, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "is_same_user", lambda _connection: False)
    assert ask("context", TASK) is None


def test_the_command_answers_by_itself_without_anyone_there(shop: Repository, ask: Ask) -> None:
    assert ask("context", TASK) is None
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(socket_path(str(shop.root)))
    assert ask("context", TASK) is None  # the process that listened there was killed
    done = assay(shop.root, "symbols", "Cart", env=ENVIRONMENT | {"XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"]})
    assert (done.code, done.err) == (0, "")
    with Door(shop.root, Home.of(shop.root)).open():
        until(lambda: ask("context", TASK))


@pytest.mark.parametrize(
    "answer", [b"", b"-", b"+", b"+o00000003abc", b"+ozzzzzzzz", b"+offffffffabc", b"+c00000001", b"nonsense"]
)
def test_nonsense_is_not_printed(shop: Repository, ask: Ask, capfd: pytest.CaptureFixture[str], answer: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(socket_path(str(shop.root)))
        listening.listen()

        def answer_once() -> None:
            with listening.accept()[0] as connection:
                while connection.recv(1 << 16):
                    pass
                connection.sendall(answer)

        thread = threading.Thread(target=answer_once)
        thread.start()
        assert ask("context", TASK) is None
        thread.join()
    assert capfd.readouterr() == ("", "")


def test_a_server_that_says_nothing_is_not_waited_for(
    shop: Repository, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_FIRST_SECONDS", 0.05)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(socket_path(str(shop.root)))
        listening.listen()
        assert ask("context", TASK) is None


def test_a_bad_request_leaves_the_server_alive(served: Repository, ask: Ask) -> None:
    for request in (b"", b"\0\0\0", client.identity().encode() + b"\0/", b"x" * (client.MOST_BYTES + 1)):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(socket_path(str(served.root)))
            try:
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
                assert connection.recv(1) == b""
            except OSError:
                pass  # closed before all was sent
    assert ask("context", TASK)


def test_the_second_of_two_watchers_does_not_listen(shop: Repository, ask: Ask) -> None:
    path = Path(socket_path(str(shop.root)))
    with Door(shop.root, Home.of(shop.root)).open():
        inode = path.stat().st_ino
        with Door(shop.root, Home.of(shop.root)).open():
            assert path.stat().st_ino == inode
        assert path.stat().st_ino == inode
    assert not path.exists()


def test_a_question_asked_of_a_server_imports_next_to_nothing(served: Repository) -> None:
    code = (
        "import sys\nbefore = set(sys.modules)\nfrom assay.__main__ import main\n"
        "sys.argv = ['assay', 'context', 'cart']\n"
        "try:\n    main()\nexcept SystemExit:\n    print(*sorted(set(sys.modules) - before), file=sys.stderr)"
    )

    def modules() -> set[str]:
        environment = ENVIRONMENT | {"XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"]}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        return set(done.stderr.split())

    own = {"assay", "assay.__main__", "assay.serve", "assay.serve.local", "assay.serve.local.client"}
    expected = own | {"assay.system", "assay.system.runtime", "__future__", "_socket", "binascii"}
    until(lambda: modules() <= expected)


def test_a_watcher_answers_commands(shop: Repository, ask: Ask) -> None:
    environment = ENVIRONMENT | {"XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"]}
    with subprocess.Popen([*COMMAND, "watch", "--poll", "60"], env=environment, stderr=subprocess.DEVNULL) as watcher:
        try:
            assert until(lambda: ask("context", TASK)) == assay(shop.root, "context", TASK)
        finally:
            watcher.kill()
    until(lambda: ask("context", TASK) is None)  # its process ends, too
