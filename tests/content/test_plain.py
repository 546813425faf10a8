"""Text by arithmetic: the same as tag by tag, or none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.content import text
from scrapy_freshness.content.plain import plain_text

PIECES = [
    *(
        "<",
        "</",
        ">",
        "=",
        '="',
        "='",
        '"',
        "'",
        "-",
        "!",
        "?",
        "/",
        " ",
        "\n",
        "\x1c",
        "\x01",
        "\u00a0",
        "\ud800",
    ),
    *("a", "b ", "é", "x=1", "&amp;", "&#32;", "&lt;b>", "p", "title", "script", "hidden", ">x<", "]]>"),
    *(
        "<script>",
        "</script>",
        "<STYLE a>",
        "</style",
        "<!--",
        "-->",
        "<!",
        "<b>",
        "</b>",
        "<title>",
        "</title>",
    ),
    *('<p class="x">', "<a t='>'>", '<a t=">">', '<a t="it\'s">', '<a t="> <b">', "<a b\"c='d>'>"),
]


def tag_by_tag(html: str) -> str:
    found = text._MARKUP.sub(" ", html)
    return " ".join((text.unescape(found) if "&" in found else found).split())


@given(st.lists(st.sampled_from(PIECES), max_size=16).map("".join))
def test_what_is_found_at_once_is_what_is_found_tag_by_tag(html):
    found = plain_text(html)

    assert found is None or found == tag_by_tag(html)


@pytest.mark.parametrize(
    "html",
    [
        "",
        'no markup, it\'s "plain"',
        "<p>One</p><p>two</p>",
        "<!DOCTYPE html PUBLIC '-//W3C//DTD' \"xhtml\"><p>one<br/>two",
        "<link rel='stylesheet' href='/a'><p title=\"it's\" class='a b'>One two",
        "<script>if (1 < 2 && '</p>') a = b > c</script><p>One<!-- <b>none</b> --> two",
        "<script>'<template>'</script><p>one</p>",
        "<p>1&nbsp;&lt;&nbsp;2</p>\n\n<p>東京\u3000都</p>",
        "<p>1&#160;&#32;&Tab;2&emsp;</p>é\u2003\u2003",
        "<p>a\x1fb\x0bc\x01d",
        "<p>a\x1cscript b\x1c\x01--c",
        '<p><!-- \' --><b>one</b><script>"<"</script><style></style><!-- <p> -->two<!--',
        "<SCRIPT>'<p>'</Script><Style>p</STYLE><P>One",
    ],
)
def test_orderly_pages_are_read_at_once(html):
    assert plain_text(html) == tag_by_tag(html)


@pytest.mark.parametrize(
    "html",
    [
        "<p>1 < 2",
        "<p>1 > 2",
        "<a title='a > b'>one</a>",
        '<a title="a > b < c">one</a>',
        '<a title="<script>">one</a></script>',
        "<p hidden>one",
        "<template>one</template>",
        "<p <!-- one -->two",
        "<p <!-- one --> title>two",
        "<p>one\0</p>",
        "<p>one<b",
    ],
)
def test_pages_that_are_not_orderly_are_left_to_others(html):
    assert plain_text(html) is None
