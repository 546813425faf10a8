"""What a reader sees and does, in a real browser; screenshots of every page are kept for looking at."""

import multiprocessing
import re
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from lively_web import HOSTILE, NOW, RETIRED, SPIDER
from playwright.sync_api import Browser, Page, expect
from reading import reading
from serving import served

from scrapy_freshness.model import Batch, Outcome, VisitRecord
from scrapy_freshness.storage.page_reports import find_pages
from scrapy_freshness.storage.store import Store

SCREENSHOTS = Path(__file__).parent / "screenshots"
PAGES = {
    "overview": ("/", "The crawl"),
    "pages": ("/pages", "Download CSV"),
    "page": ("/pages/25", "Why is it visited when it is?"),
    "hosts": ("/hosts", "wastes most budget"),
    "sources": ("/sources", "Polled for new links"),
    "signals": ("/signals", "Some say little that is true"),
    "policies": ("/policies", "What if another policy had crawled?"),
}
THEMES = ("light", "dark")


@pytest.mark.parametrize("theme", THEMES)
def test_every_page_can_be_read_by_everybody(browser: Browser, lively: str, theme: str) -> None:
    """Also by who uses a screen reader; what strangers have written into addresses does nothing."""
    SCREENSHOTS.mkdir(exist_ok=True)
    with reading(browser, lively, color_scheme=theme) as page:
        for name, (path, told) in PAGES.items():
            page.goto(lively + path)
            expect(page.locator("main")).to_contain_text(told)
            if name == "overview":
                expect(page.get_by_text("What another budget would bring")).to_be_visible()
            page.screenshot(path=SCREENSHOTS / f"{name}-{theme}.png", full_page=True)
            found = Axe().run(page)
            assert found.violations_count == 0, f"{path}: {found.generate_report()}"


@pytest.mark.parametrize("theme", THEMES)
def test_a_phone_shows_every_page_without_scrolling_sideways(
    browser: Browser, lively: str, theme: str
) -> None:
    with reading(browser, lively, color_scheme=theme, viewport={"width": 390, "height": 800}) as page:
        for name, (path, _) in PAGES.items():
            page.goto(lively + path)
            width = page.evaluate("document.documentElement.scrollWidth")
            page.screenshot(path=SCREENSHOTS / f"{name}-{theme}-phone.png", full_page=True)
            assert width <= 390, path
            found = Axe().run(page)
            assert found.violations_count == 0, f"{path}: {found.generate_report()}"


def test_pages_of_an_empty_database_say_what_to_do(browser: Browser, sqlite_url: str) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    Store.open(sqlite_url).close()
    with served(sqlite_url) as (address, _), reading(browser, address) as page:
        for path, _ in PAGES.values():
            if path != "/pages/25":
                page.goto(address + path)
                expect(page.locator("main")).to_contain_text("scrapy crawl NAME")
        assert Axe().run(page).violations_count == 0
        page.goto(address)
        page.screenshot(path=SCREENSHOTS / "empty.png", full_page=True)
        with Store.open(sqlite_url) as store:
            store.save("quotes", Batch(fetches={(1, "page"): 1}))
        expect(page.locator("main")).to_contain_text("scrapy crawl quotes")  # by itself


def test_pages_of_a_spider_that_has_found_nothing_say_what_to_do(browser: Browser, sqlite_url: str) -> None:
    with Store.open(sqlite_url) as store:
        store.save("quotes", Batch(fetches={(1, "page"): 1}))
    with served(sqlite_url) as (address, _), reading(browser, address) as page:
        for path, told in {
            "/": "scrapy crawl quotes",
            "/pages": "scrapy crawl quotes",
            "/hosts": "scrapy crawl quotes",
            "/sources": "FRESHNESS_HUBS = True",
            "/signals": "FRESHNESS_SIGNAL_SOURCES",
            "/policies": "visited twice",
        }.items():
            page.goto(address + path)
            expect(page.locator("main")).to_contain_text(told)


def test_a_table_is_sorted_by_its_heads_and_filtered_by_its_fields(browser: Browser, lively: str) -> None:
    with reading(browser, lively) as page:
        page.goto(f"{lively}/pages")
        page.get_by_role("link", name="Visits").click()
        expect(page.locator("th[aria-sort=descending]")).to_contain_text("Visits")
        counts = [
            int(text.split("\n")[0]) for text in page.locator("tbody td:nth-child(10)").all_inner_texts()
        ]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] > counts[-1]
        page.get_by_role("link", name="Visits").click()
        expect(page.locator("th[aria-sort=ascending]")).to_contain_text("Visits")

        page.get_by_label("Address contains").fill("SHOP.example/items")
        page.get_by_role("button", name="Filter").click()
        expect(page.locator(".pager")).to_contain_text("of 30 pages")
        assert page.locator("tbody tr").count() == 30

        page.get_by_label("Address contains").fill(r"^https://(shop|wiki)\.example/items/1\d$")
        page.get_by_label("regular expression").check()
        page.get_by_role("button", name="Filter").click()
        expect(page.locator(".pager")).to_contain_text("of 10 pages")
        shared = page.url
        page.goto("about:blank")
        page.goto(shared)
        expect(page.locator(".pager")).to_contain_text("of 10 pages")
        expect(page.locator("th[aria-sort=ascending]")).to_contain_text("Visits")

        with page.expect_download() as download:
            page.get_by_role("link", name="Download CSV").click()
        lines = Path(download.value.path()).read_text().splitlines()
        assert len(lines) == 11
        assert lines[0].startswith("url,host,status")

        page.get_by_label("Address contains").fill("(")
        page.get_by_role("button", name="Filter").click()
        expect(page.get_by_role("alert")).to_contain_text("not a regular expression")


def test_pages_are_sorted_by_host_and_kind_where_the_screen_is_wide(browser: Browser, lively: str) -> None:
    with reading(browser, lively) as page:
        page.goto(f"{lively}/pages")
        for number, name in ((2, "Host"), (3, "Kind")):
            page.get_by_role("columnheader", name=name).get_by_role("link").click()
            expect(page.locator("th[aria-sort=ascending]")).to_contain_text(name)
            cells = page.locator(f"tbody td:nth-child({number})")
            assert cells.all_inner_texts() == sorted(cells.all_inner_texts())
            page.get_by_role("columnheader", name=name).get_by_role("link").click()
            expect(page.locator("th[aria-sort=descending]")).to_contain_text(name)
            assert cells.first.inner_text() == {"Host": "wiki.example", "Kind": "feed"}[name]
        page.set_viewport_size({"width": 1000, "height": 800})
        expect(page.get_by_role("columnheader", name="Host")).to_be_hidden()


def test_from_the_overview_to_why_a_page_waits(browser: Browser, lively: str) -> None:
    with reading(browser, lively) as page:
        worst = page.get_by_role("region", name="Hosts that waste most budget")
        worst.get_by_role("link", name="news.example").click()
        expect(page.get_by_label("Host")).to_have_value("news.example")
        page.get_by_role("link", name="https://news.example/items/").first.click()
        expect(page.get_by_role("region", name="Why is it visited when it is?")).to_contain_text(
            "A visit now is worth"
        )
        expect(page.get_by_role("img", name="Divergence from a copy over time")).to_be_visible()
        expect(page.get_by_role("img", name="Life times of sampled fragments")).to_be_visible()
        expect(page.get_by_role("img", name="Belief about the change rate")).to_be_visible()
        expect(page.get_by_role("img", name="Visits and signals over time")).to_be_visible()


def test_hostile_addresses_are_shown_and_not_obeyed(browser: Browser, lively: str) -> None:
    with reading(browser, lively) as page:
        page.goto(f"{lively}/pages?q=script")
        page.get_by_role("link", name="evil.example").first.click()
        expect(page.locator("h1")).to_contain_text("<script>window.hacked=1</script>")
        expect(page.locator("h1")).to_contain_text("{{7*7}}")
        page.goto(f"{lively}/pages?q=javascript:")
        page.get_by_role("link", name="javascript:window").click()
        expect(page.get_by_text("open the page itself")).to_have_count(0)
        page.goto(
            f"{lively}/pages?q=%22%3E%3Cscript%3Ewindow.hacked=1%3C/script%3E&host=%27%22%3Cimg%20src=x%20onerror=window.hacked=1%3E"
        )
        expect(page.get_by_label("Address contains")).to_have_value('"><script>window.hacked=1</script>')
        assert HOSTILE.startswith("http://evil.example")


#: Charts, by the page that they are on; those that are drawn have something in them.
CHARTS = {
    "/": (
        "Expected freshness over time, beside that of visiting all pages in turn",
        "Visits by what they found",
        "Fetches by what they were for",
        "Price of a visit over time",
        "Pages by the time between their changes",
        "Pages by the age of their copies",
        "Expected freshness in the long run at other budgets",
    ),
    "/pages/25": (
        "Visits and signals over time",
        "Divergence from a copy over time",
        "Life times of sampled fragments",
        "Belief about the change rate",
    ),
    "/signals": (
        "Precision and recall of signals",
        "Reliability of signals",
    ),
}


def has_marks(page: Page, title: str, marks: str = ".dot, .fill, .area, .line:not(.grid, .budget)") -> Any:
    """Whether a chart has dots, bars, areas or lines that can be seen, beside its axes."""
    return page.get_by_role("img", name=title, exact=True).evaluate(
        """(chart, marks) => [...chart.querySelectorAll(marks)].some((each) => {
            const box = each.getBBox(), style = getComputedStyle(each);
            const colours = [style.fill, style.stroke].filter((each) => each !== "none");
            return box.width + box.height > 1 && colours.length > 0;
        })""",
        marks,
    )


def test_charts_show_what_they_are_about(browser: Browser, lively: str) -> None:
    with reading(browser, lively) as page:
        for path, titles in CHARTS.items():
            page.goto(lively + path)
            for title in titles:
                assert has_marks(page, title), title
            if path == "/":
                legend = (
                    page.get_by_role("figure").filter(has_text="What the budget went to").get_by_role("list")
                )
                expect(legend).to_contain_text("discovery: polls of hubs")
                expect(legend).not_to_contain_text("others")
            if path == "/pages/25":
                for marks in (".area", ".dot.c3", ".line.c1", ".line.c7"):  # utility, visits, fit, bounds
                    assert has_marks(page, "Divergence from a copy over time", marks), marks
                expect(page.get_by_role("region", name="The fitted curve")).to_contain_text(
                    re.compile("churn|scroll")
                )


def test_the_overview_brings_itself_up_to_date(browser: Browser, lively_url: str) -> None:
    with served(lively_url) as (address, clock), reading(browser, address) as page:
        feed = page.get_by_role("region", name="Latest visits")
        expect(feed).not_to_contain_text("gone")
        with Store.open(lively_url) as store:
            (known,) = find_pages(store, "https://shop.example/items/4")
            gone = VisitRecord(page_id=known.page_id, at=NOW + 1, outcome=Outcome.GONE, http_status=404)
            store.save(SPIDER, Batch(visits=[gone]))
        clock.advance(5)
        expect(feed).to_contain_text("gone")


def test_the_theme_can_be_changed_and_is_remembered(browser: Browser, lively: str) -> None:
    def paper(page: Page) -> Any:
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    with reading(browser, lively, color_scheme="light") as page:
        light = paper(page)
        page.get_by_role("button", name="Change to the dark theme").click()
        dark = paper(page)
        page.goto(f"{lively}/hosts")
        assert paper(page) == dark != light
        page.get_by_role("button", name="Change to the light theme").click()
        assert paper(page) == light


def test_a_keyboard_is_enough(browser: Browser, lively: str) -> None:
    with reading(browser, lively) as page:
        page.goto(f"{lively}/pages")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Download CSV")).to_be_focused()


def test_times_are_told_in_the_readers_zone(browser: Browser, lively: str) -> None:
    with reading(browser, lively, timezone_id="Asia/Tokyo", locale="en-GB") as page:
        # 08:00:30 UTC on 15 January 2027 is the time of the dashboard's clock; visits come just before.
        expect(page.locator("td time").first).to_have_attribute("title", "15 Jan 2027, 17:00:10")
        figure = page.get_by_role("figure").filter(has_text="Price of a visit")
        figure.get_by_text("Numbers").click()
        expect(figure.locator("tbody tr").last).to_contain_text("15 Jan 2027, 1")
        page.goto(f"{lively}/pages/25")
        timeline = page.get_by_role("img", name="Visits and signals over time")
        expect(timeline.locator("title").first).to_have_text(re.compile(r"Jan 2027, \d\d:\d\d:\d\d$"))


def test_the_slider_tells_what_another_price_would_do(browser: Browser, lively: str) -> None:
    with reading(browser, lively) as page:
        page.goto(f"{lively}/sources")
        polled = page.locator("tbody td:nth-child(9)").first
        before = polled.inner_text()
        page.get_by_role("slider").fill("-6")
        expect(polled).not_to_have_text(before)
        expect(page).to_have_url(re.compile(r"step=-6$"))
        page.reload()
        expect(page.get_by_role("slider")).to_have_value("-6")
        expect(polled).not_to_have_text(before)


def test_hubs_are_told_with_what_their_polls_brought_also_those_that_have_ended(
    browser: Browser, lively: str
) -> None:
    with reading(browser, lively) as page:
        page.goto(f"{lively}/sources")
        expect(page.get_by_role("row", name="news.example/latest")).to_contain_text(
            re.compile(r"active.*12\s*31 new links", re.DOTALL)
        )
        expect(page.get_by_role("row", name=RETIRED)).to_contain_text(
            re.compile(r"retired.*12\s*2 new links", re.DOTALL)
        )
        expect(page.locator(".tiles")).to_contain_text("1 retired")


def test_a_replay_can_be_stopped_and_may_die(browser: Browser, lively: str) -> None:
    with reading(browser, lively) as page:
        page.goto(f"{lively}/policies")
        page.get_by_role("button", name="Replay").click()
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_role("alert")).to_have_text("The last replay has no result: It was stopped.")
        page.get_by_role("button", name="Replay").click()
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
        for process in multiprocessing.active_children():
            process.kill()
        expect(page.get_by_role("alert")).to_contain_text("has ended before its time")


def test_other_policies_are_tried_in_the_background(browser: Browser, lively: str) -> None:
    with reading(browser, lively) as page:
        page.goto(f"{lively}/policies")
        for box in page.get_by_role("checkbox").all():
            box.set_checked(False)
        page.get_by_role("checkbox", name="uniform").check()
        page.get_by_role("checkbox", name="optimum").check()
        page.get_by_role("group", name="Budgets").get_by_role("checkbox", name="1", exact=True).check()
        page.get_by_role("button", name="Replay").click()
        expect(page.get_by_role("img", name="Freshness over the budget, by policy")).to_be_visible(
            timeout=120_000
        )
        assert has_marks(page, "Freshness over the budget, by policy")
        page.get_by_text("Numbers").click()
        expect(page.locator("tbody")).to_contain_text("uniform")
        page.screenshot(path=SCREENSHOTS / "policies-replayed.png", full_page=True)
