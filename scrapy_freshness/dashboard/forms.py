"""What forms send, taken only from our own pages."""

from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request

from scrapy_freshness.dashboard.security import Door

#: A form is never longer than this, in bytes.
_LONGEST = 10_000


async def form_of(request: Request) -> dict[str, list[str]]:
    """The fields of a form of our own; a form of another site is refused."""
    form = await fields_of(request)
    door: Door = request.app.state.desk.door
    if not door.takes_form(request.headers, form.get("key", [""])[-1]):
        raise HTTPException(403, "This form is not from a page of this dashboard: reload it, and try again")
    return form


async def fields_of(request: Request) -> dict[str, list[str]]:
    """The fields of any form."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LONGEST:
            raise HTTPException(413, "This form is too long")
    return parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
