"""Is it the same content, and how much of it is."""

import datetime
import unicodedata
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.content.measure import ContentOptions, measure_bytes, measure_fragments, measure_html
from scrapy_freshness.content.shingles import shingles
from scrapy_freshness.content.sketch import divergence
from scrapy_freshness.errors import ConfigError

OPTIONS = ContentOptions()
ARTICLE = " ".join(f"word{number}" for number in range(300))
PAGE = f"<html><head><title>News</title></head><body><p class=a>{ARTICLE}</p></body></html>"

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
)


def html(source: str, **options):
    return measure_html(source, options=ContentOptions(**options))


def item(*values: object):
    return measure_fragments(values, options=OPTIONS)


def moved(one, other) -> float:
    return divergence(one.sketch, other.sketch, 64)


@pytest.mark.parametrize(
    "noise",
    [
        PAGE.replace("class=a", "class=b data-time=1699999999"),
        PAGE.replace("</body>", "<script>session = 'f3a9'</script></body>"),
        PAGE.replace("<body>", "<body><!-- served by 7 in 12 ms -->"),
        PAGE.replace("word7 ", "word7\n\t\t"),
        PAGE.replace("word7 ", "word7&nbsp;"),
        PAGE.replace("<head>", "<head><meta name=csrf content=x1><style>p { color: red }</style>"),
    ],
)
def test_noise_in_the_source_is_no_change(noise):
    assert html(noise).content_hash == html(PAGE).content_hash


@pytest.mark.parametrize(
    "change",
    [PAGE.replace("word7 ", "word8 "), PAGE.replace("word7 ", "Word7 "), PAGE.replace("News", "Olds")],
)
def test_a_change_that_can_be_read_is_a_change(change):
    assert html(change).content_hash != html(PAGE).content_hash


def test_composed_and_decomposed_characters_are_the_same():
    decomposed = unicodedata.normalize("NFD", "Orléans, Ångström, 한국")

    assert html(decomposed).content_hash == html("Orléans, Ångström, 한국").content_hash
    assert html(decomposed).sketch.tolist() == html("Orléans, Ångström, 한국").sketch.tolist()


def test_the_hash_is_the_same_for_ever():
    assert html("<p>It rains</p>").content_hash == 5418267820914623836
    assert measure_bytes(b"It rains").content_hash == 5418267820914623836
    assert item({"price": 5, "name": "Tea"}).content_hash == -3709338258732928914
    assert item({"price": 5, "name": "Tea"}).sketch.tolist() == [3326346837, 4023443224]


def test_hashes_fit_a_signed_column():
    found = [measure_bytes(bytes([number])).content_hash for number in range(200)]

    assert all(-(2**63) <= content_hash < 2**63 for content_hash in found)
    assert min(found) < 0 < max(found)


def test_a_page_is_sketched_by_its_visible_words():
    measured = html(PAGE, sketch_size=32, shingle_words=4)

    assert measured.sketch.tolist() == shingles(f"News {ARTICLE}", 4)[:32].tolist()
    assert measured.words == 301
    assert measured.sketch is measured.sketch


def test_an_edited_word_moves_the_page_a_little():
    words = ARTICLE.split()
    before, after = (
        html(ARTICLE, sketch_size=1000),
        html(" ".join([*words[:100], "new", *words[101:]]), sketch_size=1000),
    )

    assert divergence(before.sketch, after.sketch, 1000) == pytest.approx(10 / 301)


def test_a_page_longer_than_the_limit_is_cut():
    measured = html("<p>one two</p><p>three</p>", max_body_chars=14)

    assert measured.cut
    assert measured.content_hash == html("one two").content_hash
    assert not html("<p>one two</p>", max_body_chars=14).cut


@given(st.text(max_size=60))
def test_any_page_is_measured(source):
    measured = html(source)

    assert measured.sketch.size <= max(measured.words, 0)
    assert html(source).content_hash == measured.content_hash


def test_selectors_apply_to_a_domain_and_its_sub_domains():
    options = ContentOptions(
        include={"shop.example": ["main"]},
        exclude={"*": [".clock"], "example.com": [".ad"], "com": [".never"]},
    )

    assert options.selectors_for("shop.example") == (("main",), (".clock",))
    assert options.selectors_for("WWW.Shop.Example.") == (("main",), (".clock",))
    assert options.selectors_for("example.com") == ((), (".ad", ".never", ".clock"))
    assert options.selectors_for("myshop.example") == ((), (".clock",))
    assert ContentOptions().selectors_for("example.com") == ((), ())


def test_a_page_is_measured_by_the_selectors_of_its_host():
    options = ContentOptions(exclude={"example.com": [".clock"]})
    source = "<p>news</p><p class=clock>12:30</p>"

    here = measure_html(source, options=options, host="www.example.com")
    elsewhere = measure_html(source, options=options, host="example.org")
    assert here.content_hash == html("news").content_hash
    assert elsewhere.content_hash == html("news 12:30").content_hash


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"shingle_words": 0}, "shingle_words must be at least 1, got 0"),
        ({"sketch_size": -1}, "sketch_size must be at least 1, got -1"),
        ({"sketch_size": 70_000}, "sketch_size must be at most 65535, got 70000"),
        ({"max_body_chars": 0}, "max_body_chars must be at least 1, got 0"),
        ({"include": {"*": ["main >"]}}, "'main >' is not a valid CSS selector"),
        (
            {"exclude": {"example.com": "main"}},
            "exclude for 'example.com' must be a list of selectors, got 'main'",
        ),
    ],
)
def test_wrong_options_are_refused_at_the_door(wrong, message):
    with pytest.raises(ConfigError) as error:
        ContentOptions(**wrong)

    assert message in str(error.value)


def test_bytes_are_the_same_or_another():
    one, other = measure_bytes(b"\x89PNG one"), measure_bytes(b"\x89PNG two")

    assert one.content_hash != other.content_hash
    assert moved(one, other) == 1.0
    assert moved(one, measure_bytes(b"\x89PNG one")) == 0.0
    assert (one.words, one.cut, one.sketch.dtype) == (0, False, np.uint32)


TEA = {"name": "Green tea", "price": 5, "tags": ["hot", "green"], "seller": {"city": "Kyoto", "stars": 4.5}}


@pytest.mark.parametrize(
    "change",
    [
        {"price": 6},
        {"price": -5},
        {"price": "5"},
        {"price": None},
        {"name": "White tea"},
        {"tags": ["cold", "green"]},
        {"seller": {"city": "Kyoto", "stars": 4.6}},
    ],
)
def test_a_changed_field_is_one_changed_fragment(change):
    before, after = item(TEA), item({**TEA, **change})

    assert before.content_hash != after.content_hash
    assert before.sketch.size == after.sketch.size == 6
    assert moved(before, after) == pytest.approx(2 / 7)


@given(st.lists(VALUES, max_size=5), st.randoms())
def test_the_order_of_values_is_not_significant(values, random):
    def shuffled(value):
        if isinstance(value, dict):
            return {key: shuffled(value[key]) for key in random.sample(list(value), len(value))}
        if isinstance(value, list):
            return random.sample([shuffled(inner) for inner in value], len(value))
        return value

    one, other = item(*values), item(*shuffled(values))
    assert one.content_hash == other.content_hash
    assert one.sketch.tolist() == other.sketch.tolist()


def test_the_key_of_a_value_is_significant():
    one, other = item({"old": 5, "new": 6}), item({"old": 6, "new": 5})

    assert one.content_hash != other.content_hash
    assert moved(one, other) == 1.0
    assert item({"a": {"bc": 1}}).content_hash != item({"ab": {"c": 1}}).content_hash


def test_long_texts_of_items_are_shingled():
    words = ARTICLE.split()
    before = item({"body": ARTICLE, "price": 5})
    after = item({"body": " ".join([*words[:250], "new"]), "price": 5})

    assert before.words == 300
    assert 0 < moved(before, after) < 0.5


def test_texts_of_items_are_normalised_like_pages():
    assert item("It  rains\nin Orléans").content_hash == item("It rains in Orle\u0301ans").content_hash


def test_numbers_are_compared_by_value():
    assert item(5).content_hash == item(5.0).content_hash
    assert item(1).content_hash != item(True).content_hash
    assert item(None).content_hash != item("None").content_hash


def test_values_repeat_in_the_hash_but_not_in_the_sketch():
    assert item("a", "a").content_hash != item("a").content_hash
    assert moved(item("a", "a"), item("a")) == 0.0


def test_no_values_are_no_content():
    assert item().sketch.size == item({}, []).sketch.size == 0
    assert item().content_hash == item({}).content_hash


@pytest.mark.parametrize(
    "value",
    [
        Decimal("5.00"),
        datetime.date(2026, 11, 16),
        b"\0\1",
        float("nan"),
        {1, 2},
        ("a", ["b"]),
        "\ud800",
        10**30,
    ],
)
def test_values_beyond_json_are_measured(value):
    assert item(value).content_hash == item(value).content_hash
    assert item(value).content_hash != item("another").content_hash


def test_a_value_without_a_text_of_its_own_is_refused():
    for value in (object(), (number for number in [1]), lambda: 1):
        with pytest.raises(TypeError, match="cannot measure a "):
            item({"field": value})


def test_values_that_contain_themselves_are_refused():
    loop: list = []
    loop += [loop, loop]
    with pytest.raises(ValueError, match="contain themselves"):
        item(loop)
