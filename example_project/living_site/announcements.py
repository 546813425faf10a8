"""What hosts say about their pages: robots.txt, sitemaps and feeds."""

import gzip
from datetime import UTC, datetime
from email.utils import formatdate

from living_site.model import Document, Host, Hub, Post
from living_site.parameters import Character
from living_site.sayings import claimed_at
from living_site.wire import Answer
from living_site.world import World

SITEMAP_NAMES = ("articles", "quotes")
SITEMAP_INDEX = "/sitemap_index.xml"
SITEMAPS = {f"/sitemap-{name}.xml.gz": f"/{name}/" for name in SITEMAP_NAMES}
SITEMAP_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def announcement(
    world: World, host: Host, path: str, time: float, epoch: float, hub_url: str = ""
) -> Answer | None:
    """Return the robots.txt, sitemap or feed at a path of a host at `time`, None if there is none.

    Feeds name the WebSub hub that sends them, if there is one.
    """
    if path == "/robots.txt":
        return _robots(host)
    if host.character is Character.ANNOUNCING:
        if path == SITEMAP_INDEX:
            return _sitemap_index(world, host, time, epoch)
        if path in SITEMAPS:
            return _sitemap(world, host, SITEMAPS[path], time, epoch)
    if host.character is Character.HUB:
        if path == "/feed.rss":
            return _rss(host, _recent_posts(world, host, time), epoch, hub_url)
        if path == "/feed.atom":
            return _atom(host, _recent_posts(world, host, time), epoch, hub_url)
    return None


def w3c_date(unix_time: float) -> str:
    """Return a Unix time as sitemaps and Atom write it, with its fraction.

    >>> w3c_date(784111777.25)
    '1994-11-06T08:49:37.250000+00:00'
    """
    return datetime.fromtimestamp(unix_time, UTC).isoformat(timespec="microseconds")


def _robots(host: Host) -> Answer | None:
    """Return a host's robots.txt; a host without validators has none."""
    if host.character is Character.NO_VALIDATORS:
        return None
    lines = ["User-agent: *", "Disallow:"]
    if host.character is Character.ANNOUNCING:
        lines = ["User-agent: *", "Disallow: /private/", f"Sitemap: {host.site_url}{SITEMAP_INDEX}"]
    return Answer(200, "\n".join([*lines, ""]).encode(), {"Content-Type": "text/plain; charset=utf-8"})


def _present(world: World, host: Host, prefix: str, time: float) -> list[Document]:
    """Return a host's documents below a path that are there at `time`."""
    return [
        page
        for page in world.pages_of(host)
        if isinstance(page, Document) and page.path.startswith(prefix) and world.status_at(page, time) == 200
    ]


def _sitemap_index(world: World, host: Host, time: float, epoch: float) -> Answer:
    """Return a sitemap index, each sitemap dated by the latest change in it."""
    entries = []
    for path, prefix in SITEMAPS.items():
        changes = [claimed_at(world, page, time) for page in _present(world, host, prefix, time)]
        lastmod = f"<lastmod>{w3c_date(epoch + max(changes))}</lastmod>" if changes else ""
        entries.append(f"<sitemap><loc>{host.site_url}{path}</loc>{lastmod}</sitemap>")
    return _xml(
        f'<sitemapindex xmlns="{SITEMAP_NAMESPACE}">{"".join(entries)}</sitemapindex>', "application/xml"
    )


def _sitemap(world: World, host: Host, prefix: str, time: float, epoch: float) -> Answer:
    """Return a gzipped sitemap of the documents below a path, each with the date that the host claims."""
    dates = [
        (page, w3c_date(epoch + claimed_at(world, page, time)))
        for page in _present(world, host, prefix, time)
    ]
    entries = [f"<url><loc>{page.url}</loc><lastmod>{date}</lastmod></url>" for page, date in dates]
    plain = _xml(f'<urlset xmlns="{SITEMAP_NAMESPACE}">{"".join(entries)}</urlset>', "application/xml")
    return Answer(200, gzip.compress(plain.body, mtime=0), {"Content-Type": "application/gzip"})


def _recent_posts(world: World, host: Host, time: float) -> list[Post]:
    """Return the posts that any of a host's hubs lists at `time`, latest first."""
    hubs = [page for page in world.pages_of(host) if isinstance(page, Hub)]
    posts = [post for hub in hubs for post in world.posts_listed(hub, time)]
    return sorted(posts, key=lambda post: post.born, reverse=True)


def _rss(host: Host, posts: list[Post], epoch: float, hub_url: str) -> Answer:
    """Return an RSS 2.0 feed of posts."""
    items = "".join(
        f"<item><title>{post.title}</title><link>{post.url}</link><guid>{post.url}</guid>"
        f"<pubDate>{formatdate(epoch + post.born, usegmt=True)}</pubDate></item>"
        for post in posts
    )
    head = f"<title>Posts</title><link>{host.site_url}/</link><description>New posts</description>"
    head += _hub_links(hub_url, f"{host.site_url}/feed.rss", "atom:")
    spaces = ' xmlns:atom="http://www.w3.org/2005/Atom"' if hub_url else ""
    return _xml(f'<rss version="2.0"{spaces}><channel>{head}{items}</channel></rss>', "application/rss+xml")


def _atom(host: Host, posts: list[Post], epoch: float, hub_url: str) -> Answer:
    """Return an Atom feed of posts."""
    updated = w3c_date(epoch + max((post.born for post in posts), default=0.0))
    entries = "".join(
        f'<entry><title>{post.title}</title><id>{post.url}</id><link href="{post.url}"/>'
        f"<updated>{w3c_date(epoch + post.born)}</updated></entry>"
        for post in posts
    )
    head = f"<title>Posts</title><id>{host.site_url}/feed.atom</id><updated>{updated}</updated>"
    head += "<author><name>The living site</name></author>"
    head += _hub_links(hub_url, f"{host.site_url}/feed.atom")
    return _xml(f'<feed xmlns="http://www.w3.org/2005/Atom">{head}{entries}</feed>', "application/atom+xml")


def _hub_links(hub_url: str, topic: str, prefix: str = "") -> str:
    """Return the elements that name a hub and the address under which it knows the feed."""
    if not hub_url:
        return ""
    return f'<{prefix}link rel="hub" href="{hub_url}"/><{prefix}link rel="self" href="{topic}"/>'


def _xml(root: str, content_type: str) -> Answer:
    """Return an XML document."""
    body = f'<?xml version="1.0" encoding="utf-8"?>\n{root}\n'.encode()
    return Answer(200, body, {"Content-Type": f"{content_type}; charset=utf-8"})
