"""Fragments of texts, against a plain reading of the definition."""

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.content.shingles import shingles, word_hashes

LATIN = st.text("abcdefgABCDEFGéß0123456789 .,!?-—“”'\n\t", max_size=80)
MODULUS = 2**64


def plain_shingles(words: list[str], length: int) -> set[int]:
    """The definition in the module's docstring, in Python's own integers."""
    hashes = [
        sum(ord(character) * pow(0x9E3779B97F4A7C15, i + 1, MODULUS) for i, character in enumerate(word))
        for word in words
    ]
    length = min(length, len(words))
    found = set()
    for start in range(len(words) - length + 1 if words else 0):
        total = 0
        for word_hash in hashes[start : start + length]:
            total = (total * 0xD1342543DE82EF95 + word_hash) % MODULUS
        found.add(((total ^ (total >> 32)) * 0xD6E8FEB86659FD93 % MODULUS) >> 32)
    return found


@given(LATIN, st.integers(1, 6))
def test_shingles_are_what_the_definition_says(text, length):
    words = re.findall(r"\w+", text.casefold())
    found = shingles(text, length)

    assert set(found.tolist()) == plain_shingles(words, length)
    assert found.dtype == np.uint32
    assert (np.diff(found.astype(np.int64)) > 0).all()


def test_hashes_are_the_same_for_ever():
    """Stored sketches become useless if one of these values changes."""
    assert shingles("It rains", 1).tolist() == [304791436, 2230302287]
    assert shingles("It rains all day long, and all night.", 5).tolist() == [
        151993362,
        961330487,
        1673502388,
        3245352742,
    ]
    assert shingles("東京は雨", 2).tolist() == [2244856171, 2370871674, 2889188229]


def test_hashes_are_the_same_in_another_process():
    program = (
        "from scrapy_freshness.content.shingles import shingles\n"
        "print(shingles('It rains in \\u6771\\u4eac', 2).tolist())"
    )
    environment = {"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(sys.path)}
    other = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)

    assert other.stdout.decode().strip() == str(shingles("It rains in 東京", 2).tolist())


def test_a_text_shorter_than_a_shingle_is_one_shingle():
    assert shingles("It rains", 5).size == 1
    assert shingles("It rains", 5).tolist() != shingles("It pours", 5).tolist()


@pytest.mark.parametrize("nothing", ["", " \n", "... – !?", "\0", "\ud800", "\ue000"])
def test_a_text_without_words_has_no_shingles(nothing):
    assert shingles(nothing, 5).size == 0


@given(LATIN)
def test_case_and_punctuation_do_not_matter(text):
    loud = re.sub(r"[^\w\s]+", " ... ", text).upper()

    assert shingles(loud, 3).tolist() == shingles(text, 3).tolist()


@given(st.lists(st.sampled_from(["rain", "sun", "wind"]), min_size=5, max_size=9), st.randoms())
def test_the_order_of_words_matters_only_beyond_single_words(words, random):
    shuffled = random.sample(words, len(words))

    assert shingles(" ".join(words), 1).tolist() == shingles(" ".join(shuffled), 1).tolist()
    runs = [{tuple(order[i : i + 3]) for i in range(len(order) - 2)} for order in (words, shuffled)]
    same = shingles(" ".join(words), 3).tolist() == shingles(" ".join(shuffled), 3).tolist()
    assert same == (runs[0] == runs[1])


def test_where_words_are_divided_matters():
    assert shingles("to get her", 3).tolist() != shingles("together", 3).tolist()
    assert shingles("ab c", 2).tolist() != shingles("a bc", 2).tolist()


@pytest.mark.parametrize(
    "text",
    [
        "東京では一日中雨が降っています",
        "北京今天下了一整天的雨",
        "กรุงเทพฝนตกทั้งวัน",
        "ភ្នំពេញភ្លៀងពេញមួយថ្ងៃ",
        "ရန်ကုန်မှာ တစ်နေ့လုံး မိုးရွာ",
    ],
)
def test_a_script_without_spaces_yields_local_fragments(text):
    """A change at the end leaves the fragments at the beginning alone."""
    before, after = set(shingles(text, 5).tolist()), set(shingles(text[:-1] + "x", 5).tolist())

    assert len(before) >= 5
    assert len(before & after) >= len(before) - 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("한국은 하루 종일 비가 온다", 5),
        ("हिन्दी में बारिश", 3),
        ("в Москве весь день дождь", 5),
        ("tout l’été à Orléans", 5),
        ("Tokyo 東京 Tower", 4),
        ("東京2026年", 4),
        ("👍👎", 2),
        ("snake_case and 3.14", 4),
    ],
)
def test_words_are_counted_as_people_would(text, words):
    assert word_hashes(text).size == words


@given(st.text(), st.integers(1, 8))
def test_any_text_is_taken(text, length):
    count = word_hashes(text).size

    assert shingles(text, length).size <= max(count - length + 1, min(count, 1))


@given(LATIN, st.integers(30_000, 40_000))
def test_a_long_text_hashes_like_a_short_one(text, gap):
    assert word_hashes(" " * gap + text).tolist() == word_hashes(text).tolist()


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_hashes_alike_in_a_text_of_other_characters(text):
    assert word_hashes(f"{text} é").tolist()[:-1] == word_hashes(text).tolist()


def test_a_word_longer_than_most_pages_is_hashed_like_any_other():
    assert set(shingles("x" * 40_000 + " end", 1).tolist()) == plain_shingles(["x" * 40_000, "end"], 1)


def test_a_shingle_needs_a_word():
    with pytest.raises(ValueError, match="at least one word, got 0"):
        shingles("It rains", 0)
