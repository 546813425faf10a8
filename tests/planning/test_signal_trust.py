"""Trust in signals as people read it: by host and source, from what a crawl has kept."""

import numpy as np
import pytest

from scrapy_freshness.estimation.host_signals import HostSignals
from scrapy_freshness.model import SignalSource
from scrapy_freshness.planning.learning import group_name
from scrapy_freshness.planning.signal_trust import signal_trust


def heard(source: SignalSource, *, honest: bool, late: int = 0) -> bytes:
    rng, host = np.random.default_rng(1), HostSignals()
    for number in range(400):
        signals, changed = [0, 0, 0, 0], bool(rng.random() < 0.4)
        signals[source] = int(changed if honest else rng.random() < 0.4)
        too_soon = [0, 0, 0, 0]
        too_soon[source] = int(number < late)
        host.add(0.5, signals, changed, too_soon)
    return host.pack()


def test_every_source_that_was_heard_has_a_row() -> None:
    rows = signal_trust({
        group_name("signals", ("liar.example",)): heard(SignalSource.FEED, honest=False),
        group_name("signals", ("a.example",)): heard(SignalSource.SITEMAP, honest=True),
        group_name("rates", ("a.example",)): b"of another learner",
        group_name("signals", ("b.example",)): b"damaged",
    })  # fmt: skip

    assert [(row.host, row.source) for row in rows] == [
        ("a.example", SignalSource.SITEMAP),
        ("liar.example", SignalSource.FEED),
    ]
    honest, liar = rows
    assert honest.precision.low > 0.9
    assert honest.recall.low > 0.9
    assert liar.precision.high < 0.3
    for row in rows:
        assert row.visits == 400
        assert 100 < row.signals < 220
        for share in (row.precision, row.recall):
            assert 0 <= share.low <= share.value <= share.high <= 1


def test_late_signals_announce_changes_too() -> None:
    in_time, late = (
        signal_trust(
            {group_name("signals", ("a.example",)): heard(SignalSource.PING, honest=False, late=late)}
        )
        for late in (0, 200)
    )

    assert late[0].signals == in_time[0].signals + 200
    assert late[0].recall.value > in_time[0].recall.value
    assert late[0].precision == in_time[0].precision


def test_two_thousand_hosts_are_judged_in_parts() -> None:
    state = heard(SignalSource.SITEMAP, honest=True)
    rows = signal_trust({group_name("signals", (f"{number}.example",)): state for number in range(2100)})

    assert len(rows) == 2100
    assert rows[0].precision.value == pytest.approx(rows[-1].precision.value)
