"""Serve the dashboard until it is interrupted."""

import socket
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette

from scrapy_freshness.errors import FreshnessError


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
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=2,
        )
        uvicorn.Server(config).run(sockets=[listening])
