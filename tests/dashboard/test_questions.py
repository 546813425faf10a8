"""The four questions of docs/dashboard.md are answered in words, where it says so."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from lively_web import SPIDER
from playwright.sync_api import Browser, Page, expect
from reading import reading
from serving import served

from scrapy_freshness.storage.store import Store


@pytest.fixture(scope="module")
def page(browser: Browser, lively_copy: Path) -> Iterator[Page]:
    """The overview, while the crawl runs."""
    url = f"sqlite:///{lively_copy}"
    with Store.open(url) as crawl, served(url) as (address, _), reading(browser, address) as page:
        crawl.lock(SPIDER)
        yield page


@pytest.fixture(autouse=True)
def at_the_overview(page: Page) -> None:
    page.get_by_role("link", name="Freshness", exact=True).click()


def test_is_my_crawl_keeping_up(page: Page) -> None:
    expect(page.locator("section.verdict")).to_contain_text("A copy is still current with a probability of")
    expect(page.get_by_text("Visiting page after page in turn, with as many visits, would")).to_be_visible()


def test_which_host_wastes_most_budget(page: Page) -> None:
    card = page.get_by_role("region", name="Hosts that waste most budget")
    expect(card).to_contain_text("brought nothing new")
    link = card.locator("tbody tr").first.get_by_role("link")
    worst, pages_of_it = link.inner_text(), link.get_attribute("href")
    page.get_by_role("link", name="All hosts", exact=True).click()
    expect(page.get_by_role("region", name=f"{worst} wastes most budget")).to_contain_text(
        "of what all hosts waste"
    )
    links = page.get_by_role("link", name=worst, exact=True).all()
    assert {link.get_attribute("href") for link in links} == {pages_of_it}


@pytest.mark.parametrize(
    ("part", "answer"),
    [
        ("static.example/items/4", "It is not due yet; the next visit is expected in"),
        ("static.example/stories/7", "It is gone; the next look is expected in"),
        ("wiki.example/stories/13", "It waits after"),
        ("blog.example/new/1", "It waits for its host, which is in back-off"),
    ],
)
def test_why_has_this_page_not_been_visited(page: Page, part: str, answer: str) -> None:
    page.get_by_role("link", name="Pages", exact=True).click()
    page.get_by_label("Address contains").fill(part)
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("link", name=part).first.click()
    expect(page.get_by_role("region", name="Why is it visited when it is?")).to_contain_text(answer)


def test_which_sitemaps_lie(page: Page) -> None:
    page.get_by_role("link", name="Signals", exact=True).click()
    box = page.get_by_role("region", name="Some say little that is true")
    expect(box).to_contain_text("https://shop.example/sitemap.xml: one date for all pages")
    expect(box).to_contain_text("On this host,")
