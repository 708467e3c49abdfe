"""Start both services, send requests, and stop them when their traces are exported.

python load.py [--requests 300] [--endpoint http://127.0.0.1:4318]
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import requests

ROOT = Path(__file__).parent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--endpoint", default="http://127.0.0.1:4318")
    options = parser.parse_args()
    environment = os.environ | {"OTEL_EXPORTER_OTLP_ENDPOINT": options.endpoint, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m"]
    services = [
        subprocess.Popen([*command, name], cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
        for name in ("shop.web", "shop.stock")
    ]
    try:
        wait_for("http://127.0.0.1:8002/stock/1")
        wait_for("http://127.0.0.1:8001/items/1")
        for number in range(options.requests):
            send(number)
        time.sleep(2)  # for the last spans to be exported
    finally:
        for service in services:
            service.terminate()
            service.wait()


def wait_for(url):
    for _ in range(100):
        try:
            requests.get(url, timeout=5)
            return
        except requests.ConnectionError:
            time.sleep(0.1)
    sys.exit(f"{url}: no answer")


def send(number):
    """Send one request: most look at an item, some at all, some order one."""
    item = number % 7 + 1
    if number % 10 == 0:
        headers = {"Authorization": f"Bearer secret-{number}"}
        requests.post(f"http://127.0.0.1:8001/orders?item={item}&card=4111", headers=headers, timeout=5)
    elif number % 10 == 1:
        requests.get("http://127.0.0.1:8001/items", timeout=5)
    else:
        requests.get(f"http://127.0.0.1:8001/items/{item}?session=s3cret-{number}", timeout=5)


if __name__ == "__main__":
    main()
