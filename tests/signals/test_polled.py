"""One answer of a source against the one before: signals, new pages, sitemaps to be read in turn."""

from email.utils import formatdate

from scrapy_freshness.signals.contract import Kind
from scrapy_freshness.signals.poll import Verdict
from scrapy_freshness.signals.polled import Said, read_poll

NOW = 1_800_000_000.0
DAY = 86_400.0
HOME = "http://a.example"


def sitemap(dates: dict[str, str], *, tag: str = "url") -> bytes:
    root = "urlset" if tag == "url" else "sitemapindex"
    entries = "".join(
        f"<{tag}><loc>{url}</loc><lastmod>{date}</lastmod></{tag}>" for url, date in dates.items()
    )
    return f"<{root}>{entries}</{root}>".encode()


def dated(n_pages: int = 20, **later: int) -> bytes:
    """A sitemap of pages that changed on different days; some of them so many seconds before now."""
    dates = {f"{HOME}/{number}": formatdate(NOW - (30 + number) * DAY) for number in range(n_pages)}
    return sitemap(dates | {f"{HOME}/{name[1:]}": formatdate(NOW - ago) for name, ago in later.items()})


def test_the_first_answer_has_dates_to_believe_and_no_pages_beside() -> None:
    polled = read_poll(dated(), f"{HOME}/s.xml", before=b"", now=NOW)

    assert polled.verdict is Verdict.USABLE
    assert len(polled.signals) == 20
    assert polled.pages == []
    assert polled.signals[0] == Said(f"{HOME}/0", NOW - 30 * DAY + 1, is_new=True)


def test_a_date_that_moved_is_a_signal_and_all_others_are_silent() -> None:
    first = read_poll(dated(), f"{HOME}/s.xml", before=b"", now=NOW - DAY)
    second = read_poll(dated(p7=60), f"{HOME}/s.xml", before=first.seen, now=NOW)

    assert [(said.url, said.is_new) for said in second.signals] == [(f"{HOME}/7", False)]
    assert read_poll(dated(p7=60), f"{HOME}/s.xml", before=second.seen, now=NOW).signals == []


def test_a_day_without_a_time_may_mean_its_end_but_not_the_future() -> None:
    body = sitemap({f"{HOME}/a": "2027-01-15"})  # the day that began eight hours before NOW
    (said,) = read_poll(body, f"{HOME}/s.xml", before=b"", now=NOW).signals

    assert said.claimed_at == NOW


def test_dates_that_all_are_the_same_are_no_signals_but_name_pages() -> None:
    body = sitemap({f"{HOME}/{number}": "2026-11-11" for number in range(20)})
    polled = read_poll(body, f"{HOME}/s.xml", before=b"", now=NOW)

    assert polled.verdict is Verdict.SAME
    assert (len(polled.signals), len(polled.pages)) == (0, 20)


def test_an_index_names_sitemaps_even_on_other_hosts() -> None:
    body = sitemap({"http://cdn.example/a.xml": "2026-11-11"}, tag="sitemap")
    polled = read_poll(body, f"{HOME}/s.xml", before=b"", now=NOW)

    assert polled.findings.kind is Kind.SITEMAP_INDEX
    assert [said.url for said in polled.sitemaps] == ["http://cdn.example/a.xml"]
    assert (polled.signals, polled.pages) == ([], [])


def test_pages_of_other_hosts_are_left_out_unless_they_name_the_source() -> None:
    body = sitemap({"http://b.example/a": "2026-11-11"})

    assert read_poll(body, f"{HOME}/s.xml", before=b"", now=NOW).signals == []
    vouched = read_poll(body, f"{HOME}/s.xml", before=b"", now=NOW, hosts={"b.example"})
    assert len(vouched.signals) == 1


def test_an_entry_of_a_feed_without_a_date_is_news_unless_it_is_the_first_poll() -> None:
    def feed(*names: str) -> bytes:
        items = "".join(f"<item><link>{HOME}/{name}</link></item>" for name in names)
        return f"<rss><channel>{items}</channel></rss>".encode()

    first = read_poll(feed("a"), f"{HOME}/f", before=b"", now=NOW)
    second = read_poll(feed("b", "a"), f"{HOME}/f", before=first.seen, now=NOW)

    assert first.is_feed
    assert (first.signals, [said.url for said in first.pages]) == ([], [f"{HOME}/a"])
    assert (second.signals, second.pages) == ([Said(f"{HOME}/b", is_new=True)], [])


def test_memories_that_cannot_be_read_are_none() -> None:
    assert len(read_poll(dated(), f"{HOME}/s.xml", before=b"damaged", now=NOW).signals) == 20
