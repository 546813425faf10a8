"""How far can the signals of each host be trusted?  For people: the `signals` command and the dashboard."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scrapy_freshness.estimation.host_signals import HostSignals, trust_in
from scrapy_freshness.model import SignalSource
from scrapy_freshness.planning.signal_learner import hosts_heard

#: Hosts that are judged together.
_AT_ONCE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share with the ends of its 90 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTrust:
    """What is known of the signals of one source on one host."""

    host: str
    source: SignalSource
    precision: Share  #: of the signals that announce a change, lately
    recall: Share  #: of the changes that are announced, lately
    visits: int  #: to pages of the host since its first signal
    signals: int  #: of the source
    deaf_seconds: float  #: after a visit, in which signals announce what the visit has seen


def signal_trust(groups: Mapping[str, bytes]) -> list[SourceTrust]:
    """Trust in every source of every host that was heard, by host and source.

    Parameters
    ----------
    groups : what was learned of groups of pages, by name, as `Store.load_groups` gives it

    >>> signal_trust({'["rates", "a.example"]': b""})
    []
    """
    known = sorted(hosts_heard(groups).items())
    parts = [known[first : first + _AT_ONCE] for first in range(0, len(known), _AT_ONCE)]
    return [row for part in parts for row in _rows(part)]


def _rows(hosts: Sequence[tuple[str, HostSignals]]) -> Iterator[SourceTrust]:
    trust = trust_in([state for _, state in hosts])
    for number, (name, state) in enumerate(hosts):
        deaf_seconds = state.delays.deaf_seconds()
        for source in SignalSource:
            if state.heard[source] == 0:
                continue
            counted, late = float(state.counted[source]), float(state.late[source])
            # Late signals announce changes, too, though such as a visit has seen.
            more = (counted + late) / counted if counted else 1.0
            precision, recall = (
                [float(end[number, source]) for end in ends] for ends in (trust.precision, trust.recall)
            )
            yield SourceTrust(
                host=name,
                source=source,
                precision=_share(precision),
                recall=_share([min(end * more, 1.0) for end in recall]),
                visits=round(state.visits),
                signals=round(float(state.heard[source])),
                deaf_seconds=deaf_seconds[source],
            )


def _share(ends: list[float]) -> Share:
    value, low, high = ends
    return Share(value=value, low=low, high=high)
