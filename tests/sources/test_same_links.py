"""Links that differ only in what the rules drop are the same."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.config import Config
from scrapy_freshness.sources.keys import link_keys, same_link

RULES = Config().link_rules
STORY = "http://a.example/story?id=7"


@pytest.mark.parametrize(
    "url",
    [
        "https://A.example/story?id=7#comments",
        "http://a.example/story?utm_source=home&utm_campaign=x&id=7",
        "http://a.example/story?id=7&PHPSESSID=0123",
        "http://a.example/story;jsessionid=AB12.c?id=7",
        "http://a.example/story?id=7&&fbclid=zz&gclid=",
        "http://a.example/story?page=3&id=7",
    ],
)
def test_the_same_story(url: str) -> None:
    assert same_link(url, RULES) == same_link(STORY, RULES)


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example/story?id=8",
        "http://b.example/story?id=7",
        "http://a.example/Story?id=7",
        f"{STORY}&x=1",
    ],
)
def test_another_story(url: str) -> None:
    assert same_link(url, RULES) != same_link(STORY, RULES)


def test_pages_of_a_list_are_the_list() -> None:
    assert same_link("http://a.example/blog/page/12/", RULES) == same_link("http://a.example/blog/", RULES)
    assert same_link("http://a.example/?page=2", RULES) == same_link("http://a.example/", RULES)
    # A name is no number: this is another page.
    assert same_link("http://a.example/?page=imprint", RULES) != same_link("http://a.example/", RULES)


def test_a_user_may_have_other_rules() -> None:
    rules = [(re.compile("/amp$"), "")]

    assert same_link("http://a.example/b/amp", rules) == same_link("http://a.example/b", rules)
    assert same_link("http://a.example/b?utm_source=c", rules) != same_link("http://a.example/b", rules)


words = st.text("abc", min_size=1, max_size=3)
queries = st.lists(st.tuples(words, words), max_size=4)


@given(path=words, query=queries, tracking=st.lists(words, max_size=3), data=st.data())
def test_order_and_tracking_never_matter(
    path: str, query: list[tuple[str, str]], tracking: list[str], data: st.DataObject
) -> None:
    own = [f"{name}={value}" for name, value in query]
    shuffled = data.draw(st.permutations([*own, *(f"utm_{name}=1" for name in tracking)]))
    plain, decorated = (f"http://a.example/{path}?{'&'.join(each)}" for each in (own, shuffled))

    assert same_link(plain, RULES) == same_link(decorated, RULES)
    assert link_keys([plain, decorated], RULES).tolist()[0] == link_keys([decorated], RULES).tolist()[0]


@given(st.text(max_size=60))
def test_any_text_has_a_key(url: str) -> None:
    assert len(link_keys([url], RULES)) == 1
