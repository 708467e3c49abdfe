"""`assay impact` of a handler in a workspace names the call sites in other repositories."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command import assay

SERVICE = """\
from flask import Blueprint, Flask

app = Flask(__name__)
orders = Blueprint("orders", __name__, url_prefix="/orders")


@orders.get("/<int:order_id>")
def show_order(order_id):
    return {"id": order_id}


app.register_blueprint(orders)
"""
CLIENT = """\
import { BASE_URL } from "./config";

export async function loadOrder(id: number) {
  const response = await fetch(`${BASE_URL}/orders/${id}`);
  return response.json();
}

export async function renderOrder(id: number) {
  return loadOrder(id);
}
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for path, text in {
        "shop/app.py": SERVICE,
        "web/orders.ts": CLIENT,
        "web/config.ts": "export const BASE_URL = process.env.SHOP_URL;\n",
        "assay.toml": '[workspace]\nroots = ["shop", "web"]\n',
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    assert assay(tmp_path, "index").code == 0
    return tmp_path


def test_impact_of_a_handler_names_the_call_site_in_another_repository(workspace: Path) -> None:
    done = assay(workspace, "impact", "show_order")
    assert done.code == 0
    assert "  0.81  web/orders.ts:4  loadOrder  consumes_endpoint show_order (GET /orders/<int:order_id>)" in done.lines
    assert any("renderOrder  calls loadOrder" in line for line in done.lines)


def test_the_same_call_to_a_public_address_is_no_call_of_the_service(workspace: Path) -> None:
    client = workspace / "web" / "orders.ts"
    client.write_text(client.read_text().replace("${BASE_URL}", "https://api.example.com"))
    assert assay(workspace, "index").code == 0
    assert "loadOrder" not in assay(workspace, "impact", "show_order").out
