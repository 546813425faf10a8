"""What a poll is worth to HOLISTIC if links fade and leave: checked by integration."""

import numpy as np
import pytest
from believed import value
from scipy.integrate import quad

from scrapy_freshness.config import Config
from scrapy_freshness.planning.policy import policy_of
from scrapy_freshness.value.holistic import Holistic

SOURCE = {
    "is_source": 1, "age": 0, "mean_rate": 1, "doubt": 0, "recall": 0, "false_rate": 0, "signals": 0,
}  # fmt: skip


@pytest.mark.parametrize("leaving", [0.0, 0.2, 3.0])
def test_the_value_of_a_poll_is_what_its_links_earn_more_than_at_the_margin(leaving: float) -> None:
    link_rate, profit, decay, elapsed = 5.0, 2.0, 0.4, 1.7
    known = {"link_rate": link_rate, "profit": profit, "decay": decay, "leaving": leaving, "price": 0.0}

    def worth(age: float) -> float:
        return profit * np.exp(-decay * age) * np.exp(-leaving * age)  # if it has not left

    gained, _ = quad(lambda age: worth(age) - worth(elapsed), 0, elapsed)
    found = value(Holistic(participation=False), elapsed, **SOURCE, **known)

    assert found == pytest.approx(link_rate * gained)


def test_a_source_whose_links_leave_is_polled_sooner() -> None:
    staying, leaving = (
        value(Holistic(), 0.5, **SOURCE, link_rate=5.0, profit=2.0, decay=0.4, leaving=rate, price=0.1)
        for rate in (0.0, 2.0)
    )

    assert leaving > 2 * staying


@pytest.mark.parametrize("policy", ["echo-newpages", "echo-schedule", "echo-greedy", "holistic"])
def test_the_settings_say_whether_a_source_is_polled_whose_pages_are_not_worth_their_fetches(
    policy: str,
) -> None:
    many_cheap_links = {"link_rate": 100.0, "profit": 1.0, "decay": 0.4, "leaving": 0.0, "price": 2.0}

    def worth(participation: bool) -> float:
        settings = {"FRESHNESS_POLICY": policy, "FRESHNESS_PARTICIPATION": participation}
        return value(policy_of(Config.from_settings(settings)).model, 5.0, **SOURCE, **many_cheap_links)

    assert worth(participation=True) < many_cheap_links["price"] < worth(participation=False)
