"""Chromium driven over a pipe by the DevTools protocol, without a driver or library. Only loopback is reachable."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from support.waiting import PATIENCE

EXECUTABLE = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)

_FLAGS = (
    "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--no-default-browser-check", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--hide-scrollbars", "--force-color-profile=srgb", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)  # fmt: skip
_KEYS = {
    "Enter": (13, "\r"), "Tab": (9, ""), "Escape": (27, ""), "ArrowDown": (40, ""), "ArrowUp": (38, ""), "/": (191, "/"),
}  # fmt: skip


class Browser:
    """A headless Chromium with a profile of its own, which goes with it."""

    def __init__(self) -> None:
        assert EXECUTABLE, "no browser is installed"
        self._profile = tempfile.mkdtemp(prefix="assay-browser-")
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]  # out of the way of 3 and 4

        def connect() -> None:
            os.dup2(theirs[0], 3)
            os.dup2(theirs[1], 4)

        self._process = subprocess.Popen(
            [EXECUTABLE, *_FLAGS, f"--user-data-dir={self._profile}", "about:blank"],
            pass_fds=(3, 4),
            preexec_fn=connect,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (theirs_in, theirs_out, *theirs):
            os.close(end)
        self._in, self._out = os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb")
        self._number, self._lock = 0, threading.Condition()
        self._answers: dict[int, dict[str, Any]] = {}
        self._pages: dict[str, Page] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(Exception):
            self.send("Browser.close")
        self._process.terminate()
        self._process.wait(PATIENCE)
        shutil.rmtree(self._profile, ignore_errors=True)

    @contextlib.contextmanager
    def page(self, width: int = 1280, height: int = 900, dark: bool = False, phone: bool = False) -> Iterator[Page]:
        """A page in a context of its own: no cookies, nothing stored."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        page.prepare(width, height, dark, phone)
        try:
            yield page
        finally:
            self.send("Target.disposeBrowserContext", browserContextId=context)
            del self._pages[session]

    def send(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """One command and its answer."""
        with self._lock:
            self._number += 1
            number = self._number
            message = {"id": number, "method": method, "params": parameters} | (
                {"sessionId": session} if session else {}
            )
            self._out.write(json.dumps(message).encode() + b"\0")
            self._out.flush()
            if not self._lock.wait_for(lambda: number in self._answers, PATIENCE):
                raise TimeoutError(f"the browser did not answer {method}")
            answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return dict(answer["result"])

    def _read(self) -> None:
        buffer = b""
        while chunk := os.read(self._in.fileno(), 1 << 20):
            *messages, buffer = (buffer + chunk).split(b"\0")
            for raw in messages:
                message = json.loads(raw)
                with self._lock:
                    if "id" in message:
                        self._answers[message["id"]] = message
                    elif page := self._pages.get(message.get("sessionId", "")):
                        page.events.append((message["method"], message["params"]))
                    self._lock.notify_all()


class Page:
    """One tab: what happened in it is kept in `events`."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        self.events: list[tuple[str, dict[str, Any]]] = []

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.send(method, self._session, **parameters)

    def prepare(self, width: int, height: int, dark: bool, phone: bool) -> None:
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send(
            "Emulation.setEmulatedMedia", features=[scheme, {"name": "prefers-reduced-motion", "value": "reduce"}]
        )

    def go(self, address: str) -> None:
        self.send("Page.navigate", url=address)
        self.wait(
            f"document.readyState === 'complete' && location.href.startsWith({json.dumps(address.split('#')[0])})"
        )

    def run(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "it threw"))
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Until an expression is true, also across the loading of another page."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with contextlib.suppress(RuntimeError):
                if self.run(condition):
                    return
            time.sleep(0.05)
        raise TimeoutError(f"never came true: {condition}")

    def text(self, selector: str = "body") -> str:
        return str(self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def press(self, key: str) -> None:
        code, text = _KEYS[key]
        named = {"key": key, "windowsVirtualKeyCode": code}
        self.send("Input.dispatchKeyEvent", type="keyDown", **named, **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **named)

    def type(self, text: str) -> None:
        self.send("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def screenshot(self, path: Path, whole: bool = False) -> None:
        """The window, or the whole page, as PNG."""
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    @property
    def requests(self) -> list[str]:
        """Every address that was asked for."""
        return [told["request"]["url"] for name, told in self.events if name == "Network.requestWillBeSent"]

    @property
    def complaints(self) -> list[str]:
        """Console messages: errors, warnings, violations of the content security policy."""
        entries = [told["entry"] for name, told in self.events if name == "Log.entryAdded"]
        said = [str(entry) for entry in entries if entry["level"] in ("error", "warning")]
        said += [str(told["exceptionDetails"]) for name, told in self.events if name == "Runtime.exceptionThrown"]
        return said + [
            str(told["args"])
            for name, told in self.events
            if name == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert")
        ]
