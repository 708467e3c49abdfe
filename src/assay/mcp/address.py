"""Where a server listens: on this machine only, unless there is a token."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from assay.errors import AssayError

_LEAST = 16  # characters of a token: shorter ones can be guessed


@dataclass(frozen=True)
class Address:
    """A host, and the token that whoever asks must have; "" for none."""

    host: str
    token: str = ""

    def __post_init__(self) -> None:
        if not self.local and not self.token:
            raise AssayError(
                f"{self.host} can be reached from other machines: give a token (--token, or ASSAY_TOKEN in the environment), or leave out --host"
            )
        if self.token and (len(self.token) < _LEAST or not self.token.isascii()):
            raise AssayError(f"the token must have at least {_LEAST} characters, all ASCII")

    @property
    def local(self) -> bool:
        """Whether it can be reached from this machine only."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def shown(self) -> str:
        """As it stands in a URL."""
        return f"[{self.host}]" if ":" in self.host else self.host

    def listen(self, port: int) -> socket.socket:
        """A socket that is listening; 0 for any port that is free."""
        try:
            return socket.create_server(
                (self.host, port), family=socket.AF_INET6 if ":" in self.host else socket.AF_INET
            )
        except OSError as error:
            raise AssayError(
                f"cannot listen on {self.host}, port {port} ({error.strerror or error}); give another one to --http"
            ) from None
