"""Serve the dashboard until it is interrupted."""

import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.applications import Starlette

from scrapy_freshness.dashboard.watch import Watch
from scrapy_freshness.errors import FreshnessError


class Server(uvicorn.Server):
    """A server that tells the dashboard when it ends, before it waits for requests that wait for a look."""

    def __init__(self, app: Starlette, **options: Any) -> None:
        """Serve *app*, which `new_app` has made, with options of uvicorn."""
        super().__init__(uvicorn.Config(app, **options))
        self._watch: Watch = app.state.desk.watch

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all that is under way."""
        self._watch.stop()
        await super().shutdown(sockets)


def serve(app: Starlette, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Listen on an address; *ready* is told the URL as soon as it answers. Ctrl-C ends it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        raise FreshnessError(f"{host}:{port} cannot be listened on: {error.strerror or error}") from error
    with listening:
        name = f"[{host}]" if ":" in host else host
        ready(f"http://{name}:{listening.getsockname()[1]}/")
        server = Server(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=2,
        )
        server.run(sockets=[listening])
