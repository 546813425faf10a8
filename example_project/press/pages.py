"""The HTML of the press: lists of stories among all the links that are no news."""

from collections.abc import Iterable

from living_site.chance import stream
from living_site.text import paragraphs

from press.world import PressWorld, hub_path

#: Every tenth newspaper puts a session into its links, which differs at each request.
SESSIONS_EVERY = 10
STORY_WORDS = 80


def hub_html(world: PressWorld, hub: int, time: float, request_number: int) -> str:
    """Return a hub: its stories, and what newspapers have on every page."""
    section, host = divmod(hub, world.parameters.hosts)
    tracking = f"?utm_source=section-{section}&amp;utm_medium=list"
    if host % SESSIONS_EVERY == SESSIONS_EVERY - 1:
        tracking += f"&amp;sid={stream(world.parameters.seed, host, request_number).getrandbits(64):016x}"
    stories = "".join(
        f'<li><a href="/story/{number}{tracking}">Story {number}</a></li>\n'
        for number in world.shown(hub, time)
    )
    path = hub_path(section)
    pager = f'<p class="pager"><a href="{path}?page=2">Older</a></p>\n'
    return _frame(world, f"Section {section}", f'<ul class="stories">\n{stories}</ul>\n{pager}')


def older_html(world: PressWorld, section: int) -> str:
    """Return the second page of a hub, where stories are not kept."""
    return _frame(world, f"Section {section}, older", "<p>Older stories are in the printed archive.</p>\n")


def story_html(world: PressWorld, story: int) -> str:
    """Return a story; it never changes."""
    texts = paragraphs(stream(world.parameters.seed, "story", story), STORY_WORDS)
    return _frame(world, f"Story {story}", "".join(f"<p>{text}</p>\n" for text in texts))


def old_html(world: PressWorld, path: str) -> str:
    """Return a page that has been the same for years."""
    texts = paragraphs(stream(world.parameters.seed, path), STORY_WORDS)
    return _frame(world, path.strip("/").capitalize(), "".join(f"<p>{text}</p>\n" for text in texts))


def _frame(world: PressWorld, title: str, main: str) -> str:
    """Return a whole page: sections above, small print below, on all pages alike."""
    sections = (hub_path(section) for section in range(world.parameters.hubs_per_host))
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f"<title>{title}</title></head>\n<body>\n"
        f"<nav>{_links(sections)}</nav>\n<main>\n<h1>{title}</h1>\n{main}</main>\n"
        f"<footer>{_links(world.old_paths())}"
        '<a href="/private/desk">Desk</a> <a rel="nofollow" href="/partners">Partners</a> '
        f'<a href="{world.outsider.site_url}/">Our friends</a></footer>\n</body>\n</html>\n'
    )


def _links(paths: Iterable[str]) -> str:
    return " ".join(f'<a href="{path}">{path}</a>' for path in paths)
