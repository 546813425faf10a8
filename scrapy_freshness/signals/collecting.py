"""What all readers do with a URL and the dates that a source gives it: use, flag or count them."""

from collections.abc import Collection

from scrapy_freshness.signals.addresses import host_of, read_address
from scrapy_freshness.signals.contract import Entry, Findings, Limits, Link, Moment, Oddity, Relation, Role
from scrapy_freshness.signals.dates import read_date

#: Clocks and zones differ; what is said to happen later than this has not been thought about.
_AHEAD_SECONDS = 86_400.0
_MOST_LINKS = 20


class Collector:
    """Turns what a source says into entries, and counts what is odd about it."""

    def __init__(self, url: str, *, now: float, hosts: Collection[str] = (), limits: Limits) -> None:
        self.url = url
        self.findings = Findings()
        self.limits = limits
        self._latest = now + _AHEAD_SECONDS
        own = host_of(url)
        self._hosts = frozenset(hosts) | ({own} if own else frozenset())
        self._alternates = 0

    @property
    def is_full(self) -> bool:
        """Whether no more entries are taken."""
        return self.findings.n_entries >= self.limits.entries

    def count(self, oddity: Oddity, times: int = 1) -> None:
        self.findings.oddities[oddity] += times

    def date(self, text: str | None) -> Moment | None:
        """A date as it is written, None if there is none that can be used."""
        if text is None or not (text := text.strip()):
            return None
        moment = read_date(text)
        if moment is None:
            self.count(Oddity.BAD_DATE)
        elif moment.at > self._latest:
            self.count(Oddity.FUTURE_DATE)
            return None
        return moment

    def link(self, relation: Relation, url: str) -> None:
        """Note a source that is named, if there is an address and room for it."""
        address = read_address(url, self.url)
        if address is None or len(self.findings.links) >= _MOST_LINKS:
            return
        link = Link(relation, address.url)
        if link not in self.findings.links:
            self.findings.links.append(link)

    def entry(
        self,
        url: str,
        *,
        changed: Moment | None = None,
        published: Moment | None = None,
        key: str = "",
        role: Role = Role.PAGE,
    ) -> Entry | None:
        """The entry of a URL, None if it cannot be used or is one too many."""
        address = read_address(url, self.url)
        if address is None:
            self.count(Oddity.BAD_URL)
            return None
        if role is Role.ALTERNATE:
            if self._alternates >= self.limits.alternates:
                self.count(Oddity.TOO_MANY)
                return None
            self._alternates += 1
        elif self.is_full:
            self.count(Oddity.TOO_MANY)
            return None
        else:
            self.findings.n_entries += 1
        if address.was_relative:
            self.count(Oddity.RELATIVE_URL)
        is_foreign = address.host not in self._hosts
        if is_foreign:
            self.count(Oddity.FOREIGN_HOST)
        return Entry(address.url, changed, published, key or address.url, role, is_foreign)
