"""The OpenAPI description; `make fuzz` tests it with schemathesis: no server errors and no undocumented responses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from assay.serve.web.api import description
from support.command import assay
from support.web_server import Server, run_server, write_files

schemathesis = pytest.importorskip("schemathesis")
# that a body is taken exactly when the description allows it is a law of test_serve_api
CHECKS = [
    getattr(schemathesis.checks, name)
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
        "unsupported_method",
    )
]
NOTHING_TO_GET_WRONG = {"GET /api/status", "GET /api/sweeps", "GET /api/repositories"}
EXAMPLES = 50  # for each operation


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = write_files(tmp_path_factory.mktemp("schema") / "shop")
    golden = root.parent / "golden.jsonl"
    golden.write_text('{"id": "q", "question": "discounts", "expected_symbols": ["apply_discounts"]}\n', "utf-8")
    assert assay(root, "index").code == 0
    for _ in range(2):
        assert assay(root, "eval", "run", "--golden", golden, "--system", "assay").code == 0
    with run_server(root) as found:
        yield found


OPERATIONS = {
    one.label: one
    for found in schemathesis.openapi.from_dict(description()).get_all_operations()
    if (one := found.ok())
}


@pytest.mark.hypothesis
@pytest.mark.skipif(settings.get_current_profile_name() != "fuzz", reason="5 CPU s a case: in make fuzz")
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("label", OPERATIONS)
def test_no_request_breaks_the_server(label: str, mode: object, server: Server) -> None:
    if mode is schemathesis.GenerationMode.NEGATIVE and label in NOTHING_TO_GET_WRONG:
        pytest.skip("it takes no parameters")

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(case=OPERATIONS[label].as_strategy(generation_mode=mode))
    def attempt(case: Any) -> None:
        case.call_and_validate(base_url=server.address, checks=CHECKS)

    attempt()


def test_the_description_is_small_enough_to_read(server: Server, tmp_path: Path) -> None:
    assert len(server.get("/openapi.json").body) < 60_000
