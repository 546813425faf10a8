"""Which pages each host has: the part of a world that is there from the start."""

from collections.abc import Iterator, Sequence
from itertools import cycle
from random import Random

from living_site.chance import log_uniform, stream
from living_site.model import (
    MAGAZINE,
    NOTICE,
    RIVER,
    TICKER,
    Absence,
    Document,
    Host,
    Hub,
    Oddity,
    Page,
    Private,
    Redirection,
    Root,
    Section,
    host_addresses,
)
from living_site.oddities import ODDITIES
from living_site.parameters import Character, WorldParameters

LISTED_PER_SECTION_PAGE = 15
CHAIN_LENGTH = 3


def build_hosts(parameters: WorldParameters, port: int) -> tuple[Host, ...]:
    """Return the hosts of a world, in the order of their addresses."""
    manners = cycle(parameters.sitemaps)
    pairs = zip(host_addresses(parameters), parameters.characters, strict=True)
    return tuple(
        Host(address, port, character, next(manners))
        if character is Character.ANNOUNCING
        else Host(address, port, character)
        for address, character in pairs
    )


def build_documents(parameters: WorldParameters, host: Host, first_index: int) -> list[Document]:
    """Return a host's documents: two thirds articles, one third pages of quotes that link to the next."""
    quotes_count = parameters.pages_per_host // 3
    paths = [f"/articles/{number}" for number in range(1, parameters.pages_per_host - quotes_count + 1)]
    paths += [f"/quotes/page/{number}/" for number in range(1, quotes_count + 1)]
    documents = []
    for offset, path in enumerate(paths):
        random = stream(parameters.seed, host.address, path)
        is_quotes = path.startswith("/quotes/")
        has_next = is_quotes and offset + 1 < len(paths)
        spread = parameters.importance_spread
        documents.append(
            Document(
                host=host,
                path=path,
                title=path.strip("/").replace("/", " ").capitalize(),
                index=first_index + offset,
                change_rate=log_uniform(
                    random, parameters.slowest_change_rate, parameters.fastest_change_rate
                ),
                importance=random.lognormvariate(-spread * spread / 2, spread),
                layout=RIVER if is_quotes else random.choice((NOTICE, TICKER, MAGAZINE)),
                absence=_absence(parameters, random) if host.character is Character.MORTAL else None,
                next_path=paths[offset + 1] if has_next else None,
            )
        )
    return documents


def build_navigation(
    parameters: WorldParameters, hosts: Sequence[Host], host: Host, documents: Sequence[Document]
) -> Iterator[Page]:
    """Yield the other pages of a host: its root, the lists of its documents, and what its character adds."""
    yield Root(host=host, path="/", title=f"{host.character} host {host.address}")
    for name in ("articles", "quotes"):
        yield from _sections(host, name, [page for page in documents if page.path.startswith(f"/{name}/")])
    match host.character:
        case Character.HUB:
            yield from _hubs(parameters, host)
        case Character.REDIRECTING:
            yield from _redirections(hosts, host)
        case Character.ANNOUNCING:
            yield Private(host=host, path="/private/ledger", title="Private ledger")
        case Character.ODD:
            for path, oddity in ODDITIES.items():
                yield Oddity(host=host, path=path, title=oddity.title)


def _absence(parameters: WorldParameters, random: Random) -> Absence | None:
    """Return when a mortal host's document is gone, None for one that stays."""
    if random.random() >= parameters.mortal_share:
        return None
    start = random.expovariate(1 / parameters.mean_life_seconds)
    status = random.choice((404, 410))
    if random.random() >= parameters.revival_share:
        return Absence(start, status=status)
    return Absence(start, start + random.expovariate(1 / parameters.mean_life_seconds), status)


def _sections(host: Host, name: str, documents: Sequence[Document]) -> Iterator[Section]:
    """Yield the pages of the list of some documents, each with a link to the next."""
    starts = range(0, max(len(documents), 1), LISTED_PER_SECTION_PAGE)
    paths = [
        f"/{name}/" if number == 1 else f"/{name}/list/{number}/" for number in range(1, len(starts) + 1)
    ]
    for start, path, next_path in zip(starts, paths, [*paths[1:], None], strict=True):
        listed = tuple(documents[start : start + LISTED_PER_SECTION_PAGE])
        yield Section(host=host, path=path, title=f"List of {name}", documents=listed, next_path=next_path)


def _hubs(parameters: WorldParameters, host: Host) -> Iterator[Hub]:
    """Yield a host's hubs."""
    for number in range(1, parameters.hubs_per_host + 1):
        path = f"/hub/{number}/"
        random = stream(parameters.seed, host.address, path)
        rate = log_uniform(random, parameters.slowest_post_rate, parameters.fastest_post_rate)
        # Each post changes its hub twice: when it appears on the list and when it leaves it.
        yield Hub(host=host, path=path, title=f"Hub {number}", posts_per_second=rate, change_rate=2 * rate)


def _redirections(hosts: Sequence[Host], host: Host) -> Iterator[Redirection]:
    """Yield every kind of redirection."""
    places = [(f"/old/{status}", status, "/articles/1") for status in (301, 302, 307, 308)]
    places += [(f"/chain/{step}", 302, f"/chain/{step - 1}") for step in range(CHAIN_LENGTH, 1, -1)]
    places += [("/chain/1", 301, "/articles/1")]
    places += [("/loop/a", 302, "/loop/b"), ("/loop/b", 302, "/loop/a")]
    places += [("/moved-away", 301, f"{other.site_url}/articles/1") for other in hosts if other != host][:1]
    for path, status, location in places:
        yield Redirection(host=host, path=path, title=f"{status} at {path}", status=status, location=location)
