"""The app: which address shows which page, and what becomes of errors."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from scrapy_freshness.clock import Clock
from scrapy_freshness.config import Config
from scrapy_freshness.dashboard import (
    actions,
    hosts,
    overview,
    page_detail,
    page_list,
    policies,
    signals,
    sources,
)
from scrapy_freshness.dashboard.desk import HERE, Desk
from scrapy_freshness.dashboard.forms import fields_of
from scrapy_freshness.dashboard.remembered import Remembered
from scrapy_freshness.dashboard.replaying import Replays
from scrapy_freshness.dashboard.security import Door, Guard, letting_in
from scrapy_freshness.dashboard.watch import Watch
from scrapy_freshness.errors import FreshnessError, InputError
from scrapy_freshness.storage.store import Store


class PageId(Convertor[int]):
    """The id of a page in an address; what no database can hold is the id of no page."""

    regex = "[0-9]{1,19}"

    def convert(self, value: str) -> int:
        """The number."""
        return min(int(value), 2**63 - 1)

    def to_string(self, value: int) -> str:
        """As it is in an address."""
        return str(value)


register_url_convertor("page_id", PageId())


def new_app(
    store: Store, config: Config, clock: Clock, door: Door, open_store: actions.OpenStore | None = None
) -> Starlette:
    """The dashboard over a database; it closes what it has opened, but not the store.

    With *open_store*, which opens the database for writing, readers may ask something of the crawl.
    """
    desk = Desk(
        store=store,
        config=config,
        clock=clock,
        door=door,
        watch=Watch(store, config, clock, time.monotonic),
        remembered=Remembered(clock, time.monotonic),
        replays=Replays(config),
        open_store=open_store,
    )

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:  # whatever ends it: a server that is stopped while it starts, or in a hurry, says no goodbye
            for spider in (await run_in_threadpool(desk.spiders))[:1]:
                desk.watch.look_ahead(spider)
            yield
        finally:
            desk.replays.close()
            desk.watch.close()
            desk.remembered.close()

    app = Starlette(
        routes=[
            Route("/", overview.show),
            Route("/live/now", overview.show_now),
            Route("/live/charts", overview.show_charts),
            Route("/live/budgets", overview.show_budgets),
            Route("/pages", page_list.show),
            Route("/live/pages", page_list.show_table),
            Route("/pages.csv", page_list.download),
            Route("/pages/{page_id:page_id}", page_detail.show, methods=["GET"]),
            Route("/pages/{page_id:page_id}", actions.ask, methods=["POST"]),
            Route("/hosts", hosts.show),
            Route("/sources", sources.show),
            Route("/live/sources", sources.show_table),
            Route("/signals", signals.show),
            Route("/policies", policies.show, methods=["GET"]),
            Route("/policies", policies.start, methods=["POST"]),
            Route("/live/policies", policies.show_result),
            Route("/token", ask_for_token, methods=["GET"]),
            Route("/token", take_token, methods=["POST"]),
            Mount("/static", StaticFiles(directory=HERE / "static")),
        ],
        middleware=[Middleware(Guard, door=door)],
        exception_handlers={
            HTTPException: _not_found,
            InputError: _refused,
            FreshnessError: _failed,
            Exception: _broken,
        },
        lifespan=lifespan,
    )
    app.state.desk = desk
    return app


def ask_for_token(request: Request) -> Response:
    """Where somebody without the token lands."""
    return _message(request, "token.html", 401)


async def take_token(request: Request) -> Response:
    """The token was typed in."""
    form = await fields_of(request)
    if request.app.state.desk.door.takes_token(form.get("token", [""])[-1].strip()):
        return letting_in(request.app.state.desk.door, "/")
    return await run_in_threadpool(_message, request, "token.html", 401, wrong=True)


def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _message(request, "error.html", error.status_code, title=error.detail, text="")


def _refused(request: Request, error: Exception) -> Response:
    return _message(request, "error.html", 400, title="That cannot be shown", text=str(error))


def _failed(request: Request, error: Exception) -> Response:
    return _message(request, "error.html", 503, title="The database cannot be read", text=str(error))


def _broken(request: Request, error: Exception) -> Response:
    text = "This is a fault of the dashboard; its terminal says more. The crawl is not affected."
    return _message(request, "error.html", 500, title="Something went wrong", text=text)


def _message(request: Request, template: str, status: int, **context: object) -> Response:
    """A page that needs no database."""
    desk: Desk = request.app.state.desk
    shown = {"title": "", "text": "", "wrong": False, **context}
    return HTMLResponse(desk.templates.get_template(template).render(shown), status)
