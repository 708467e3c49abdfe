"""The shop's pages: asks the stock, and puts orders on a queue."""

import os
import queue
import threading

import requests
from flask import Flask, jsonify, request
from opentelemetry import context, trace
from opentelemetry.propagate import extract, inject

from shop.prices import Prices
from shop.tracing import start_tracing, traced

STOCK = os.environ.get("STOCK_URL", "http://127.0.0.1:8002")

app = Flask(__name__)
orders = queue.Queue()
prices = Prices()


@app.get("/items/<int:item>")
def show_item(item):
    return jsonify(describe(item))


@app.get("/items")
def list_items():
    return jsonify([describe(item) for item in range(1, 4)])


@app.post("/orders")
def place_order():
    item, token = int(request.args["item"]), request.headers.get("Authorization", "")
    if not token:
        return {"error": "who are you?"}, 401
    reserve(item)
    publish({"item": item, "price": prices.of(item)})
    return {"ok": True}


@traced
def describe(item):
    return {"item": item, "price": prices.of(item), "units": units_in_stock(item)}


@traced
def units_in_stock(item):
    return requests.get(f"{STOCK}/stock/{item}", timeout=5).json()["units"]


@traced
def reserve(item):
    answer = requests.post(f"{STOCK}/stock/{item}/reservations", timeout=5)
    answer.raise_for_status()


@traced
def publish(order):
    """Put an order on the queue, with the trace it belongs to."""
    attributes = {"messaging.system": "memory", "messaging.destination.name": "orders"}
    tracer = trace.get_tracer("shop")
    with tracer.start_as_current_span("orders publish", kind=trace.SpanKind.PRODUCER, attributes=attributes):
        headers = {}
        inject(headers)
        orders.put((headers, order))


def consume_orders():
    """Process orders, one after the other, in the trace of whoever placed them."""
    attributes = {"messaging.system": "memory", "messaging.destination.name": "orders"}
    while True:
        headers, order = orders.get()
        token = context.attach(extract(headers))
        tracer = trace.get_tracer("shop")
        with tracer.start_as_current_span("orders process", kind=trace.SpanKind.CONSUMER, attributes=attributes):
            confirm_order(order)
        context.detach(token)


@traced
def confirm_order(order):
    return f"{order['item']} for {order['price']}"


if __name__ == "__main__":
    provider = start_tracing(app, "web")
    threading.Thread(target=consume_orders, daemon=True).start()
    app.run(port=8001, threaded=True)
