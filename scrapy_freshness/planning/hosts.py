"""Back-off of hosts that ask for it, and how honest their 304 answers are."""

import random

from scrapy_freshness.model import HostRecord

#: Share of audits that may find a change behind a 304: it may have come between the two answers.
_TOLERATED_LIES = 0.1


class Hosts:
    """What is known about every host; tells when it may be visited again."""

    def __init__(self, backoff_seconds: float, backoff_max_seconds: float) -> None:
        self._first = backoff_seconds
        self._longest = backoff_max_seconds
        self._records: dict[str, HostRecord] = {}
        self._dirty: set[str] = set()
        self._blocked: set[str] = set()

    def load(self, records: list[HostRecord]) -> None:
        self._records = {record.host: record for record in records}
        self._blocked = {record.host for record in records if record.blocked_until}

    def record(self, host: str) -> HostRecord:
        """What is known about a host (nothing, for a new one)."""
        return self._records.get(host) or HostRecord(host=host)

    def blocked_until(self, host: str) -> float:
        """End of the host's back-off, in the past if it has none."""
        record = self._records.get(host)
        return record.blocked_until if record else 0.0

    def blocked(self, now: float) -> set[str]:
        """Hosts whose back-off lasts."""
        self._blocked = {host for host in self._blocked if self._records[host].blocked_until > now}
        return self._blocked

    def back_off(self, host: str, now: float, retry_after: float | None) -> float:
        """Pause a host: as long as it asked for, or twice as long as last time; returns the end.

        A second refusal while the pause lasts (requests that were under way) does not double it.
        """
        record = self._changed(host)
        if record.blocked_until <= now or not record.failures:
            record.failures += 1
        pause = min(self._first * 2.0 ** min(record.failures - 1, 60), self._longest)
        if retry_after is not None:
            pause = min(max(pause, retry_after), self._longest)
        record.blocked_until = max(record.blocked_until, now + pause)
        self._blocked.add(host)
        return record.blocked_until

    def answered(self, host: str) -> None:
        """A host gave a proper answer: the next back-off starts from the shortest pause."""
        if host in self._records and self._records[host].failures:
            self._changed(host).failures = 0

    def audited(self, host: str, was_honest: bool) -> None:
        """Note an unconditional visit, and whether a validator would have told the truth."""
        record = self._changed(host)
        record.audits += 1
        record.false_not_modified += not was_honest

    def is_audit_due(self, host: str, share: float, rng: random.Random) -> bool:
        """Whether to check the 304 that a host just gave: all at first, later a share of them."""
        audits = self.record(host).audits
        return share > 0 and rng.random() < max(share, 1 / (1 + 3 * audits))

    def is_honest(self, host: str) -> bool:
        """Whether the host's 304 answers are to be believed: at most a few of its audits found a lie."""
        record = self.record(host)
        return record.false_not_modified <= _TOLERATED_LIES * record.audits

    def take_changed(self) -> list[HostRecord]:
        """Hosts that changed since the last call, for the writer."""
        changed = [self._records[host] for host in sorted(self._dirty)]
        self._dirty.clear()
        return changed

    def _changed(self, host: str) -> HostRecord:
        self._dirty.add(host)
        return self._records.setdefault(host, HostRecord(host=host))
