"""The examples of examples/team, run for real where nginx, Caddy and systemd are installed."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

import pytest

from assay.serve.tokens import Tokens
from support.command import assay
from support.repository import Repository
from support.waiting import PATIENCE
from support.web_server import Answer, Server, run_server, write_files

EXAMPLES = Path(__file__).parents[2] / "examples" / "team"
NAME = "assay.example.com"


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _ask(port: int, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
    """One request through the proxy, which has a certificate of its own."""
    context = ssl._create_unverified_context()
    connection = HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=context)
    # the name that the proxy chooses its server by
    connection.sock = context.wrap_socket(socket.create_connection(("127.0.0.1", port), PATIENCE), server_hostname=NAME)
    with contextlib.closing(connection):
        connection.request(method, path, body or None, {"Host": NAME, **headers})
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())


@contextlib.contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        deadline = time.monotonic() + PATIENCE
        while True:
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < deadline
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


@contextlib.contextmanager
def _nginx(server: Server, folder: Path) -> Iterator[int]:
    program = shutil.which("nginx")
    if program is None or shutil.which("openssl") is None:
        pytest.skip("nginx or openssl is not installed")
    key, certificate, port = folder / "key.pem", folder / "fullchain.pem", _free_port()
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={NAME}"]
    subprocess.run([*made, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    example = (EXAMPLES / "nginx.conf").read_text()
    for before, after in (
        ("127.0.0.1:7070", f"127.0.0.1:{server.port}"),
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/assay/", f"{folder}/"),
    ):
        assert before in example
        example = example.replace(before, after)
    places = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = (
        f"daemon off; pid {folder}/pid; error_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{places}{example}}}\n"
    )
    (folder / "nginx.conf").write_text(main)
    with _running([program, "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")], port):
        yield port


@contextlib.contextmanager
def _caddy(server: Server, folder: Path) -> Iterator[int]:
    program = shutil.which("caddy")
    if program is None:
        pytest.skip("caddy is not installed")
    port = _free_port()
    example = (EXAMPLES / "Caddyfile").read_text()
    assert "127.0.0.1:7070" in example
    example = example.replace("127.0.0.1:7070", f"127.0.0.1:{server.port}")
    example = example.replace(f"{NAME} {{", f"{NAME}:{port} {{\n\ttls internal\n\tbind 127.0.0.1", 1)
    settings = (
        f"{{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\tstorage file_system {folder}\n}}\n"
    )
    (folder / "Caddyfile").write_text(settings + example)
    with _running([program, "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")], port):
        yield port


@pytest.mark.parametrize("proxy", [_nginx, _caddy], ids=["nginx", "caddy"])
def test_requests_and_logins_reach_the_server_through_the_proxy(proxy: object, tmp_path: Path) -> None:
    root = write_files(tmp_path / "shop")
    Repository(root).index()
    tokens = Tokens(tmp_path / "tokens.json")
    token, folder = tokens.create("ada", "read"), tmp_path / "proxy"
    folder.mkdir()
    options = ("--workers", "2", "--tokens", str(tokens.path), "--allow-host", NAME)
    with run_server(root, *options) as server, proxy(server, folder) as port:  # type: ignore[operator]
        bearer = {"Authorization": f"Bearer {token}"}
        answer = _ask(port, "GET", "/api/context?task=total+price", bearer)
        assert (answer.status, bool(answer.json["items"])) == (200, True)
        assert answer.headers["strict-transport-security"] == "max-age=31536000"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert _ask(port, "GET", "/api/context?task=x", {}).status == 401
        assert _ask(port, "GET", "/metrics", bearer).status == 200

        form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": "null", "Sec-Fetch-Site": "same-origin"}
        cookie = _ask(port, "POST", "/login", form, f"token={token}".encode()).headers["set-cookie"]
        assert "secure" in cookie.lower()
        assert "httponly" in cookie.lower()
        assert _ask(port, "GET", "/", {"Cookie": cookie.split(";")[0]}).status == 200

        long = json.dumps({"task": "price " * 3_000}).encode()
        assert _ask(port, "POST", "/api/context", bearer, long).status == 200
        # Caddy 2.6 answers 502 if the server refuses the head while it still sends the body
        refusals = (413,) if proxy is _nginx else (413, 502)
        assert _ask(port, "POST", "/api/context", bearer, b"x" * 300_000).status in refusals


def test_the_systemd_unit_is_valid_and_its_command_is_known(tmp_path: Path) -> None:
    text = (EXAMPLES / "assay.service").read_text()
    command = re.search(r"^ExecStart=\S+ (.*)$", text, re.M)
    assert command
    _check_options(command[1].split(), tmp_path)
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "assay.service"
    unit.write_text(text.replace("/opt/assay/bin/assay", "/bin/true"))
    done = subprocess.run([program, "verify", str(unit)], capture_output=True, text=True, timeout=PATIENCE)
    assert str(unit) not in done.stdout + done.stderr, done.stderr
    assert not re.search(r"assay\.service:\d+:", done.stderr), done.stderr  # unknown settings are named by line


def test_the_command_of_the_container_is_known(tmp_path: Path) -> None:
    command = re.search(r"^CMD (\[.*\])$", (EXAMPLES / "Dockerfile").read_text(), re.M)
    assert command
    _check_options(json.loads(command[1])[1:], tmp_path)


def _check_options(options: list[str], folder: Path) -> None:
    """Every option of an example is one of the command; a stray port keeps it from listening."""
    known = assay(folder, "serve", "--help").out
    assert options[0] == "serve"
    for option in options[1:]:
        assert not option.startswith("--") or re.search(rf"{option}\b", known), option


def test_the_health_check_of_the_container_succeeds_only_while_the_server_answers(tmp_path: Path) -> None:
    check = re.search(r"^HEALTHCHECK CMD (\[.*\])$", (EXAMPLES / "Dockerfile").read_text(), re.M)
    assert check
    program = json.loads(check[1])[2]
    root = write_files(tmp_path / "shop")
    with run_server(root) as server:
        exec(program.replace(":7070", f":{server.port}"))
        HTTPConnection(server.host, server.port).close()
    with pytest.raises(OSError, match="refused"):
        exec(program.replace(":7070", f":{server.port}"))
