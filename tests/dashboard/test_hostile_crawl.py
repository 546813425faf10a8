"""A crawl whose spiders, hosts, pages and sources have names that want to be run, and a door before it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from hostile_web import fill_hostile
from playwright.sync_api import Browser, expect
from reading import reading
from serving import served

from scrapy_freshness.dashboard.security import Door

SCREENSHOTS = Path(__file__).parent / "screenshots"
PATHS = ("/", "/pages", "/pages/1", "/hosts", "/sources", "/signals", "/policies")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard over a crawl whose names want to be run, and would let themselves be acted on."""
    url = f"sqlite:///{tmp_path_factory.mktemp('hostile') / 'freshness.db'}"
    fill_hostile(url)
    with served(url, Door("0.0.0.0", "let-me-in"), may_act=True) as (address, _):
        yield address


def test_hostile_names_are_shown_everywhere_and_obeyed_nowhere(browser: Browser, hostile: str) -> None:
    with reading(browser, f"{hostile}/?token=let-me-in", hostile) as page:
        for path in PATHS:
            page.goto(hostile + path)
            expect(page.locator("body")).to_contain_text("<script>window.hacked=1</script>")
            expect(page.locator("header")).to_contain_text("<script>window.hacked=1</script>")  # the spiders
            assert page.locator("main :is(script, img, [onerror])").count() == 0, path
            expect(page.locator("body")).not_to_contain_text(">49'")


def test_who_has_the_token_can_ask_something_of_the_crawl(browser: Browser, hostile: str) -> None:
    with reading(browser, f"{hostile}/static/icon.svg", hostile, expected="401") as page:
        page.goto(f"{hostile}/pages/1")
        expect(page).to_have_title("Token · Freshness")
        page.get_by_label("Token").fill("open sesame")
        page.get_by_role("button", name="Open").click()
        expect(page.get_by_role("alert")).to_have_text("That is not the token.")
        page.screenshot(path=SCREENSHOTS / "token.png", full_page=True)
        assert Axe().run(page).violations_count == 0
        page.get_by_label("Token").fill("let-me-in")
        page.get_by_role("button", name="Open").click()
        expect(page).to_have_title("Overview · Freshness")

        page.goto(f"{hostile}/pages/1")
        page.get_by_role("button", name="Visit now").click()
        expect(page.get_by_role("status").first).to_contain_text("A visit was asked for")
        page.get_by_label("every", exact=True).fill("2h")
        page.get_by_role("button", name="Pin this interval").click()
        expect(page.get_by_role("button", name="Let it loose")).to_be_visible()
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.get_by_role("button", name="Forget this page").click()
        expect(page.get_by_role("status").first).to_have_text("The interval is pinned.")
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Forget this page").click()
        expect(page.get_by_role("status").first).to_contain_text("asked to forget this page")
        found = Axe().run(page)
        page.screenshot(path=SCREENSHOTS / "actions.png", full_page=True)
        assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("is_secure", [True, False])
def test_the_whole_of_a_long_command_is_copied_or_selected(
    browser: Browser, hostile: str, is_secure: bool
) -> None:
    """Over http from another machine, a page must not copy."""
    with reading(browser, f"{hostile}/?token=let-me-in", hostile, permissions=["clipboard-write"]) as page:
        if not is_secure:
            page.add_init_script("delete Navigator.prototype.clipboard")
        page.goto(f"{hostile}/pages/1")
        button = page.get_by_role("button", name="Copy: Visit it now")
        button.click()
        expect(button).to_have_text("Copied" if is_secure else "Selected")
        selected = page.evaluate("document.getSelection().toString()")

        assert selected == ("" if is_secure else button.get_attribute("data-copy"))
