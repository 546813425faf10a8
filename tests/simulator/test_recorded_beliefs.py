"""What a record tells of its pages: mean rates, curves and links."""

import numpy as np
import pytest
from drawn_records import DAY, poisson_hub, poisson_page, poisson_web

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.simulator.recorded import web_of
from scrapy_freshness.simulator.recorded_beliefs import recorded_beliefs
from scrapy_freshness.simulator.trace import Kind, Version
from scrapy_freshness.value.longevity import Longevity

NOTHING: frozenset[str] = frozenset()


def test_rates_are_those_that_the_record_was_drawn_with() -> None:
    per_day = [0.5, 2.0, 8.0]
    beliefs = recorded_beliefs(poisson_web(per_day, 1000.0, seed=1), 0.0, 1000 * DAY, NOTHING)

    assert beliefs.change_rate[:3] * DAY == pytest.approx(per_day, rel=0.15)
    assert beliefs.importance.tolist() == [1, 1, 1, 1]


def test_only_changes_while_the_page_is_there_count_over_that_time() -> None:
    texts = ((0, "A"), (2, "B"), (3, None), (6, "B"), (7, "A"), (9, "C"), (10, "C"))
    versions = [
        Version(
            page="a:1",
            at=float(at),
            kind=Kind.GONE if text is None else Kind.CHANGE,
            lines=None if text is None else (text,),
        )
        for at, text in texts
    ]
    rate = recorded_beliefs(web_of(versions), 1.0, 8.0, NOTHING).change_rate

    assert rate == pytest.approx([4 / 4]), "it becomes B, is gone, comes back and becomes A within 4 s"


def test_pages_that_never_change_or_are_not_there_are_believed_to_be_slow() -> None:
    rng = np.random.default_rng(1)
    pages = [poisson_page("a:1", 0.0, 50.0, rng), poisson_page("a:2", 5.0, 50.0, rng, first_day=40.0)]
    web = web_of(version for page in pages for version in page)

    assert np.all(recorded_beliefs(web, 0.0, 30 * DAY, NOTHING).change_rate * 1000 * 365 * DAY < 1)


@pytest.mark.parametrize(("share", "plateau"), [(1.0, 1.0), (0.25, 0.4)])
def test_the_curve_of_a_page_that_churns_is_found(share: float, plateau: float) -> None:
    """Of 40 words a share is replaced at each change: the divergence is 2s/(1+s) after the first."""
    rng = np.random.default_rng(6)
    times = [0.0, *np.sort(rng.uniform(0, 400, 400)).tolist(), 400.0]
    still = " ".join(f"still{n}" for n in range(round(40 * (1 - share))))
    versions = [
        Version(
            page="a:1",
            at=DAY * at,
            kind=Kind.CHANGE,
            lines=(still, " ".join(f"new{number}x{n}" for n in range(round(40 * share)))),
        )
        for number, at in enumerate(times)
    ]
    web = web_of(versions, shingle_words=1)
    beliefs = recorded_beliefs(web, 0.0, 400 * DAY, frozenset({"plateau", "stages", "gain"}))

    for days in (0.5, 1, 2, 4, 8):
        moved = 1 - Longevity().freshness(beliefs, np.array([days * DAY]))
        assert moved == pytest.approx(plateau * (1 - np.exp(-days)), abs=0.15 * plateau)
    assert beliefs.need("gain") * DAY == pytest.approx(plateau, rel=0.1)


def test_new_links_are_counted() -> None:
    rng = np.random.default_rng(7)
    pages = [poisson_hub("a:1", 24.0, 100.0, rng), poisson_page("a:2", 1.0, 100.0, rng)]
    web = web_of(version for page in pages for version in page)
    beliefs = recorded_beliefs(web, 0.0, 100 * DAY, frozenset({"link_rate", "profit", "decay"}))
    assert beliefs.link_rate is not None

    assert beliefs.link_rate * DAY == pytest.approx([24.0, 0.0], rel=0.1)


def test_a_record_has_no_signals() -> None:
    needs = frozenset({"recall", "false_rate"})
    beliefs = recorded_beliefs(poisson_web([1.0], 10.0, seed=1), 0.0, 10 * DAY, needs)

    assert [beliefs.need(name).tolist() for name in needs] == [[0, 0]] * 2


def test_what_a_record_does_not_tell_is_refused() -> None:
    with pytest.raises(ConfigError, match="does not tell interval"):
        recorded_beliefs(poisson_web([1.0], 10.0, seed=1), 0.0, 10 * DAY, frozenset({"interval"}))
