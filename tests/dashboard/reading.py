"""A reader of the dashboard, in a real browser."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, expect


@contextmanager
def reading(
    browser: Browser, address: str, origin: str = "", *, expected: str | None = None, **options: Any
) -> Iterator[Page]:
    """A reader's window; whatever goes wrong in it fails the test, but for what is *expected*."""
    trouble: list[str] = []
    context = browser.new_context(**{"viewport": {"width": 1360, "height": 900}, **options})
    context.set_default_timeout(60_000)
    expect.set_options(timeout=60_000)
    page = context.new_page()
    page.on("console", lambda said: None if said.type in ("info", "verbose") else trouble.append(said.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    own = origin or address
    page.on("request", lambda sent: None if sent.url.startswith(own) else trouble.append(sent.url))
    page.goto(address)
    yield page
    assert page.evaluate("window.hacked") is None
    assert [each for each in trouble if expected is None or expected not in each] == []
    context.close()
