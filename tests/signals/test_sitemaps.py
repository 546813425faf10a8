"""Sitemaps are read as they are meant: right ones, wrong ones, and as far as they go."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sources import NAMESPACE, NOW, SITE, SITEMAP_URL, dated, read, urls, urlset

from scrapy_freshness.signals import plain
from scrapy_freshness.signals.contract import Kind, Limits, Oddity, Role
from scrapy_freshness.signals.reading import read_source

ONE = f"<loc>{SITE}/1</loc>"
DAY = 86_400.0


def test_a_sitemap_names_pages_with_the_dates_of_their_changes() -> None:
    entries, findings = read(urlset(dated(1, "2026-11-16"), dated(2, "2026-11-17T04:05:06Z"), ONE))

    assert [entry.url for entry in entries] == [f"{SITE}/1", f"{SITE}/2", f"{SITE}/1"]
    assert [entry.changed for entry in entries] == [(1794787200.0, DAY), (1794888306.0, 1.0), None]
    assert findings.kind is Kind.SITEMAP
    assert findings.is_complete
    assert not findings.oddities


def test_an_index_names_sitemaps_with_the_dates_of_their_changes() -> None:
    body = f"""<sitemapindex xmlns="{NAMESPACE}">
        <sitemap><loc>{SITE}/a.xml.gz</loc><lastmod>2026-11-16</lastmod></sitemap>
        <sitemap><loc>{SITE}/b.xml</loc></sitemap></sitemapindex>"""
    entries, findings = read(body)

    assert [(entry.url, entry.role) for entry in entries] == [
        (f"{SITE}/a.xml.gz", Role.SITEMAP),
        (f"{SITE}/b.xml", Role.SITEMAP),
    ]
    assert entries[0].changed == (1794787200.0, DAY)
    assert findings.kind is Kind.SITEMAP_INDEX


def test_extensions_add_dates_and_pages_but_images_and_videos_are_none() -> None:
    body = f"""<urlset xmlns="{NAMESPACE}" xmlns:n="http://www.google.com/schemas/sitemap-news/0.9"
        xmlns:xhtml="http://www.w3.org/1999/xhtml" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
        xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"><url>
        <image:image><image:loc>https://cdn.example/1.jpg</image:loc></image:image>
        <video:video><video:player_loc>https://cdn.example/1</video:player_loc>
            <video:publication_date>2020-01-01</video:publication_date></video:video>
        <loc>{SITE}/1</loc>
        <n:news><n:publication><n:name>The A</n:name></n:publication>
            <n:publication_date>2026-11-16</n:publication_date><n:title>One</n:title></n:news>
        <xhtml:link rel="alternate" hreflang="de" href="{SITE}/de/1"/>
        <xhtml:link rel="alternate" hreflang="en" href="{SITE}/1"/>
        <xhtml:link rel="amphtml" href="{SITE}/amp/1"/>
        </url></urlset>"""
    entries, findings = read(body)

    assert [(entry.url, entry.role) for entry in entries] == [
        (f"{SITE}/1", Role.PAGE),
        (f"{SITE}/de/1", Role.ALTERNATE),
    ]
    assert entries[0].published == (1794787200.0, DAY)
    assert entries[0].changed is None
    assert findings.n_entries == 1
    assert findings.kind is Kind.NEWS_SITEMAP
    assert not findings.oddities


@pytest.mark.parametrize(
    "root",
    [
        f'<urlset xmlns="{NAMESPACE}">',
        "<urlset>",
        '<urlset xmlns="http://www.google.com/schemas/sitemap/0.84">',
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9/">',
        "<urlset xmlns='wrong' xsi:schemaLocation='a b'>",
        '<urlset\n  xmlns="x"\n>',
    ],
)
def test_namespaces_may_be_right_wrong_or_missing(root: str) -> None:
    image = "<image:image><image:loc>https://cdn.example/1.jpg</image:loc></image:image>"

    assert urls(f"{root}<url>{ONE}{image}</url></urlset>") == [f"{SITE}/1"]


@pytest.mark.parametrize("declaration", ["", f' xmlns:sm="{NAMESPACE}"'])
def test_all_names_may_have_a_prefix_declared_or_not(declaration: str) -> None:
    body = f"<sm:urlset{declaration}><sm:url><sm:loc>{SITE}/1</sm:loc></sm:url></sm:urlset>"

    assert urls(body) == [f"{SITE}/1"]


LOCATIONS = {
    "entity": ("?a=1&amp;b=2", "?a=1&b=2"),
    "character references": ("?a=1&#38;b=&#x32;", "?a=1&b=2"),
    "bare ampersand": ("?a=1&b=2", "?a=1&b=2"),
    "bare and escaped": ("?a=1&b=2&amp;c=3", "?a=1&b=2&c=3"),
    "entity of HTML": ("?a=1&copy;=2", "?a=1&copy;=2"),
    "ampersand at the end": ("?a&", "?a&"),
    "CDATA": ("<![CDATA[?a=1&b=2]]>", "?a=1&b=2"),
    "CDATA with an entity": ("<![CDATA[?a=1&amp;b=2]]>", "?a=1&amp;b=2"),
    "not ASCII": ("?ü", "?ü"),
    "escaped": ("?%C3%BC", "?%C3%BC"),
    "comment": ("?a<!-- b -->", "?a"),
}


@pytest.mark.parametrize(("written", "meant"), LOCATIONS.values(), ids=LOCATIONS.keys())
def test_an_address_is_never_made_into_another(written: str, meant: str) -> None:
    assert urls(urlset(f"<loc>\n {SITE}/{written} </loc>", ONE)) == [f"{SITE}/{meant}", f"{SITE}/1"]


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 20, 64])
def test_it_does_not_matter_where_the_pieces_of_a_text_end(
    piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = [f"<loc>{SITE}/{number}{each}</loc>" for number, (each, _) in enumerate(LOCATIONS.values())]
    body = urlset(*written).encode()
    whole = read(body)
    monkeypatch.setattr(plain, "PIECE", piece)

    assert read(body) == whole
    assert read(gzip.compress(body)) == whole


ENCODED = {
    "UTF-8": urlset("<loc>/ü</loc>").encode(),
    "UTF-8 with byte order mark": b"\xef\xbb\xbf" + urlset("<loc>/ü</loc>").encode(),
    "UTF-16": urlset("<loc>/ü</loc>", head='<?xml version="1.0" encoding="UTF-16"?>').encode("utf-16"),
    "UTF-16 without mark": urlset("<loc>/ü</loc>", head="<?xml version='1.0'?>").encode("utf-16-be"),
    "UTF-32": urlset("<loc>/ü</loc>", head="<?xml version='1.0'?>").encode("utf-32"),
    "Latin-1": urlset("<loc>/ü</loc>", head='<?xml version="1.0" encoding="ISO-8859-1"?>').encode("latin-1"),
    "Latin-1 that claims to be UTF-8": urlset("<loc>/ü</loc>").encode("latin-1"),
    "UTF-8 that claims to be UTF-16": urlset(
        "<loc>/ü</loc>", head='<?xml version="1.0" encoding="utf-16"?>'
    ).encode(),
    "unknown encoding": urlset("<loc>/ü</loc>", head='<?xml version="1.0" encoding="none"?>').encode(),
    "an encoding that is none": urlset("<loc>/ü</loc>", head='<?xml version="1.0" encoding="hex"?>').encode(),
}


@pytest.mark.parametrize("body", ENCODED.values(), ids=ENCODED.keys())
def test_the_encoding_is_found_out(body: bytes) -> None:
    assert urls(body) == [f"{SITE}/ü"]


def test_the_encoding_of_the_header_counts_where_nothing_else_is_said() -> None:
    body = urlset("<loc>/ü</loc>", head="").encode("koi8-u", "xmlcharrefreplace") + "ю".encode("koi8-u")

    assert urls(body, content_type='text/xml; charset="koi8-u"') == [f"{SITE}/ü"]


AROUND = {
    "blank lines before": "\n\n  " + urlset(ONE),
    "junk before": "junk " + urlset(ONE),
    "a warning before": "<br />\n<b>Warning</b>: foo() in bar.php\n" + urlset(ONE),
    "comments before": "<!-- <urlset> -->\n<!-- a -- b -->" + urlset(ONE, head=""),
    "style sheet": urlset(ONE, head="<?xml version='1.0'?><?xml-stylesheet href='a.xsl'?>"),
    "document type": urlset(ONE, head="<!DOCTYPE urlset SYSTEM 'http://b.example/a.dtd'>"),
    "garbage behind": urlset(ONE) + "<!-- 0.1 s --> and more",
    "zeros behind": urlset(ONE) + "\0" * 1000,
}


@pytest.mark.parametrize("body", AROUND.values(), ids=AROUND.keys())
def test_what_is_around_a_sitemap_does_no_harm(body: str) -> None:
    assert urls(body) == [f"{SITE}/1"]


BROKEN = {
    "cut in a tag": urlset(ONE)[:-12],
    "cut in an entry": urlset(ONE, "<loc>https://a.exam")[: -len("</url></urlset>")],
    "wrong end": f"<urlset><url>{ONE}</url><url><loc>{SITE}/2</url></urlset>",
    "stray less-than": f"<urlset><url>{ONE}</url><url><loc>{SITE}/?a<b</loc></url></urlset>",
    "control characters": f"<urlset><url>{ONE}</url><url><loc>{SITE}/\x0b\x01</loc></url></urlset>",
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_sitemap_is_used_as_far_as_it_goes(body: str) -> None:
    entries, findings = read(body)

    assert entries[0].url == f"{SITE}/1"
    assert findings.oddities[Oddity.BROKEN] == 1
    assert not findings.is_complete


def test_an_entry_after_one_that_is_not_ended_is_still_read() -> None:
    body = f"<urlset><url><loc>{SITE}/1</url><url><loc>{SITE}/2</loc></url></urlset>"

    assert f"{SITE}/2" in urls(body)


def test_two_sitemaps_in_one_file_are_both_read() -> None:
    assert urls(urlset(ONE, head="") + urlset(f"<loc>{SITE}/2</loc>")) == [f"{SITE}/1", f"{SITE}/2"]


PACKED = {
    "gzip": gzip.compress(urlset(ONE).encode()),
    "gzipped twice": gzip.compress(gzip.compress(urlset(ONE).encode())),
    "two members": gzip.compress(urlset(ONE).encode()[:99]) + gzip.compress(urlset(ONE).encode()[99:]),
    "padding behind": gzip.compress(urlset(ONE).encode()) + b"\0" * 512,
    "stored, not compressed": gzip.compress(urlset(ONE).encode(), 0),
}


@pytest.mark.parametrize("body", PACKED.values(), ids=PACKED.keys())
def test_a_gzipped_sitemap_is_unpacked_whatever_its_name(body: bytes) -> None:
    entries, findings = read(body)

    assert [entry.url for entry in entries] == [f"{SITE}/1"]
    assert not findings.oddities


def test_of_a_truncated_gzip_what_there_is_is_read() -> None:
    body = gzip.compress(urlset(*(dated(number, "2026-11-16") for number in range(5000))).encode())
    entries, findings = read(body[: len(body) // 2])

    assert 1000 < len(entries) < 5000
    assert findings.oddities[Oddity.TRUNCATED] == 1
    assert not findings.is_complete


def test_a_damaged_gzip_is_counted() -> None:
    body = bytearray(gzip.compress(urlset(*(dated(number, "2026-11-16") for number in range(5000))).encode()))
    body[-6] ^= 255  # the checksum
    _, findings = read(bytes(body))

    assert findings.oddities[Oddity.BROKEN] == 1


def test_a_zlib_stream_is_no_gzip() -> None:
    assert read(zlib.compress(b"<urlset/>"))[1].kind is Kind.UNKNOWN


def test_relative_and_foreign_addresses_are_flagged_and_counted() -> None:
    body = urlset("<loc>/1</loc>", "<loc>https://b.example/</loc>", "<loc>https://c.example/</loc>", ONE)
    entries, findings = read(body, hosts=["c.example"])

    assert [(entry.url, entry.is_foreign) for entry in entries] == [
        (f"{SITE}/1", False),
        ("https://b.example/", True),
        ("https://c.example/", False),
        (f"{SITE}/1", False),
    ]
    assert findings.oddities == {Oddity.RELATIVE_URL: 1, Oddity.FOREIGN_HOST: 1}


@pytest.mark.parametrize(
    "url", ["http://A.EXAMPLE/x", "https://a.example:443/x", "http://a.example:80/x", "https://a.example./x"]
)
def test_the_same_host_is_not_foreign_however_it_is_written(url: str) -> None:
    assert not read(urlset(f"<loc>{url}</loc>"))[0][0].is_foreign


@pytest.mark.parametrize("host", ["www.a.example", "a.example:8080", "aa.example"])
def test_another_host_or_port_is_foreign(host: str) -> None:
    assert read(urlset(f"<loc>https://{host}/</loc>"))[0][0].is_foreign


def test_what_cannot_be_used_is_left_out_and_counted() -> None:
    body = urlset(
        "<loc>mailto:me@a.example</loc>",
        "<loc></loc>",
        "<loc/>",
        "<lastmod>2026-11-16</lastmod>",
        dated(1, "soon"),
        dated(2, "2027-11-16"),
        dated(3, ""),
    )
    entries, findings = read(body)

    assert [(entry.url, entry.changed) for entry in entries] == [(f"{SITE}/{n}", None) for n in (1, 2, 3)]
    assert findings.oddities == {
        Oddity.BAD_URL: 1,
        Oddity.NO_LINK: 3,
        Oddity.BAD_DATE: 1,
        Oddity.FUTURE_DATE: 1,
    }


def test_a_date_of_tomorrow_may_be_that_of_today_elsewhere() -> None:
    (entry,), findings = read(urlset(dated(1, "2026-11-18")))

    assert entry.changed is not None
    assert entry.changed.at > NOW
    assert not findings.oddities


def test_entries_beyond_the_limit_are_counted() -> None:
    link = '<xhtml:link rel="alternate" href="/de"/>'
    body = urlset(*(f"{dated(number, '2026-11-16')}{link}" for number in range(10)))
    entries, findings = read(body, limits=Limits(entries=7, alternates=3))

    assert [entry.role for entry in entries].count(Role.PAGE) == 7
    assert [entry.role for entry in entries].count(Role.ALTERNATE) == 3
    assert findings.oddities[Oddity.TOO_MANY] == 10
    assert findings.n_entries == 7
    assert not findings.is_complete


def test_text_sitemaps_have_a_url_a_line() -> None:
    body = f"\ufeff{SITE}/1\r\n\r\n  {SITE}/2 \n# a remark\n{SITE}/ü\r{SITE}/4"
    entries, findings = read(body)

    assert [entry.url for entry in entries] == [f"{SITE}/{name}" for name in ("1", "2", "ü", "4")]
    assert findings.kind is Kind.TEXT_SITEMAP
    assert findings.oddities == {Oddity.BAD_URL: 1}


@pytest.mark.parametrize(
    "body",
    ["", " ", "<!DOCTYPE html><html><body>404</body></html>", "<Error><Code>NoSuchKey</Code></Error>",
     "\x89PNG", "{}", "[]", "not found", "<", "<!--", "<?xml", "<!DOCTYPE", "PK\x03\x04", "{" * 10_000],
)  # fmt: skip
def test_what_is_no_source_is_refused(body: str) -> None:
    entries, findings = read(body)

    assert entries == []
    assert findings.kind is Kind.UNKNOWN
    assert findings.oddities == {Oddity.NOT_A_SOURCE: 1}
    assert not findings.is_complete


PATHS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Z", "Cn"], exclude_characters="#\\"), max_size=20
)
ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


@given(
    st.lists(st.tuples(PATHS, st.integers(631_152_000, int(NOW)) | st.none())),
    st.integers(1, 200),
    st.sampled_from(["utf-8", "utf-16", "utf-8-sig", "ascii"]),
)
def test_what_is_written_is_read(pages: list[tuple[str, int | None]], indent: int, encoding: str) -> None:
    entries = []
    for path, seconds in pages:
        escaped = "".join(ESCAPES.get(letter, letter) for letter in path)
        date = "" if seconds is None else f"<lastmod>{seconds}</lastmod>"
        entries.append(f"{' ' * indent}<loc>{SITE}/{escaped}</loc>{date}")
    body = urlset(*entries, head="").encode(encoding, "xmlcharrefreplace")
    found, findings = read(body)

    assert [(each.url, each.changed and each.changed.at) for each in found] == [
        (f"{SITE}/{path}", seconds) for path, seconds in pages
    ]
    assert not findings.oddities


FRAGMENTS = st.sampled_from(
    ["<urlset>", "</urlset>", "<url>", "</url>", "<loc>", "</loc>", "<lastmod>", "2026-11-17",
     "https://a.example/", "&", "&amp;", "&a;", "<![CDATA[", "]]>", "<!--", "-->", "<?x", "?>",
     "<!DOCTYPE a [", "]>", "<", ">", '"', "<x:y", "\0", "<news>", "<publication_date>", "<link href='",
     "<sitemap>", "<rss>", "<channel>", "<item>", "<link>", "</link>", "<guid>", "<pubDate>",
     "<feed xmlns='http://www.w3.org/2005/Atom'>", "<entry>", "<id>", "<updated>", "&#9999999999;",
     "<description>", "xml:base='/a'", "<link rel=hub href=/>", "</item>", "<ttl>", "<skipHours><hour>1"]
)  # fmt: skip


@given(
    st.lists(FRAGMENTS | st.text(max_size=5)).map("".join),
    st.sampled_from(["", "<urlset>", "<rss>", "<feed>"]),
)
def test_nothing_made_of_pieces_of_sources_is_an_error(body: str, start: str) -> None:
    entries, findings = read(start + body)

    assert all(entry.url.startswith(("http://", "https://")) for entry in entries)
    assert sum(entry.role is not Role.ALTERNATE for entry in entries) == findings.n_entries


@given(
    st.binary(),
    st.sampled_from([b"", b"<urlset>", b"<rss>", b"\x1f\x8b\x08", b"{", b"\xff\xfe", b"http://a/\n"]),
)
def test_no_bytes_are_an_error(body: bytes, start: bytes) -> None:
    read(start + body)


def test_each_step_is_a_bounded_piece_of_work() -> None:
    body = gzip.compress(urlset(*(dated(number, "2026-11-16") for number in range(20_000))).encode())
    steps = [len(entries) for entries in read_source(body, SITEMAP_URL, now=NOW)]

    assert sum(steps) == 20_000
    assert max(steps) < 2 * plain.PIECE / len(dated(1, "2026-11-16"))
