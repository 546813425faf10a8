"""What a reader may ask of the crawl, if the dashboard was started so; the crawl grants it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from scrapy_freshness.config import Config
from scrapy_freshness.dashboard.desk import Asked
from scrapy_freshness.dashboard.forms import form_of
from scrapy_freshness.errors import ConfigError, InputError
from scrapy_freshness.insight.pinning import pin_interval
from scrapy_freshness.storage.store import Store
from scrapy_freshness.storage.wishes import ask_for_visits, ask_to_forget, pin

#: Opens the database for writing; for `with`.
OpenStore = Callable[[], AbstractContextManager[Store]]

#: What was asked, and what is said about it.
DONE = {
    "visit": "A visit was asked for: the crawl makes it as soon as it can, or when it is started.",
    "pin": "The interval is pinned.",
    "loose": "The interval is not pinned any more.",
    "forget": "The crawl was asked to forget this page.",
}


async def ask(request: Request) -> Response:
    """Take a wish about one page."""
    if request.app.state.desk.open_store is None:
        raise HTTPException(403, "This dashboard only reads: start it with --allow-actions")
    form = await form_of(request)
    wanted, every = form.get("action", [""])[-1], form.get("every", [""])[-1]
    return await run_in_threadpool(_asked, Asked(request), request.path_params["page_id"], wanted, every)


def _asked(asked: Asked, page_id: int, wanted: str, every: str) -> Response:
    assert asked.desk.open_store is not None
    if wanted not in DONE:
        raise HTTPException(400, "There is no such action")
    seconds = _interval(every, asked.desk.config) if wanted == "pin" else None
    with asked.desk.open_store() as store:
        if wanted == "visit":
            known = ask_for_visits(store, [page_id], asked.now)
        elif wanted == "forget":
            known = ask_to_forget(store, [page_id], asked.now)
        else:
            known = pin(store, [page_id], seconds, asked.now)
    if not known:
        raise HTTPException(404, "There is no such page")
    return RedirectResponse(f"/pages/{page_id}?{urlencode({'done': wanted})}", 303)


def _interval(text: str, config: Config) -> float:
    try:
        return pin_interval("an interval", text, config)
    except ConfigError as error:
        raise InputError(str(error)) from None
