"""Sources are found where sites name them: robots.txt, links of pages, headers."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sources import SITE, read

from scrapy_freshness.signals.contract import Kind, Link, Relation, Role
from scrapy_freshness.signals.discovery import header_sources, page_links, robots_sitemaps, usual_sitemaps
from scrapy_freshness.signals.link_header import header_links

PAGE = "https://a.example/b/c"
ROBOTS = "https://a.example/robots.txt"
FEED = Link(Relation.FEED, "https://a.example/feed")


@pytest.mark.parametrize(
    "body",
    [
        b"Sitemap: https://a.example/s.xml",
        b"\xef\xbb\xbfSitemap: https://a.example/s.xml\r\nUser-agent: *\r\nDisallow: /\r\n",
        b"User-agent: *\nDisallow: /\n\nSITEMAP:https://a.example/s.xml",
        b"User-agent: *\r  sitemap : https://a.example/s.xml  # ours\rDisallow:",
        b"Sitemap: /s.xml",
        b"Sitemap: s.xml",
        b"Sitemap:\tHTTPS://a.example/s.xml\n" * 3,
        b"\xff\xfe junk \x00\nSitemap: //a.example/s.xml\n",
    ],
)
def test_robots_txt_names_a_sitemap(body: bytes) -> None:
    assert robots_sitemaps(body, ROBOTS) == ["https://a.example/s.xml"]


@pytest.mark.parametrize(
    "body",
    [b"", b"# Sitemap: /s.xml", b"Sitemap:", b"Sitemap: # none", b"Sitemap: ftp://a.example/s.xml",
     b"Disallow: /Sitemap: /s.xml", b"Sitemaps: /s.xml", b"Sitemap:\n/s.xml", b"<p>Sitemap: /s.xml</p>"],
)  # fmt: skip
def test_robots_txt_names_no_sitemap(body: bytes) -> None:
    assert robots_sitemaps(body, ROBOTS) == []


def test_several_sitemaps_keep_their_order_and_other_hosts_are_named_too() -> None:
    body = b"Sitemap: /b.xml\nSitemap: https://cdn.example/a.xml\nSitemap: /b.xml"

    assert robots_sitemaps(body, ROBOTS) == ["https://a.example/b.xml", "https://cdn.example/a.xml"]


def test_a_robots_txt_without_end_costs_little() -> None:
    assert len(robots_sitemaps(b"".join(b"Sitemap: /%d.xml\n" % n for n in range(100_000)), ROBOTS)) == 100


def test_the_usual_sitemaps_are_on_the_same_host() -> None:
    found = usual_sitemaps("http://a.example:8080/x/y?z")

    assert found[0] == "http://a.example:8080/sitemap.xml"
    assert all(url.startswith("http://a.example:8080/") for url in found)
    assert len(set(found)) == len(found)


HTML = {
    "RSS": b'<link rel="alternate" type="application/rss+xml" title="A > B" href="/feed">',
    "Atom": b"<LINK REL=alternate TYPE='application/atom+xml; charset=utf-8' HREF=/feed />",
    "JSON Feed": b'<link href="/feed" type="application/feed+json" rel="home alternate">',
    "JSON Feed 1": b'<link href="/feed" type="application/json" rel="alternate">',
    "relative": b'<link href="../feed" type="application/rss+xml" rel="alternate">',
    "base": b'<base href="/x/"><link href="../feed" type="application/rss+xml" rel="alternate">',
    "entity": b'<link href="/f&#101;ed" type="application/rss+xml" rel="alternate">',
    "after scripts": b"<script>if (a < b) '<link rel=hub href=/x>'</script><title><link></title>"
    b'<link href="/feed" type="application/rss+xml" rel="alternate">',
    "twice": b'<link href="/feed" type="application/rss+xml" rel="alternate">' * 2,
}


@pytest.mark.parametrize("html", HTML.values(), ids=HTML.keys())
def test_a_page_names_its_feed(html: bytes) -> None:
    assert page_links(b"<!doctype html><head>" + html + b"</head><p>text", PAGE) == [FEED]


def test_a_page_names_its_hub_topic_and_sitemap() -> None:
    html = b"<link rel=hub href=https://hub.example/><link rel=self href=''><link rel=sitemap href=/s.xml>"

    # An empty address is none: the topic is not guessed.
    assert page_links(html, PAGE) == [
        Link(Relation.HUB, "https://hub.example/"),
        Link(Relation.SITEMAP, "https://a.example/s.xml"),
    ]


@pytest.mark.parametrize(
    "html",
    [
        b"",
        b"<link rel=stylesheet type=text/css href=/a.css>",
        b'<link rel="alternate" hreflang="de" href="/de">',
        b'<link rel="alternate" type="application/json" href="/wp-json/wp/v2/posts/1">',
        b'<link rel="alternate" type="application/rss+xml">',
        b'<!-- <link rel="hub" href="/hub"> -->',
        b'<script>\'<link rel="hub" href="/hub">\'</script>',
        b"<noscript><link rel=hub href=/hub></noscript>",
        b"<textarea><link rel=hub href=/hub></textarea>",
        b'<link rel="hub" href="javascript:alert(1)">',
        b"<script><link rel=hub href=/hub>",
        b"<linkrel=hub href=/hub>",
    ],
)
def test_a_page_names_no_source(html: bytes) -> None:
    assert page_links(html, PAGE) == []


def test_a_tag_of_thousands_of_attributes_is_passed_over() -> None:
    tag = b"<link rel=hub href=/hub " + b" ".join(b"a%d" % number for number in range(40_000)) + b">"
    begun = time.thread_time()

    assert page_links(tag + HTML["RSS"], PAGE) == [FEED]
    assert time.thread_time() - begun < 1


PIECES = [
    b"<link ",
    b"rel=",
    b"hub",
    b"'",
    b'"',
    b">",
    b"<",
    b"href=/",
    b"<!--",
    b"-->",
    b"<script>",
    b"</script>",
]


@given(st.lists(st.sampled_from([*PIECES, b"<base ", b"\xff", b"\0", b" ", b"/>"])))
def test_no_page_is_an_error(parts: list[bytes]) -> None:
    page_links(b"".join(parts), PAGE)


# From the examples and the prose of RFC 8288, and from servers.
HEADERS = {
    '<http://a.example/>; rel="next"; title="a, b; c"': [("http://a.example/", ("next",))],
    "</a>; rel=next, </b>; rel=prev": [("/a", ("next",)), ("/b", ("prev",))],
    "</a>;rel=next,</b>;rel=prev": [("/a", ("next",)), ("/b", ("prev",))],
    '</a>; rel="start http://a.example/rel"': [("/a", ("start", "http://a.example/rel"))],
    "</a>; rel=next; rel=prev": [("/a", ("next",))],
    "</a>; REL=Next": [("/a", ("next",))],
    "</a> ; rel = next": [("/a", ("next",))],
    "<>; rel=self": [("", ("self",))],
    "</a,b>; rel=next": [("/a,b", ("next",))],
    "</a;b>": [("/a;b", ())],
    r'</a>; title="x\"y, <z>"; rel=next': [("/a", ("next",))],
    "</a>; crossorigin; rel=next": [("/a", ("next",))],
    ", ,</a>; rel=next,,": [("/a", ("next",))],
    "</a>; rel=next junk, </b>; rel=prev": [("/a", ("next",)), ("/b", ("prev",))],
    '</a>; rel="next': [("/a", ("next",))],
    "</a>; rel*=UTF-8''x; title*=UTF-8'de'n%c3%a4chstes; rel=next": [("/a", ("next",))],
    "junk": [],
    "</a": [],
    "": [],
}


@pytest.mark.parametrize(("value", "expected"), HEADERS.items(), ids=HEADERS.keys())
def test_links_of_a_header(value: str, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    assert [(link.target, link.relations) for link in header_links(value)] == expected


def test_quoted_parameters_are_unquoted() -> None:
    (link,) = header_links(r'</a>; title="a \"b\" \\ c, d"')

    assert link.parameters == {"title": r'a "b" \ c, d'}


def test_headers_name_feeds_hubs_and_topics() -> None:
    values = [
        '<https://hub.example/>; rel="hub", </feed>; rel="alternate"; type="application/rss+xml"',
        "<>; rel=self",
    ]

    assert header_sources(values, PAGE) == [
        Link(Relation.HUB, "https://hub.example/"),
        FEED,
        Link(Relation.SELF, PAGE),
    ]


def test_a_header_about_another_page_is_passed_over() -> None:
    assert header_sources(['</hub>; rel=hub; anchor="/other"'], PAGE) == []


TOKENS = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
QUOTED = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=10)


@given(
    st.lists(
        st.tuples(st.from_regex(r"/[a-z,;=]{0,9}", fullmatch=True), st.lists(TOKENS, min_size=1), QUOTED)
    )
)
def test_what_is_written_as_a_link_header_is_read(links: list[tuple[str, list[str], str]]) -> None:
    written = ", ".join(
        '<{}>; title="{}"; rel="{}"'.format(
            target, title.replace("\\", "\\\\").replace('"', '\\"'), " ".join(relations)
        )
        for target, relations, title in links
    )
    found = [(link.target, list(link.relations), link.parameters["title"]) for link in header_links(written)]

    assert found == links


@given(st.text(st.sampled_from('<>;,="\\ abrel')) | st.text())
def test_no_link_header_is_an_error(value: str) -> None:
    header_sources([value], PAGE)


def test_a_robots_txt_is_a_source_if_it_names_sitemaps() -> None:
    entries, findings = read(f"Sitemap: /map.xml\nSitemap: http://cdn.example/map.xml\n{PAGE}", ROBOTS)

    assert [(entry.url, entry.role) for entry in entries] == [
        (f"{SITE}/map.xml", Role.SITEMAP),
        ("http://cdn.example/map.xml", Role.SITEMAP),
    ]
    assert findings.kind is Kind.ROBOTS
    assert read("User-agent: *\nDisallow: /", ROBOTS)[1].kind is Kind.UNKNOWN
