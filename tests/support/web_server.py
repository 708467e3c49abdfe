"""A real `assay serve` in a process of its own, and a small client that can send malformed requests."""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from support.command import COMMAND, ENVIRONMENT
from support.waiting import PATIENCE

FILES = {
    "shop/basket.py": '''"""Baskets and what they cost."""

from shop.discounts import apply_discounts


class Basket:
    """Goods that somebody wants to buy."""

    def __init__(self):
        self.goods = []

    def total_price(self):
        """The price of all goods after discounts."""
        return apply_discounts(sum(good.price for good in self.goods))
''',
    "shop/discounts.py": '''def apply_discounts(price):
    """Lowers a price by the discounts that hold today."""
    return price * 0.9
''',
    "shop/invoice.py": '''from shop.basket import Basket


def send_invoice(basket: Basket):
    """Sends a customer the total price of a basket."""
    return f"Please pay {basket.total_price()}"
''',
    "tests/test_discounts.py": """from shop.discounts import apply_discounts


def test_discounts_lower_the_price():
    assert apply_discounts(10) < 10
""",
    "docs/prices.md": "# Prices\n\nDiscounts are applied to the total price of a basket before the invoice is sent.\n",
}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Server:
    """A running server and a client for it."""

    def __init__(self, address: str, process: subprocess.Popen[str]) -> None:
        self.address, self.process = address, process
        parts = urlsplit(address)
        self.host, self.port = parts.hostname or "", parts.port or 0

    def get(self, path: str, headers: Mapping[str, str] | None = None, /, **asked: Any) -> Answer:
        query = f"?{urlencode(asked, doseq=True)}" if asked else ""
        return self.ask("GET", path + query, headers)

    def post(self, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask("POST", path, {"Content-Type": "application/json", **(headers or {})}, sent)

    def ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        """One request on a connection of its own; the path is sent as it is."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            given = dict(headers or {})
            connection.putrequest(method, path, skip_host="Host" in given, skip_accept_encoding=True)
            if body is not None and not {"Content-Length", "Transfer-Encoding"} & given.keys():
                given["Content-Length"] = str(len(body))
            for name, value in given.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())


@contextlib.contextmanager
def run_server(
    root: Path | None, *options: str, command: Sequence[str] = COMMAND, **environment: str
) -> Iterator[Server]:
    """Serves a folder, or what the options name, until the block ends."""
    process = subprocess.Popen(
        [*command, "serve", *(["--root", str(root)] if root else []), "--port", "0", *options],
        env=ENVIRONMENT | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stderr
    try:
        line = process.stdout.readline()
        if " at http" not in line:
            raise RuntimeError(process.stderr.read())
        address = line.split(" at ")[1].split()[0]
        yield Server(address, process)
    finally:
        process.terminate()
        said = process.communicate(timeout=PATIENCE)[1]
        assert "Traceback" not in said, said


def write_files(root: Path, files: Mapping[str, str] = FILES) -> Path:
    """A folder with these files."""
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    return root
