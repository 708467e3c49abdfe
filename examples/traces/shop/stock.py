"""The stock: units of each item, and reservations."""

import time

from flask import Flask, abort

from shop.tracing import start_tracing, traced

app = Flask(__name__)
units = {}


@app.get("/stock/<int:item>")
def stock_of(item):
    return {"units": count_units(item)}


@app.post("/stock/<int:item>/reservations")
def make_reservation(item):
    if count_units(item) <= 0:
        abort(409)
    units[item] -= 1
    return {"ok": True}


@traced
def count_units(item):
    time.sleep(0.001)
    return units.setdefault(item, 1000)


if __name__ == "__main__":
    provider = start_tracing(app, "stock")
    app.run(port=8002, threaded=True)
