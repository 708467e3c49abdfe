"""A repository cannot name a cluster, and a local cluster answers only the command that started it."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest

from assay.system.cluster import ClusterSettings, connect
from support.command import assay

pytest.importorskip("distributed", reason="needs the extra 'cluster'")


def test_a_cluster_in_assay_toml_is_refused_and_never_contacted(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port = server.getsockname()[1]
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "code.py").write_text("def run():\n    pass\n")
            (tmp_path / name / "assay.toml").write_text(f'[cluster]\naddress = "tcp://127.0.0.1:{port}"\n')
        (tmp_path / "assay.toml").write_text(f'[cluster]\naddress = "tcp://127.0.0.1:{port}"\n')
        done = assay(tmp_path, "config", "--root", ".")
        assert "unknown section 'cluster'" in done.err
        assert assay(tmp_path, "index", "a", "b").code == 0
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_local_cluster_listens_on_loopback_and_only_for_its_own_certificate() -> None:
    with connect(ClusterSettings("local:1")) as cluster:
        addresses = [cluster._client.scheduler.address, *cluster._client.nthreads()]
        assert all(address.startswith("tls://127.0.0.1:") for address in addresses)
        host, port = addresses[0].removeprefix("tls://").split(":")
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # a stranger without our certificate
        with pytest.raises((ssl.SSLError, ConnectionError)):
            _greeting(context, host, int(port))


def _greeting(context: ssl.SSLContext, host: str, port: int) -> bytes:
    """Connect and return the first byte; raise if the server refuses."""
    with socket.create_connection((host, port), 10) as plain, context.wrap_socket(plain) as stranger:
        if not (first := stranger.recv(1)):
            raise ConnectionError("closed")
        return first
