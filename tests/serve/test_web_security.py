"""Access control, request limits and response headers of the web server."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from starlette.types import Message, Receive, Scope, Send

from assay.errors import AssayError
from assay.serve.access import COOKIE, Access
from assay.serve.http import CONNECTIONS
from assay.serve.web.application import LARGEST_BODY, Busy, Guard, Workers
from support.command import ENVIRONMENT, assay
from support.waiting import PATIENCE, until
from support.web_server import Server, run_server, write_files

TOKEN = "correct-horse-battery-staple"
SECRET = "the-launch-code-is-0000"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with secrets beside it and links that lead to them."""
    base = tmp_path_factory.mktemp("secure")
    made = write_files(base / "shop")
    (base / "outside.py").write_text(f"def outside():\n    return '{SECRET}'\n")
    (made / "linked.py").symlink_to(base / "outside.py")
    (made / "folder").symlink_to(base)
    (made / ".env").write_text(f"KEY={SECRET}\n")
    assert assay(made, "index").code == 0
    return made


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Server]:
    with run_server(root) as found:
        yield found


@pytest.fixture(scope="module")
def locked(root: Path) -> Iterator[Server]:
    with run_server(root, ASSAY_TOKEN=TOKEN) as found:
        yield found


# hosts and origins


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "0.0.0.0",
        "10.0.0.1",
        "",
        "[",
        "[::1",
        "localhost:x",
        "a b",
    ],
)
def test_another_host_is_not_answered(host: str, server: Server) -> None:
    for path in ("/", "/api/status", "/static/app.js", "/login"):
        answer = server.get(path, {"Host": host})
        assert answer.status in (400, 403)
        assert SECRET not in answer.text


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LOCALHOST:9", "[::1]:9"])
def test_loopback_has_several_names(host: str, server: Server) -> None:
    assert server.get("/api/status", {"Host": host}).status == 200


def test_two_hosts_are_none(server: Server) -> None:
    with contextlib.closing(socket.create_connection((server.host, server.port), PATIENCE)) as link:
        link.sendall(b"GET /api/status HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        assert link.recv(4096).split()[1] in (b"400", b"403")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost.evil.example", "https://127.0.0.1"]
)
def test_pages_of_other_sites_are_refused(origin: str, server: Server) -> None:
    for method, path in (("GET", "/api/status"), ("POST", "/api/context"), ("GET", "/")):
        answer = server.ask(method, path, {"Origin": origin}, b"{}" if method == "POST" else None)
        assert answer.status == 403
        assert "access-control-allow-origin" not in answer.headers


def test_own_pages_may_ask(server: Server) -> None:
    assert server.get("/api/status", {"Origin": server.address, "Sec-Fetch-Site": "same-origin"}).status == 200


def test_other_sites_may_link_to_pages_but_not_load_anything(server: Server) -> None:
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert server.get("/", followed).status == 200
    assert server.get("/api/status", followed).status == 403
    assert server.get("/", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}).status == 403
    assert server.get("/", {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}).status == 403
    assert server.ask("POST", "/login", followed, b"token=x").status == 403


def test_every_answer_tells_browsers_to_be_strict(server: Server) -> None:
    for path in ("/", "/api/status", "/api/nothing", "/nothing", "/static/app.css", "/openapi.json"):
        headers = server.get(path).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == "'self'"
        assert policy["style-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers


# the token


def test_any_address_but_loopback_demands_a_token(root: Path) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        done = assay(root, "serve", "--host", host)
        assert done.code == 2
        assert "ASSAY_TOKEN" in done.err


def test_a_token_must_be_long_enough() -> None:
    with pytest.raises(AssayError, match="at least 16"):
        Access("0.0.0.0", "short")
    with pytest.raises(AssayError, match="printable"):
        Access("127.0.0.1", "nö" * 20)


def test_other_addresses_answer_to_digits_and_their_own_names_only() -> None:
    access = Access("0.0.0.0", TOKEN, frozenset({"tools.example"}))
    assert access.answers_to("192.0.2.7:7070")
    assert access.answers_to("tools.example")
    assert access.answers_to("[2001:db8::1]:7070")
    assert not access.answers_to("evil.example")


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer \xff\xfe",
    ],
)
def test_without_the_token_nothing_is_told(given: str | None, locked: Server) -> None:
    headers = {} if given is None else {"Authorization": given}
    for path in ("/api/status", "/api/context?task=discounts", "/openapi.json", "/api/nothing"):
        answer = locked.get(path, headers)
        assert answer.status == 401
        assert "discounts" not in answer.text
    for path in ("/", "/runs", "/index", "/result?task=x&id=shop/basket.py", "/nothing"):
        answer = locked.get(path, headers)
        assert (answer.status, answer.headers["location"]) == (303, "/login")


def test_the_token_opens_by_header(locked: Server) -> None:
    assert locked.get("/api/status", {"Authorization": f"Bearer {TOKEN}"}).status == 200
    assert locked.get("/", {"Authorization": f"bearer {TOKEN}"}).status == 200


def test_the_form_gives_a_cookie_that_opens(locked: Server) -> None:
    own = {"Content-Type": "application/x-www-form-urlencoded", "Origin": locked.address}
    wrong = locked.ask("POST", "/login", own, urlencode({"token": TOKEN + "x"}).encode())
    assert wrong.status == 401
    assert "set-cookie" not in wrong.headers
    right = locked.ask("POST", "/login", own, urlencode({"token": TOKEN}).encode())
    assert (right.status, right.headers["location"]) == (303, "/")
    cookie, *attributes = right.headers["set-cookie"].split("; ")
    assert {"httponly", "samesite=strict"} <= {one.lower() for one in attributes}
    assert TOKEN not in cookie
    assert locked.get("/", {"Cookie": cookie}).status == 200
    assert locked.get("/api/status", {"Cookie": f"other=1; {cookie}"}).status == 200


@pytest.mark.parametrize("cookie", [f"{COOKIE}=x", f"{COOKIE}={TOKEN}", f"{COOKIE}=", "=;;;", f'{COOKIE}="'])
def test_another_cookie_opens_nothing(cookie: str, locked: Server) -> None:
    assert locked.get("/api/status", {"Cookie": cookie}).status == 401


@pytest.mark.parametrize(
    "body", [b"", b"token", b"token=", b"token=%ff%00", b"&" * 5000, b"\xff" * 100, b"token=a&token=" + TOKEN.encode()]
)
def test_a_broken_form_is_a_wrong_token(body: bytes, locked: Server) -> None:
    assert locked.ask("POST", "/login", {"Content-Type": "application/x-www-form-urlencoded"}, body).status == 401


# paths

ESCAPES = [
    "../outside.py", "..%2foutside.py", "%2e%2e/outside.py", "shop/../../outside.py", "/etc/passwd", "//etc/passwd", "file:///etc/passwd",
    "linked.py", "linked.py::outside", "folder/outside.py", "folder/outside.py::outside", ".env", "..\\outside.py", "shop/basket.py%00.md",
    ".assay/current", "~/.ssh/id_rsa", "....//outside.py", "%252e%252e%252foutside.py",
]  # fmt: skip


def test_a_path_from_the_current_folder_means_the_indexed_file(server: Server) -> None:
    answer = server.get("/api/impact?symbol=./shop/basket.py")
    assert answer.status == 200
    assert [symbol["path"] for symbol in answer.json["symbols"]] == ["shop/basket.py"]


@pytest.mark.parametrize("path", ESCAPES)
def test_only_what_is_indexed_is_ever_read(path: str, server: Server) -> None:
    for asked in (path, quote(path, safe=""), quote(quote(path, safe=""), safe="")):
        for address in (
            f"/result?task=discounts&id={asked}",
            f"/result-part?task=discounts&id={asked}",
            f"/passage?id={asked}",
            f"/passage?id={asked}%23x:00000000",
            f"/{asked}",
            f"/static/{asked}",
            f"/sweep?sweep={asked}",
            f"/api/sweep?sweep={asked}",
            f"/api/impact?symbol={asked}",
        ):
            if not address.isascii() or " " in address:
                continue
            answer = server.ask("GET", address)
            assert answer.status in (400, 404), address
            assert SECRET not in answer.text
            assert "root:" not in answer.text


def test_a_sweep_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    root = write_files(tmp_path / "shop")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "comparison.json").write_text(json.dumps({"reports": [], "timestamp": "", "secret": SECRET}))
    sweeps = root / ".assay" / "sweeps"
    sweeps.mkdir(parents=True)
    (sweeps / "linked").symlink_to(elsewhere)
    (sweeps / "half").mkdir()
    (sweeps / "half" / "comparison.json").symlink_to(elsewhere / "comparison.json")
    with run_server(root) as server:
        assert server.get("/api/sweeps").json == {"sweeps": []}
        for name in ("linked", "half"):
            assert server.get("/api/sweep", sweep=name).status == 404


def test_a_file_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    root = write_files(tmp_path / "shop")
    (tmp_path / "secret.py").write_text(f"def apply_discounts(price):\n    return '{SECRET}'\n")
    assert assay(root, "index").code == 0
    with run_server(root, "--no-watch") as server:
        target = root / "shop" / "discounts.py"
        target.unlink()
        target.symlink_to(tmp_path / "secret.py")
        answer = server.get("/result", task="discounts", id="shop/discounts.py::apply_discounts")
        assert SECRET not in answer.text
        assert SECRET not in server.get("/api/context", task="apply discounts").text
        (root / "shop").rename(root / "before")
        (root / "shop").symlink_to(tmp_path)
        assert SECRET not in server.get("/api/context", task="apply discounts").text


# limits


def test_a_body_beyond_the_limit_is_refused(server: Server) -> None:
    assert server.post("/api/context", {"task": "x" * LARGEST_BODY}).status == 413
    assert server.post("/api/context", b"", {"Content-Length": "999999999999"}).status == 413
    assert server.ask("POST", "/api/context", {"Content-Length": "-1"}).status in (400, 413)


def test_a_body_without_a_length_is_counted(server: Server) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(64):
            yield b"x" * 16_384

    connection = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
    with contextlib.closing(connection):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.request(
                "POST", "/api/context", chunks(), {"Content-Type": "application/json"}, encode_chunked=True
            )
        assert connection.getresponse().status == 413


def test_a_text_or_a_head_beyond_the_limit_is_refused(server: Server) -> None:
    assert server.get("/api/context", task="x" * 20_001).status == 400
    assert server.get("/api/context", task="word " * 4000).status == 200
    assert server.get("/api/status", {"X-Much": "x" * 100_000}).status in (400, 431)
    assert server.ask("GET", "/?task=" + "x" * 100_000).status in (400, 414, 431)


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /api/context HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_what_is_not_http_is_answered_as_such(raw: bytes, server: Server) -> None:
    with contextlib.closing(socket.create_connection((server.host, server.port), PATIENCE)) as link:
        link.sendall(raw)
        said = link.recv(4096)
        assert said.startswith(b"HTTP/1.1 4")
    assert server.get("/api/status").status == 200


def test_connections_beyond_the_limit_are_told_so(server: Server) -> None:
    """Idle connections fill the server; the next ones are refused with an answer, and when they go it answers again."""
    idle: list[socket.socket] = []
    try:
        idle.extend(socket.create_connection((server.host, server.port), PATIENCE) for _ in range(CONNECTIONS + 40))
        refused = [link for link in idle[-20:] if b" 503 " in _first_line(link)]
        assert len(refused) == 20
    finally:
        for link in idle:
            link.close()
    until(lambda: server.get("/api/status").status == 200)


def _first_line(link: socket.socket) -> bytes:
    return link.recv(4096).partition(b"\r\n")[0]


@pytest.fixture(scope="module")
def impatient(root: Path) -> Iterator[Server]:
    """A server that waits only a moment for the head of a request, and not much longer for the rest."""
    code = (
        "import assay.serve.http as s; s.HEADER_SECONDS = 0.5; "
        "from assay.serve.web.application import Guard; Guard.__init__.__defaults__ = (1.5,); from assay.cli import main; main()"
    )
    with run_server(root, command=(sys.executable, "-c", code)) as found:
        yield found


@pytest.mark.parametrize(
    "first", [b"", b"GET /api/status HTTP/1.1\r\nHost: localhost\r\n\r\n"], ids=["at once", "later"]
)
@pytest.mark.parametrize("said", [b"", b"GET / HT"], ids=["nothing", "a part of a head"])
def test_who_never_says_what_is_wanted_is_not_waited_for(first: bytes, said: bytes, impatient: Server) -> None:
    """However slowly it comes, the head of a request has so long; also of the second on a connection."""
    if first and not said:
        pytest.skip("an idle connection between two requests has longer")
    with contextlib.closing(socket.create_connection((impatient.host, impatient.port), PATIENCE)) as link:
        if first:
            link.sendall(first)
            while b"}" not in link.recv(65_536):
                pass
        deadline = time.monotonic() + PATIENCE
        with contextlib.suppress(ConnectionError, TimeoutError):
            link.settimeout(0.2)
            for byte in said:
                link.sendall(bytes([byte]))
            while time.monotonic() < deadline:
                with contextlib.suppress(TimeoutError):
                    if not link.recv(4096):
                        break
        assert time.monotonic() < deadline
    assert impatient.get("/api/status").status == 200


HEAD = b"POST /api/context HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SLOW = {
    "head": (b"", b"GET /api/status HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"x" * 10_000),
    "body": (HEAD + b"Content-Length: 10000\r\n\r\n", b'{"task": "' + b"x" * 9_988 + b'"}'),
    "chunked body": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 10_000),
}


@pytest.mark.parametrize("part", SLOW)
def test_who_sends_a_byte_now_and_then_is_not_waited_for(part: str, impatient: Server) -> None:
    """Forty at once that never stand still; meanwhile others are answered."""
    at_once, rest = SLOW[part]
    links = [socket.create_connection((impatient.host, impatient.port), PATIENCE) for _ in range(40)]
    try:
        for link in links:
            link.sendall(at_once)
            link.setblocking(False)
        waiting, deadline, at = set(links), time.monotonic() + PATIENCE, 0
        while waiting:
            assert time.monotonic() < deadline
            waiting -= {link for link in waiting if _is_over(link, rest[at : at + 1])}
            at += 1
            assert at < len(rest)
            if at == 3:
                assert impatient.get("/api/status").status == 200
            time.sleep(0.05)
    finally:
        for link in links:
            link.close()
    assert impatient.get("/api/status").status == 200


def _is_over(link: socket.socket, byte: bytes) -> bool:
    """Sends a byte; says whether the server has answered that it took too long, or has hung up."""
    try:
        link.sendall(byte)
        said = link.recv(4096)
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    assert not said or said.split()[1] in (b"400", b"408", b"504")
    return True


def test_many_questions_at_once_are_all_answered(server: Server) -> None:
    with ThreadPoolExecutor(50) as pool:
        tasks = [f"discounts of basket {number}" for number in range(100)]
        found = list(pool.map(lambda task: server.get("/api/context", task=task), tasks))
    assert {answer.status for answer in found} == {200}
    assert [answer.json["task"] for answer in found] == tasks


def test_a_port_that_is_taken_is_said(root: Path, server: Server) -> None:
    done = assay(root, "serve", "--port", str(server.port))
    assert done.code == 2
    assert f"cannot listen on 127.0.0.1:{server.port}" in done.err


def test_what_is_not_installed_is_said(root: Path) -> None:
    code = "import sys; sys.modules['starlette'] = None; from assay.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "serve"], cwd=root, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "pip install starlette uvicorn watchfiles" in done.stderr
    assert "Traceback" not in done.stderr


def test_it_stops_when_told_to(root: Path) -> None:
    with run_server(root) as found:
        assert found.get("/api/status").status == 200
        found.process.send_signal(2)
        assert found.process.wait(PATIENCE) in (0, 130, -2)


# time


def test_what_takes_too_long_is_given_up() -> None:
    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(PATIENCE)

    sent = asyncio.run(_asked(Guard(slow, Access(), seconds=0.05)))
    assert sent[0]["status"] == 504
    assert b"no answer within 0.05 seconds" in sent[1]["body"]


def test_there_is_only_so_much_to_do_at_once() -> None:
    """A full house refuses politely, and has room again when a thread is done; what was given up while waiting is never begun."""

    async def story() -> list[str]:
        workers, begun = Workers(threads=1, most=2), []
        gate = threading.Event()

        def work(name: str) -> str:
            begun.append(name)
            gate.wait(PATIENCE)
            return name

        first, second = (asyncio.ensure_future(workers.run(work, name)) for name in ("first", "second"))
        await asyncio.sleep(0.05)
        with pytest.raises(Busy):
            await workers.run(work, "third")
        second.cancel()
        await asyncio.sleep(0.05)
        fourth = asyncio.ensure_future(workers.run(work, "fourth"))
        gate.set()
        await asyncio.gather(first, fourth)
        workers.close()
        return begun

    assert asyncio.run(story()) == ["first", "fourth"]


async def _asked(app: Guard) -> list[Message]:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "GET", "path": "/", "raw_path": b"/", "query_string": b"", "scheme": "http",
        "headers": [(b"host", b"localhost")],
    }  # fmt: skip
    await app(scope, receive, send)
    return sent
