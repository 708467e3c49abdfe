"""A service and its client in every language (tests/fixtures/rpc), and the smallest ones in Python."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.paths import FIXTURES
from support.repository import Repository

PROTO = "protos/shop/v1/orders.proto"
SERVICE = (
    'syntax = "proto3";\npackage {};\nservice OrderService {{ rpc PlaceOrder (A) returns (A); }}\nmessage A {{}}\n'
)
SERVER = """import orders_pb2_grpc

class Orders(orders_pb2_grpc.OrderServiceServicer):
    def PlaceOrder(self, request, context): ...
"""
CLIENT = """import orders_pb2_grpc

def place(channel):
    orders_pb2_grpc.OrderServiceStub(channel).PlaceOrder(1)
"""


def copy_of_the_shop(folder: Path) -> Repository:
    """Return a copy of the fixture that a test may change."""
    shutil.copytree(FIXTURES / "rpc" / "project", folder / "shop")
    return Repository(folder / "shop")
