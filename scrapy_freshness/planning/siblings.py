"""What visits to siblings tell of a page: how fast time passes for it, and so when it is worth a visit.

Siblings are the pages of the same host (see `estimation/sibling_pace.py`). Each visit says a little about all
of them, which may be millions, so that waking times follow in turn: with each visit those of some pages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from scrapy_freshness.estimation.history import ends_unchanged
from scrapy_freshness.estimation.sibling_pace import SiblingPaces
from scrapy_freshness.model import PageKind, PageRecord
from scrapy_freshness.planning.after_visit import waited_in_silence
from scrapy_freshness.planning.frontier import Rows
from scrapy_freshness.planning.learning import group_name
from scrapy_freshness.planning.table import PageTable
from scrapy_freshness.value.contract import ValueModel

#: Pages whose waking times follow with each visit, and after any number of visits at least: all of them do
#: about once before a page is visited again, and those that are visited rarely more often.
_FOLLOW, _FOLLOW_AT_LEAST = 1, 64
#: How the names begin under which hosts are kept.
SIBLINGS = '["siblings", '


class Siblings:
    """Keeps the paces of hosts, for policies that want to know them; for others it does nothing."""

    def __init__(self, table: PageTable, model: ValueModel, *, watch: bool = True) -> None:
        self._table = table
        self._model = model
        self._taught: set[int] = set()  #: numbers of hosts
        self._next = 0  #: the row whose waking time follows next
        if watch and "pace" in model.needs:
            table.sibling_paces = SiblingPaces()

    def observe(self, rows: Rows, records: Sequence[PageRecord]) -> None:
        """Take note of visits that are about to be learned from.

        Those that followed a signal are left out: the signal explains what they found.
        """
        paces = self._table.sibling_paces
        if paces is None:
            return
        waits = [waited_in_silence(record) if record.kind is PageKind.PAGE else 0.0 for record in records]
        chosen = [number for number, seconds in enumerate(waits) if seconds]
        if not chosen:
            return
        rows, waited = rows[chosen], np.array(waits)[chosen]
        changed = np.array([not ends_unchanged(records[number].history) for number in chosen])
        beliefs = replace(self._table.beliefs(rows, signals=np.zeros(len(rows))), pace=None)
        expected = 1 - self._model.freshness(beliefs, waited)
        end, hosts = self._table.last_visit[rows], self._table.host[rows]
        paces.observe(hosts, rows, end - waited, end, changed, expected)
        self._taught.update(hosts.tolist())

    def following(self, visits: int) -> Rows | None:
        """So many visits were learned from: the pages whose waking times follow now, if there are any."""
        table = self._table
        if table.sibling_paces is None or not len(table):
            return None
        count = min(max(_FOLLOW * visits, _FOLLOW_AT_LEAST), len(table))
        rows = np.arange(self._next, self._next + count) % len(table)
        self._next = int(rows[-1]) + 1
        rows = rows[table.sibling_paces.have_pace(table.host[rows])]
        return rows[~np.isnan(table.last_visit[rows])]

    def take_groups(self) -> Mapping[str, bytes]:
        """What was learned of hosts since the last call."""
        paces, taught = self._table.sibling_paces, sorted(self._taught)
        self._taught.clear()
        packed = {} if paces is None else {host: paces.pack(host) for host in taught}
        return {
            _name_of(self._table.hosts[host]): state for host, state in packed.items() if state is not None
        }

    def restore(self, groups: Mapping[str, bytes]) -> None:
        """Go on where an earlier run ended."""
        if self._table.sibling_paces is not None:
            restore_paces(self._table, self._table.sibling_paces, groups)


def restore_paces(table: PageTable, paces: SiblingPaces, groups: Mapping[str, bytes]) -> None:
    """Let a table know the paces of its hosts that are kept in *groups*."""
    table.sibling_paces = paces
    states = ((number, groups.get(_name_of(host))) for number, host in enumerate(table.hosts))
    paces.unpack({number: state for number, state in states if state is not None})


def _name_of(host: str) -> str:
    """The name by which a host is kept.

    >>> _name_of("a.example")
    '["siblings", "a.example"]'
    """
    return group_name("siblings", (host,))
