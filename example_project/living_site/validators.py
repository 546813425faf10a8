"""ETag and Last-Modified: which ones each host sends, and whether a client's copy passes for current."""

import re
from enum import Enum, auto
from hashlib import blake2b

from living_site.chance import stream
from living_site.model import Page
from living_site.parameters import Character
from living_site.wire import Request, http_date, parse_http_date
from living_site.world import World

ENTITY_TAG = re.compile(r'(?:W/)?("[^"]*")')


class _Sends(Enum):
    """What a host sends for a client to recognise its copy by."""

    ETAG = auto()
    OVERLOOKING_ETAG = auto()
    DATE = auto()
    NOTHING = auto()


_SENT_BY = {
    Character.STRONG_ETAG: _Sends.ETAG,
    Character.LAST_MODIFIED: _Sends.DATE,
    Character.NO_VALIDATORS: _Sends.NOTHING,
    Character.LYING: _Sends.OVERLOOKING_ETAG,
    Character.NOISY: _Sends.NOTHING,
    Character.SLOW: _Sends.ETAG,
    Character.FLAKY: _Sends.DATE,
    Character.MORTAL: _Sends.ETAG,
    Character.REDIRECTING: _Sends.DATE,
    Character.ANNOUNCING: _Sends.ETAG,
    Character.HUB: _Sends.ETAG,
    Character.ODD: _Sends.NOTHING,
}


def page_validators(world: World, page: Page, body: bytes, time: float, epoch: float) -> dict[str, str]:
    """Return the headers by which a client can recognise a page's version at `time`."""
    match _SENT_BY[page.host.character]:
        case _Sends.ETAG:
            return {"ETag": body_etag(body)}
        case _Sends.OVERLOOKING_ETAG:
            return {"ETag": f'"{_noticed_version(world, page, time)}"'}
        case _Sends.DATE:
            changed = epoch + world.changed_at(page, time)
            # A page that changed within this second may change again within it, under the same date: a date
            # proves nothing before the second is over (RFC 9110, section 8.8.2.2).
            return {"Last-Modified": http_date(changed)} if int(changed) < int(epoch + time) else {}
        case _Sends.NOTHING:
            return {}


def body_etag(body: bytes) -> str:
    """Return a strong ETag."""
    return f'"{blake2b(body, digest_size=8).hexdigest()}"'


def is_current(request: Request, validators: dict[str, str]) -> bool:
    """Tell whether the client's copy has the validators of the current one (RFC 9110, section 13.2.2)."""
    tags = request.headers.get("if-none-match")
    if tags is not None:
        etag = validators.get("ETag")
        return etag is not None and (tags.strip() == "*" or etag in ENTITY_TAG.findall(tags))
    since = parse_http_date(request.headers.get("if-modified-since", ""))
    modified = parse_http_date(validators.get("Last-Modified", ""))
    return since is not None and modified is not None and modified <= since


def _noticed_version(world: World, page: Page, time: float) -> int:
    """Return the latest version that a lying host has noticed; it overlooks a seeded share of the changes."""
    version = world.version_at(page, time)
    key = (world.parameters.seed, page.host.address, page.path, "noticed")
    while version > 0 and stream(*key, version).random() < world.parameters.lie_share:
        version -= 1
    return version
