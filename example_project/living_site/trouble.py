"""What goes wrong on a flaky host: a seeded pattern over the numbers of its requests."""

from math import ceil

from living_site.chance import stream
from living_site.model import Host
from living_site.parameters import Character, WorldParameters
from living_site.wire import Answer, http_date

RETRY_SECONDS = 1
KINDS = ("error", "unavailable for seconds", "unavailable until", "too many", "dropped")


def trouble(
    parameters: WorldParameters, host: Host, path: str, request_number: int, unix_time: float
) -> Answer | None:
    """Return what a host answers instead of a page to its n-th request, None if all is well.

    robots.txt is spared, so that no crawl is decided by its first request.
    """
    if host.character is not Character.FLAKY or path == "/robots.txt":
        return None
    random = stream(parameters.seed, host.address, "trouble", request_number)
    if random.random() >= parameters.trouble_share:
        return None
    match random.choice(KINDS):
        case "error":
            return Answer(500)
        case "unavailable for seconds":
            return Answer(503, headers={"Retry-After": str(RETRY_SECONDS)})
        case "unavailable until":
            return Answer(503, headers={"Retry-After": http_date(ceil(unix_time) + RETRY_SECONDS)})
        case "too many":
            return Answer(429, headers={"Retry-After": str(RETRY_SECONDS)})
        case _:
            return Answer(0)
