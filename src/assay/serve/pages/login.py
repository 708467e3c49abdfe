"""The form for the token."""

from __future__ import annotations

from starlette.responses import HTMLResponse, Response

from assay.evaluate.report.markup import element
from assay.serve.pages.shell import Shown, document


def login_page(wrong: bool = False) -> Response:
    form = element(
        "form",
        element("h2", "A token is needed"),
        element("p", "That is not the token." if wrong else "The one this server was started with.", role="alert" if wrong else None),
        element("input", type="password", name="token", aria_label="Token", required=True, autofocus=True, autocomplete="current-password"),
        element("button", "Enter", type="submit"),
        action="/login",
        method="post",
        class_="empty login",
    )  # fmt: skip
    # a form of a page that sends no referrer has no origin either
    headers = {"referrer-policy": "same-origin"}
    return HTMLResponse(document(Shown("Token", form)), 401 if wrong else 200, headers)
