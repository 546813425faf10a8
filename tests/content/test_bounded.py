"""Hostile pages cost no more than honest ones of the same length."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from scrapy_freshness.content import bounded as module
from scrapy_freshness.content.bounded import bounded
from scrapy_freshness.content.text import visible_text

MANY = 30_000


def numbered(template: str, count: int = MANY) -> str:
    return "".join(template.replace("#", str(number)) for number in range(count))


HOSTILE = {
    "nested blocks": "<div>" * MANY + "end",
    "nested hidden blocks": "<div hidden>" * MANY + "</div>" * MANY + "end",
    "nested lists": "<ul><li>" * MANY + "end",
    "nested tables": "<table><tr><td>" * MANY + "end",
    "nested inline elements and stray end tags": "<span>" * MANY + "</b>" * MANY + "end",
    "formatting elements to copy": "<p>" + numbered("<b a=#>") + "</p>" + "<p>x" * MANY + "<p>end",
    "few formatting elements to copy often": "<p>" + numbered("<b a=#>", 200) + "<div>x</div>" * MANY + "end",
    "formatting elements behind markers": numbered("<b a=#><object></b></object>") + "<p>x" * MANY + "<p>end",
    "formatting elements and fake end tags": "<p>" + numbered("<b a='</b>#'>") + "<p>x" * MANY + "end",
    "attributes": "<p " + numbered("a# ") + ">end",
    "attributes behind fake ends": "<p " + numbered("a#='>' ") + ">end",
    "attributes in many tags": numbered("<p " + numbered("a# ", 700) + ">", 60) + "end",
    "attributes of one body": numbered("<body a#=1>") + "end",
    "ignored tags in a growing text": numbered("some text <td a=#>") + "end",
    "ignored tags in a text out of a table": "<table>" + numbered("some text <form a=#>") + "end",
    "hidden inputs in a text out of a table": "<table>" + "some text <input type=hidden>" * MANY + "end",
    "bogus comments that swallow end tags": "<div><?</div>" * MANY + "end",
    "unclosed quotes": "<a b='" * MANY + "'>end",
    "unclosed comments": "<!--" * MANY + "-->end",
    "open angles": "<" * MANY + " end",
    "templates": "<template>" * MANY + "</template>" * MANY + "end",
    "foreign elements": "<svg><g>" * MANY + "</g></svg>" * MANY + "end",
    "breakouts": "<svg><p>" * MANY + "end",
}  # fmt: skip


@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_page_becomes_a_small_tree_that_still_has_its_text(html):
    source = bounded(html.encode())
    tree = LexborHTMLParser(source, scripting=True)

    assert len(source) < 5 * len(html) + 1000
    assert len(tree.css("*")) < 10 * html.count("<") + 1000
    assert visible_text(html).endswith("end")


def test_a_hostile_page_has_no_more_than_some_depth():
    node = LexborHTMLParser(bounded(HOSTILE["nested blocks"].encode())).root
    depth = 0
    while node is not None:
        node, depth = node.last_child, depth + 1

    assert 256 <= depth <= 260


def elements(content):
    attributes = st.sampled_from(["", " hidden", ' class="a b"', " id=x", " data-x='<p>'", " title='a>b'"])
    block = st.tuples(st.sampled_from(["div", "section", "x-y"]), attributes, content)
    return block.map(lambda parts: f"<{parts[0]}{parts[1]}>{''.join(parts[2])}</{parts[0]}>")


LEAVES = st.sampled_from(
    """one
    <br>
    <img src=x />
    <!-- <p> -->
    <b>three</b>
    <i class=icon></i>
    <p>four</p>
    <script>if (a < b) '</div>'</script>
    <textarea>a<b></textarea>
    <style>p > b {}</style>
    <ul><li>five<li>six</ul>
    <table><tr><td>7<td>8<tr><td>9</table>
    <dl><dt>x<dd>y<dt>z</dl>
    <svg><path d='M0'/><text>ten</text></svg>
    <select><option>a<option>b</select>
    a < b
    &lt;p&gt; &amp; c""".splitlines()
)
HONEST = st.lists(st.recursive(LEAVES, lambda inner: elements(st.lists(inner, max_size=4)), max_leaves=20))


@given(HONEST.map("".join))
@example("<title>A <b> title</title><body hidden><p>text")
def test_rewriting_an_honest_page_does_not_change_its_text(html):
    rewritten = module._renested(html.encode()).decode()

    assert visible_text(rewritten) == visible_text(html)
    if "data-x" not in html and "title" not in html:  # attributes that contain tags are left out
        assert visible_text(rewritten, include=["div", "li"]) == visible_text(html, include=["div", "li"])
        assert visible_text(rewritten, exclude=[".a", "td + td"]) == visible_text(
            html, exclude=[".a", "td + td"]
        )


def test_an_honest_page_passes_untouched():
    article = b'<div class="a"><p>Some <b class="c">words</b> and <a href="/">links</a></p></div>\n' * 1000

    assert bounded(article) == article


@pytest.mark.parametrize(
    "blob",
    [
        b"<script>" + b"let a = 1; " * 10_000 + b"</script>",
        b"<style media='all'>" + b"p { color: red } " * 10_000 + b"</style>",
        b'<img src="data:image/png;base64,' + b"AAAA" * 10_000 + b'">',
    ],
)
def test_long_scripts_styles_and_images_are_cut_out_of_an_otherwise_untouched_page(blob):
    page = b"<p title=x>before</p>%b<p>after</p>" % blob
    short = bounded(page)

    assert len(short) < 200
    assert short.startswith(b"<p title=x>before</p>")
    assert visible_text(page.decode()) == "before after"


def test_long_text_without_a_tag_is_kept():
    words = "word " * 100_000

    assert visible_text(f"<pre>{words}</pre>") == words.strip()
