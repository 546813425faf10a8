"""The HTML of every page of the living site, from the world at a time."""

from collections.abc import Iterable

from living_site.chance import stream
from living_site.model import Document, Hub, Page, Post, Private, Root, Section
from living_site.parameters import Character
from living_site.text import Quote, churn_text, paragraphs, scroll_items, static_text
from living_site.world import World

FEED_LINKS = (
    '<link rel="alternate" type="application/rss+xml" href="/feed.rss">\n'
    '<link rel="alternate" type="application/atom+xml" href="/feed.atom">\n'
)


def page_html(world: World, page: Page, time: float, nonce: str = "") -> str:
    """Return a page as it is at `time`; a nonce goes where no reader sees it."""
    match page:
        case Document():
            main = _document(world, page, time)
        case Root():
            main = _root(world, page)
        case Section():
            main = _section(world, page, time)
        case Hub():
            main = _links(world.posts_listed(page, time)[::-1])
        case Post():
            random = stream(world.parameters.seed, page.host.address, page.path)
            main = _paragraphs("post", paragraphs(random, 80))
        case Private():
            main = _paragraphs("private", ["Not for robots."])
        case _:
            raise TypeError(f"{page.kind} pages have no HTML")
    return _frame(page, main, nonce)


def _frame(page: Page, main: str, nonce: str) -> str:
    """Return a whole HTML document around the main part of a page."""
    feeds = FEED_LINKS if page.host.character is Character.HUB else ""
    noise = (
        f"<!-- served {nonce} --><script>var request = '{nonce}';</script><i data-request='{nonce}'></i>\n"
        if nonce
        else ""
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{page.title}</title>\n{feeds}</head>\n<body>\n{noise}"
        '<nav><a href="/">Front page</a></nav>\n'
        f"<main>\n<h1>{page.title}</h1>\n{main}</main>\n</body>\n</html>\n"
    )


def _document(world: World, page: Document, time: float) -> str:
    """Return the regions of a document."""
    seed = world.parameters.seed
    churned, scrolled = world.region_versions(page, time)
    return "".join(
        (
            _paragraphs("static", static_text(seed, page)),
            _paragraphs("churn", churn_text(seed, page, churned)),
            _quotes(scroll_items(seed, page, scrolled)),
            _next_link(page.next_path),
        )
    )


def _root(world: World, page: Root) -> str:
    """Return links to all that is one hop away; the first host's root also links to the other hosts."""
    own = [
        other
        for other in world.pages_of(page.host)
        if not isinstance(other, Document | Root) and "/list/" not in other.path
    ]
    if page.host is not world.hosts[0]:
        return _links(own)
    roots = "".join(f'<li><a href="{url}">{url}</a></li>\n' for url in world.root_urls)
    return f'{_links(own)}<h2>All hosts</h2>\n<ul class="hosts">\n{roots}</ul>\n'


def _section(world: World, page: Section, time: float) -> str:
    """Return links to the documents that are there."""
    present = (document for document in page.documents if world.status_at(document, time) == 200)
    return _links(present) + _next_link(page.next_path)


def _paragraphs(region: str, texts: list[str]) -> str:
    """Return a region of paragraphs, nothing if there are none."""
    inside = "".join(f"<p>{text}</p>\n" for text in texts)
    return f'<div class="{region}">\n{inside}</div>\n' if texts else ""


def _quotes(quotes: list[Quote]) -> str:
    """Return the items of a scrolling region, marked up as quotes."""
    return "".join(
        f'<div class="quote"><span class="text">{quote.text}</span>'
        f' by <small class="author">{quote.author}</small>'
        f' <span class="tags">{" ".join(f"<b>{tag}</b>" for tag in quote.tags)}</span></div>\n'
        for quote in quotes
    )


def _links(pages: Iterable[Page]) -> str:
    """Return a list of links to pages of the same host."""
    return (
        "<ul>\n" + "".join(f'<li><a href="{page.path}">{page.title}</a></li>\n' for page in pages) + "</ul>\n"
    )


def _next_link(path: str | None) -> str:
    """Return a link to the next page of a sequence, nothing at its end."""
    return f'<ul class="pager"><li class="next"><a href="{path}">Next</a></li></ul>\n' if path else ""
