"""Feeds of all kinds say which pages are new and which have changed; nothing else in them is looked at."""

import json
import subprocess
import sys
from pathlib import Path

import feedparser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sources import NAMESPACE, SITE, read

from scrapy_freshness.signals.contract import Entry, Kind, Limits, Link, Oddity, Relation
from scrapy_freshness.signals.thin_feed import thin_feed

FEED_URL = f"{SITE}/blog/feed"
AT = 1_794_888_306.0
DATE = "Tue, 17 Nov 2026 04:05:06 GMT"
ISO_DATE = "2026-11-17T04:05:06Z"


def rss(*items: str, head: str = "", attributes: str = 'version="2.0"') -> str:
    inside = "".join(f"<item>{item}</item>" for item in items)
    return f'<?xml version="1.0"?><rss {attributes}><channel><title>A</title>{head}{inside}</channel></rss>'


def atom(*entries: str, head: str = "") -> str:
    inside = "".join(f"<entry>{entry}</entry>" for entry in entries)
    return f'<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title>{head}{inside}</feed>'


def json_feed(*items: object, version: str = "1.1", **more: object) -> str:
    return json.dumps({"version": f"https://jsonfeed.org/version/{version}", "items": items, **more})


def only(body: str | bytes) -> Entry:
    (entry,), findings = read(body, FEED_URL)
    assert findings.kind in (Kind.FEED, Kind.JSON_FEED)
    return entry


RDF = f"""<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
    <channel rdf:about="{SITE}/"><link>{SITE}/</link>
    <items><rdf:Seq><rdf:li resource="{SITE}/1"/></rdf:Seq></items></channel>
    <item rdf:about="{SITE}/1"><title>One</title><link>{SITE}/1</link><dc:date>{ISO_DATE}</dc:date></item>
    </rdf:RDF>"""
RSS_090 = f"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    xmlns="http://my.netscape.com/rdf/simple/0.9/"><channel><title>A</title><link>{SITE}/</link></channel>
    <item><title>One</title><link>{SITE}/1</link></item></rdf:RDF>"""
PUBLISHED = {
    "RSS 2.0": rss(f"<link>{SITE}/1</link><pubDate>{DATE}</pubDate>"),
    "RSS 0.91": "<!DOCTYPE rss PUBLIC '-//Netscape//DTD RSS 0.91//EN' 'http://my.netscape.com/rss-0.91.dtd'>"
    + rss(f"<link>{SITE}/1</link><pubDate>{DATE}</pubDate>", attributes='version="0.91"')[21:],
    "RSS without version": rss(f"<link>{SITE}/1</link><pubDate>{DATE}</pubDate>", attributes=""),
    "Atom": atom(f'<link href="{SITE}/1"/><id>urn:1</id><published>{ISO_DATE}</published>'),
    "Atom 0.3": '<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry>'
    f'<link rel="alternate" type="text/html" href="{SITE}/1"/><issued>{ISO_DATE}</issued></entry></feed>',
    "JSON Feed": json_feed({"id": "1", "url": f"{SITE}/1", "date_published": ISO_DATE}),
}  # fmt: skip
CHANGED = {
    "RDF": RDF,
    "Atom": atom(f'<link href="{SITE}/1"/><id>urn:1</id><updated>{ISO_DATE}</updated>'),
    "Atom, link to itself first": atom(
        f'<link rel="self" href="/a"/><link rel="alternate" href="{SITE}/1"/><updated>{ISO_DATE}</updated>'
    ),
    "JSON Feed 1": "\ufeff" + json_feed({"id": f"{SITE}/1", "date_modified": ISO_DATE}, version="1"),
}  # fmt: skip


@pytest.mark.parametrize("body", PUBLISHED.values(), ids=PUBLISHED.keys())
def test_a_feed_says_when_a_page_was_published(body: str) -> None:
    entry = only(body)

    assert (entry.url, entry.changed, entry.published) == (f"{SITE}/1", None, (AT, 1.0))


@pytest.mark.parametrize("body", CHANGED.values(), ids=CHANGED.keys())
def test_a_feed_says_when_a_page_has_changed(body: str) -> None:
    entry = only(body)

    assert (entry.url, entry.changed, entry.published) == (f"{SITE}/1", (AT, 1.0), None)


def test_the_oldest_feeds_have_no_dates() -> None:
    assert only(RSS_090) == Entry(f"{SITE}/1", key=f"{SITE}/1")


def test_the_later_date_counts() -> None:
    entry = only(atom(f"<link href='/1'/><published>2026-11-01</published><updated>{ISO_DATE}</updated>"))

    assert entry.latest == (AT, 1.0)


@pytest.mark.parametrize(
    "head",
    [
        "<source><id>urn:b</id><link href='https://b.example/'/><updated>2001-01-01</updated></source>",
        "<content type='xhtml'><div><link href='https://b.example/'/><id>2</id></div></content>",
        "<a:object xmlns:a='b'><id>urn:b</id><link href='https://b.example/'/></a:object>",
        "<author><name>B</name><uri>https://b.example/</uri></author>",
        "<!-- <link href='https://b.example/'/> -->",
        "<summary><![CDATA[<link>https://b.example/</link>]]></summary>",
        "<link rel='enclosure' href='https://b.example/1.mp3'/>",
        "<link rel='replies' href='https://b.example/comments'/>",
        "<title>a > b</title>",
    ],
)  # fmt: skip
def test_what_belongs_to_something_else_is_not_the_link_of_the_entry(head: str) -> None:
    link = f"<link title='a > b' href='{SITE}/1'/>"
    for body in (f"{head}{link}<id>urn:1</id>", f"{link}<id>urn:1</id>{head}"):
        entry = only(atom(f"{body}<updated>{ISO_DATE}</updated>"))

        assert (entry.url, entry.key, entry.changed) == (f"{SITE}/1", "urn:1", (AT, 1.0))


ITEMS = {
    "link": ("<link>https://a.example/1</link>", f"{SITE}/1", f"{SITE}/1"),
    "relative link": ("<link>../1</link><guid isPermaLink='false'>g</guid>", f"{SITE}/1", "g"),
    "permalink": ("<guid>https://a.example/1</guid>", f"{SITE}/1", f"{SITE}/1"),
    "link and guid": (
        "<guid isPermaLink='true'>https://a.example/g</guid><link>/1</link>",
        f"{SITE}/1",
        f"{SITE}/g",
    ),
    "CDATA": ("<link><![CDATA[https://a.example/?a&b]]></link>", f"{SITE}/?a&b", f"{SITE}/?a&b"),
    "entity": ("<link>https://a.example/?a&amp;b</link>", f"{SITE}/?a&b", f"{SITE}/?a&b"),
    "bare ampersand": ("<link>https://a.example/?a=1&b=2</link>", f"{SITE}/?a=1&b=2", f"{SITE}/?a=1&b=2"),
    "white space": ("<link>\n https://a.example/1\n</link>", f"{SITE}/1", f"{SITE}/1"),
    "not ASCII": ("<link>https://a.example/ü</link>", f"{SITE}/ü", f"{SITE}/ü"),
    "feedburner": (
        "<link>https://feeds.example/~r/1</link><feedburner:origLink>https://a.example/1</feedburner:origLink>",
        f"{SITE}/1",
        f"{SITE}/1",
    ),
}


@pytest.mark.parametrize(("item", "url", "key"), ITEMS.values(), ids=ITEMS.keys())
def test_the_link_of_an_item(item: str, url: str, key: str) -> None:
    spaces = 'version="2.0" xmlns:feedburner="http://rssnamespace.org/feedburner/ext/1.0"'
    entry = only(rss(item, attributes=spaces))

    assert (entry.url, entry.key) == (url, key)


def test_xml_base_is_where_relative_links_start() -> None:
    entry = only(
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/c/"><entry><link href="1"/></entry></feed>'
    )

    assert entry.url == f"{SITE}/c/1"


@pytest.mark.parametrize(
    "item",
    ["<title>A</title>", "<guid>123</guid>", "<guid isPermaLink='false'>https://a.example/1</guid>",
     "<link/>", "<enclosure url='https://a.example/1.mp3'/>"],
)  # fmt: skip
def test_an_entry_without_a_link_is_left_out_and_counted(item: str) -> None:
    entries, findings = read(rss(item, f"<link>{SITE}/1</link>"), FEED_URL)

    assert [entry.url for entry in entries] == [f"{SITE}/1"]
    assert findings.oddities == {Oddity.NO_LINK: 1}


TTL = "<ttl>90</ttl>"
PERIOD = '<sy:updatePeriod xmlns:sy="http://purl.org/rss/1.0/modules/syndication/">hourly</sy:updatePeriod>'
FREQUENCY = PERIOD.replace("updatePeriod", "updateFrequency").replace("hourly", "4")


@pytest.mark.parametrize(
    ("head", "seconds"),
    [
        (TTL, 5400.0),
        (PERIOD, 3600.0),
        (TTL + PERIOD + FREQUENCY, 900.0),
        (TTL + PERIOD.replace("hourly", "at times") + FREQUENCY, 5400.0),
        ("", None),
        ("<ttl>soon</ttl>", None),
        ("<ttl>-5</ttl>", None),
        ("<ttl>0</ttl>", None),
    ],
)
def test_a_feed_says_how_often_it_is_updated(head: str, seconds: float | None) -> None:
    assert read(rss(head=head), FEED_URL)[1].update_seconds == seconds


HUBBED = {
    "RSS": rss(
        head="<a:link rel='hub' href='https://hub.example/'/><a:link rel='self' href='/feed'/><link>/</link>",
        attributes='xmlns:a="http://www.w3.org/2005/Atom"',
    ),
    "Atom": atom(
        head="<link rel='hub' href='https://hub.example/'/><link rel='self' href='/feed'/><link href='/'/>"
    ),
    "JSON Feed": json_feed(
        feed_url="/feed",
        home_page_url="/",
        hubs=[{"type": "WebSub", "url": "https://hub.example/"}, {"type": "rssCloud", "url": "/x"}, 5],
    ),
}


@pytest.mark.parametrize("body", HUBBED.values(), ids=HUBBED.keys())
def test_a_feed_names_its_hub_its_topic_and_the_page_that_it_belongs_to(body: str) -> None:
    assert set(read(body, FEED_URL)[1].links) == {
        Link(Relation.HUB, "https://hub.example/"),
        Link(Relation.SELF, f"{SITE}/feed"),
        Link(Relation.HOME, f"{SITE}/"),
    }


def test_a_feed_with_hubs_without_end_names_some() -> None:
    head = "".join(f"<link rel='hub' href='https://hub.example/{number}'/>" for number in range(1000))

    assert len(read(atom(head=head * 2), FEED_URL)[1].links) == 20


BOZO = {
    "cut": rss(f"<link>{SITE}/1</link>", "<link>https://a.ex")[:-30],
    "undefined entity": rss(f"<link>{SITE}/1</link><guid>&nbsp;</guid>"),
    "wrong end tags": rss(f"<link>{SITE}/1</guid></link></item></channel>"),
    "undeclared prefix": rss(f"<link>{SITE}/1</link><dc:date>2026</dc:date>"),
}


@pytest.mark.parametrize("body", BOZO.values(), ids=BOZO.keys())
def test_a_broken_feed_is_used_as_far_as_it_goes(body: str) -> None:
    entries, findings = read(body, FEED_URL)

    assert entries[0].url == f"{SITE}/1"
    assert findings.oddities[Oddity.BROKEN] == 1


def test_a_feed_that_feedparser_fails_on_is_broken() -> None:
    body = rss(f"<link>{SITE}/&#99999999999;</link>")
    with pytest.raises((ValueError, OverflowError)):
        feedparser.parse(body.encode())
    entries, findings = read(body, FEED_URL)

    assert entries == []
    assert findings.oddities == {Oddity.BROKEN: 1}


def test_a_date_that_cannot_be_read_is_not_invented() -> None:
    entries, findings = read(rss("<link>/1</link><pubDate>2026-november-17T04:05+00:00</pubDate>"), FEED_URL)

    assert entries[0].published is None
    assert findings.oddities[Oddity.BAD_DATE] == 1


def test_a_feed_that_is_too_long_is_cut() -> None:
    body = rss(*(f"<link>{SITE}/{number}</link>" for number in range(100)))
    entries, findings = read(body, FEED_URL, limits=Limits(feed_bytes=1000))

    assert 10 < len(entries) < 50
    assert findings.oddities == {Oddity.TOO_LARGE: 1, Oddity.BROKEN: 1}


def test_encodings_of_feeds_are_found_out() -> None:
    for encoding in ("iso-8859-1", "utf-16", "utf-8-sig", "windows-1252"):
        head = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>'
        body = head + rss(f"<link>{SITE}/ü</link>")[21:]

        assert only(body.encode(encoding)).url == f"{SITE}/ü"


def test_entities_of_a_document_type_are_not_expanded() -> None:
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    body = f'<!DOCTYPE rss [<!ENTITY a0 "lol">{entities}<!ENTITY x SYSTEM "file:///etc/passwd">]>' + rss(
        f"<link>{SITE}/1</link><guid isPermaLink='false'>&a9;&x;</guid>"
    )
    entry = only(body)

    assert entry.url == f"{SITE}/1"
    assert len(entry.key) < 20


@pytest.mark.parametrize(
    "name", ["/etc/hostname", "http://127.0.0.1:1/feed", "file:///etc/hostname", "feed.xml"]
)
def test_bytes_that_look_like_a_name_are_not_opened(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("feed.xml").write_text(rss(f"<link>{SITE}/1</link>"))

    assert read(name, FEED_URL)[0] in ([], [Entry(name, key=name, is_foreign=True)])


def test_reading_a_feed_opens_no_file_and_no_connection() -> None:
    """In a process of its own, where everything that is opened is reported by the interpreter itself."""
    script = f"""
import sys
import feedparser
from scrapy_freshness.signals.reading import read_source

def refuse(event, arguments):
    if event in ("open", "socket.connect", "socket.getaddrinfo", "urllib.Request"):
        raise SystemExit(f"{{event}} {{arguments}}")

def names(body):
    return [entry.url for piece in read_source(body, "{FEED_URL}", now=2e9) for entry in piece]

names({rss("<link>/0</link>").encode()!r})  # imports what is imported late
sys.addaudithook(refuse)
print(names({rss("<link>/1</link>").encode()!r}))
print(names(b"<rss>http://127.0.0.1/"), names(b"<rss>/etc/hostname"))
print(names(b'<!DOCTYPE rss SYSTEM "http://127.0.0.1/a.dtd"><rss xml:base="http://127.0.0.1/"><item/></rss>'))
print(names(b'<!DOCTYPE a [<!ENTITY x SYSTEM "/etc/hostname">]><urlset><url><loc>http://a/&x;</loc></url></urlset>'))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert done.stdout.splitlines() == [f"['{SITE}/1']", "[] []", "[]", "['http://a/&x;']"], done.stderr


def test_json_that_is_no_feed_is_no_source() -> None:
    for body in (
        '{"items": []}',
        '{"version": 1, "items": []}',
        "{",
        '{"version": "https://jsonfeed.org/version/1"',
    ):
        assert read(body, FEED_URL)[1].kind is Kind.UNKNOWN


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.just(ISO_DATE)
    | st.just("/x"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["id", "url", "date_published", "date_modified", "external_url"]), JSON),
    JSON,
)
def test_no_json_feed_is_an_error(item: dict[str, object], hubs: object) -> None:
    assert read(json_feed(item, hubs, hubs=hubs, feed_url=hubs), FEED_URL)[1].kind is Kind.JSON_FEED


TITLES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="<>&]"), max_size=10
)
NOISE = st.sampled_from(
    ["<category>a</category>", "<description><![CDATA[<p>&nbsp;</p>]]></description>", "<x:y><z/></x:y>",
     "<!-- a -->", "<enclosure url='/a.mp3'/>", "<content:encoded>a &lt;b&gt;</content:encoded>",
     "<author>a@b.example</author>"]
)  # fmt: skip


@given(st.lists(st.tuples(TITLES, st.lists(NOISE, max_size=4), st.integers(631_152_000, 1_794_900_000))))
def test_feedparser_finds_the_same_in_the_whole_feed_as_in_the_thin_one(
    items: list[tuple[str, list[str], int]],
) -> None:
    body = rss(
        *(
            f"{''.join(noise)}<title>{title}</title><link>{SITE}/{number}</link>{''.join(noise)}<dc:date>{at}</dc:date>"
            for number, (title, noise, at) in enumerate(items)
        ),
        attributes='version="2.0" xmlns:x="x" xmlns:content="http://purl.org/rss/1.0/modules/content/"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/"',
    )
    thin, is_whole = thin_feed(body)
    found = [
        feedparser.parse(each.encode(), response_headers={"content-type": "application/xml"})
        for each in (body, thin)
    ]

    assert is_whole
    assert not found[1].bozo
    assert [[(dict.get(e, "link"), dict.get(e, "updated")) for e in each.entries] for each in found] == [
        [(f"{SITE}/{number}", str(at)) for number, (_, _, at) in enumerate(items)]
    ] * 2
    assert "description" not in thin


def test_a_feed_of_a_sitemap_namespace_is_still_a_sitemap() -> None:
    assert read(f'<urlset xmlns="{NAMESPACE}"/>', FEED_URL)[1].kind is Kind.SITEMAP
