"""What a visitor can read on a page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.content.text import check_selector, visible_text
from scrapy_freshness.errors import ConfigError

PAGE = """<!DOCTYPE html>
<html><head><title>The news</title><meta name="description" content="unseen">
<style>p { color: red }</style><script>var unseen = "<p>unseen</p>"</script></head>
<body><nav>Home</nav><main id="news"><h1>It rains</h1><p>All   day
long.</p><ul><li>one</li><li>two</li></ul><aside>12:30</aside></main></body></html>"""

WORDS = st.lists(st.text("abcdefgh", min_size=1), min_size=1, max_size=8)


def test_a_page_reads_as_its_title_and_its_text_in_order():
    assert visible_text(PAGE) == "The news Home It rains All day long. one two 12:30"


@pytest.mark.parametrize(
    "unseen",
    [
        "<script>unseen</script>",
        "<SCRIPT type=module>unseen</SCRIPT>",
        "<style>unseen</style>",
        "<noscript><p>unseen</p></noscript>",
        "<template><p>unseen</p></template>",
        "<!-- unseen -->",
        "<input type=hidden value=unseen>",
        "<p hidden>unseen</p>",
        "<p HIDDEN>unseen</p>",
        '<p class="a"hidden>unseen</p>',
        "<div hidden=until-found>un<script>x</script><b>seen</b></div>",
        "<iframe>unseen</iframe>",
        "<datalist><option>unseen</datalist>",
        "<img alt=unseen title=unseen>",
        "<svg><style>unseen</style></svg>",
    ],
)
def test_what_a_browser_does_not_show_is_left_out(unseen):
    assert visible_text(f"<body><p>before</p>{unseen}<p>after</p>") == "before after"


def test_noscript_in_the_head_does_not_leak_into_the_text():
    html = "<head><noscript><p>unseen</p></noscript><title>Title</title></head><body>text"

    assert visible_text(html) == "Title text"


@pytest.mark.parametrize("element", ["html", "body"])
def test_a_page_that_is_hidden_until_its_script_has_run_keeps_its_text(element):
    assert visible_text(f"<{element} hidden><p>text</p>") == "text"


@pytest.mark.parametrize("tag", ["p", "div", "li", "td", "h1", "section", "br", "option", "my-element"])
def test_adjacent_blocks_never_glue_together(tag):
    assert visible_text(f"<table><tr><{tag}>one</{tag}><{tag}>two</{tag}>") == "one two"


@given(WORDS, st.sampled_from([" ", "\n", "\t", "\r\n", " \f ", "&nbsp;", "<!-- x -->", "<br>", "<b></b>"]))
def test_how_words_are_set_apart_does_not_matter(words, gap):
    assert visible_text(gap.join(words)) == " ".join(words)


ELEMENTS = st.sampled_from(["p", "div", "b", "li", "span", "h1", "section", "I", "a", "small", "article"])
ATTRIBUTES = st.sampled_from(
    [
        "",
        " class=x",
        ' title="a > b"',
        " alt='<p>'",
        ' data-a = "it\'s"',
        " q=it's",
        " a=1 b",
        "\n\tid=a ",
        " /",
    ]
)
UNSEEN = st.sampled_from(
    [
        "<script>if (a < b && c > d) { e('</p>') }</script>",
        "<style>p > a { }</style>",
        "<SCRIPT src='a>b'></SCRIPT >",
        "<!-- a > b -- c <p> -->",
        "<!---->",
        "<br>",
        "<img src=a.png alt='unseen'/>",
        "<noscript><p>unseen</p></noscript>",
        "<iframe src=b><b>unseen</iframe>",
        "<?php unseen ?>",
    ]
)
TEXTS = st.sampled_from(
    ["It rains ", "a&amp;b", "1 < 2 ", " ", "&nbsp;", "caf\u00e9", "&#x4e1c;&#20140", "&lt;b&gt;", ">", "\n"]
)


def element(children):
    def made(name, attributes, inner):
        return f"<{name}{attributes}>{''.join(inner)}</{name}>"

    return st.builds(made, ELEMENTS, ATTRIBUTES, st.lists(children, max_size=4))


PAGES = st.lists(st.recursive(TEXTS | UNSEEN, element, max_leaves=20), max_size=6).map("".join)


@given(PAGES)
def test_reading_without_a_tree_finds_the_text_of_the_tree(html):
    page = f"<!doctype html><html lang=en><head><title>T</title></head><body>{html}</body></html>"

    assert visible_text(page) == visible_text(page, exclude=["no-such-element"])


@pytest.mark.parametrize(
    "unit",
    ["<", "<!--", "<script>", "<a b='", '<a b="', "<title", "<title>", "</", "<p a=", "<!-", "hidden", "<s"],
)
def test_hostile_pages_are_read_in_linear_time(unit):
    """A quadratic reader would need minutes for a megabyte of these."""
    visible_text(unit * (1_000_000 // len(unit)))


@given(WORDS)
def test_entities_are_read_as_characters(words):
    html = " ".join("".join(f"&#{ord(character)};" for character in word) for word in words)

    assert visible_text(html) == " ".join(words)


def test_only_included_elements_are_read():
    assert visible_text(PAGE, include=["h1", "li"]) == "It rains one two"


def test_an_element_included_twice_is_read_once():
    assert visible_text(PAGE, include=["li", "#news", "ul, main"]) == "It rains All day long. one two 12:30"


def test_excluded_elements_are_removed_before_others_are_included():
    assert visible_text(PAGE, include=["main"], exclude=["aside", "ul"]) == "It rains All day long."


def test_a_selector_that_matches_nothing_changes_nothing():
    assert visible_text(PAGE, exclude=[".advertisement"]) == visible_text(PAGE)
    assert visible_text(PAGE, include=[".advertisement"]) == ""


@pytest.mark.parametrize("everything", ["html", "*", ":root"])
def test_a_page_without_its_root_is_empty(everything):
    assert visible_text(PAGE, exclude=[everything]) == ""


@pytest.mark.parametrize("selector", ["", " ", "div >", "[", "a,,b", "p::text", "p:contains(x)", "p\ud800"])
def test_an_invalid_selector_is_named(selector):
    for use in (
        lambda: check_selector(selector),
        lambda: visible_text(PAGE, include=["p", selector]),
        lambda: visible_text(PAGE, exclude=[selector]),
    ):
        with pytest.raises(ConfigError) as error:
            use()
        assert repr(selector) in str(error.value)


@pytest.mark.parametrize("selector", ["[a='b", "p:nth-child(2", "p:is(b"])
def test_a_selector_that_would_swallow_the_next_one_is_refused_at_the_start(selector):
    with pytest.raises(ConfigError, match="not a valid CSS selector"):
        check_selector(selector)


@pytest.mark.parametrize(
    "selector",
    ["p", "div.article > p", "a[href^='/'], b", "li:nth-child(2n+1)", "p:has(b)", ".é", "x-probe", "*"],
)
def test_a_valid_selector_is_accepted(selector):
    check_selector(selector)


@given(st.text())
def test_any_text_is_taken(text):
    words = visible_text(text)

    assert words == " ".join(words.split())
    assert words.encode().decode() == words


@given(st.binary(max_size=2000))
def test_any_bytes_are_taken(body):
    visible_text(body.decode("latin-1"))
    visible_text(body.decode("utf-8", "surrogateescape"))


PIECES = [
    "<b>", "</b>", "<p>", "</p>", "<table>", "<td>", "</table>", "<svg>", "<select>", "<template>",
    "x", "&amp", "<!--", "-->", "<script>", "</script>", "<", ">", "'", '"', "=", "\0", "<body>", "</html>",
    "<noscript>", "<title>", "<plaintext>", "<![CDATA[", "]]>", "<frameset>", "<a href='",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_broken_html_is_taken(html):
    visible_text(html, include=["p", "td"], exclude=["b"])
    visible_text(html)


def test_nul_bytes_and_lone_surrogates_do_not_stop_the_reading():
    assert visible_text("<p>be\0fore</p>\ud800<p>after</p>").split()[::2] == ["before", "after"]


def test_a_page_of_nothing_is_empty():
    assert visible_text("") == visible_text(" \n") == visible_text("<html></html>") == ""
