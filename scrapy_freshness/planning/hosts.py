"""Back-off of hosts that ask for it or do not answer, and how honest their 304 answers are."""

import random
from math import inf

from scrapy_freshness.model import HostRecord
from scrapy_freshness.planning.pauses import doubled

#: Share of audits that may find a 304 to be false: a date of whole seconds can stand for two versions.
_TOLERATED_LIES = 0.1
#: Different URLs of a host that fail in a row before the host is paused.
_PATIENT_FAILURES = 3


class Hosts:
    """What is known about every host; tells when it may be visited again."""

    def __init__(self, backoff_seconds: float, backoff_max_seconds: float) -> None:
        self._first = backoff_seconds
        self._longest = backoff_max_seconds
        self._records: dict[str, HostRecord] = {}
        self._dirty: set[str] = set()
        self._blocked: set[str] = set()
        self._ends_at = -inf  #: when one of their back-offs ends, or earlier
        self._failed: dict[str, set[str]] = {}  #: host -> URLs that failed since its last proper answer
        self._tried: dict[str, float] = {}  #: failing host -> when it may be tried once more

    def load(self, records: list[HostRecord]) -> None:
        self._records = {record.host: record for record in records}
        self._blocked = {record.host for record in records if record.blocked_until}
        self._ends_at = -inf

    def record(self, host: str) -> HostRecord:
        """What is known about a host (nothing, for a new one)."""
        return self._records.get(host) or HostRecord(host=host)

    def blocked_until(self, host: str) -> float:
        """End of the host's back-off, in the past if it has none."""
        record = self._records.get(host)
        return max(record.blocked_until, self._tried.get(host, 0.0)) if record else 0.0

    def blocked(self, now: float) -> set[str]:
        """Hosts whose back-off lasts."""
        if self._ends_at <= now:  # there may be many, and to look at all of them each time takes milliseconds
            ends = {host: self.blocked_until(host) for host in self._blocked}
            self._blocked = {host for host, end in ends.items() if end > now}
            self._ends_at = min((end for end in ends.values() if end > now), default=inf)
        return self._blocked

    def next_unblocked(self, now: float) -> float:
        """When the next back-off ends; inf if there is none."""
        return self._ends_at if self.blocked(now) else inf

    def back_off(self, host: str, now: float, retry_after: float | None) -> float:
        """Pause a host: as long as it asked for, or twice as long as last time; returns the end.

        A second refusal while the pause lasts (requests that were under way) does not double it.
        """
        record = self._changed(host)
        if record.blocked_until <= now or not record.failures:
            record.failures += 1
        pause = doubled(self._first, record.failures - 1, self._longest)
        if retry_after is not None:
            pause = min(max(pause, retry_after), self._longest)
        record.blocked_until = max(record.blocked_until, now + pause)
        self._block(host)
        return record.blocked_until

    def failed(self, host: str, url: str, now: float) -> float | None:
        """A visit got no answer, or a server error; returns the end of the host's pause if it gets one.

        It does when several URLs failed in a row, as one may be broken by itself, and then at every
        failure until there is a proper answer.
        """
        failed = self._failed.setdefault(host, set())
        failed.add(url)
        if not self.is_failing(host) and len(failed) < _PATIENT_FAILURES:
            return None
        del self._failed[host]
        return self.back_off(host, now, None)

    def asked(self, host: str, now: float) -> None:
        """A request is sent; to a host that is failing, no other follows before its outcome can be known."""
        if self.is_failing(host):
            self._tried[host] = now + self._first
            self._block(host)

    def is_failing(self, host: str) -> bool:
        """Whether a host was paused and has given no proper answer since."""
        return self.record(host).failures > 0

    def answered(self, host: str) -> None:
        """A host gave a proper answer: the next back-off starts from the shortest pause."""
        self._failed.pop(host, None)
        if self._tried.pop(host, None):
            self._ends_at = -inf
        if host in self._records and self._records[host].failures:
            self._changed(host).failures = 0

    def forget(self, host: str) -> None:
        """Know nothing of a host any more."""
        self._records.pop(host, None)
        self._dirty.discard(host)
        self._blocked.discard(host)
        self._failed.pop(host, None)
        self._tried.pop(host, None)

    def audited(self, host: str, was_honest: bool) -> None:
        """Note an unconditional visit, and whether a validator would have told the truth."""
        record = self._changed(host)
        record.audits += 1
        record.false_not_modified += not was_honest

    def is_audit_due(self, host: str, share: float, rng: random.Random) -> bool:
        """Whether to check the 304 that a host just gave: all at first, later a share of them.

        Those of a host whose answers are not believed are all checked.
        """
        chance = max(share, 1 / (1 + 3 * self.record(host).audits)) if self.is_honest(host) else 1.0
        return share > 0 and rng.random() < chance

    def may_be_asked(self, host: str, share: float, rng: random.Random) -> bool:
        """Whether to send validators to a host; one on probation gets them at a share of its visits."""
        return self.is_honest(host) or rng.random() < share

    def is_honest(self, host: str) -> bool:
        """Whether the host's 304 answers are to be believed: at most a few of its audits found a lie."""
        record = self.record(host)
        return record.false_not_modified <= _TOLERATED_LIES * record.audits

    def take_changed(self) -> list[HostRecord]:
        """Hosts that changed since the last call, for the writer."""
        changed = [self._records[host] for host in sorted(self._dirty)]
        self._dirty.clear()
        return changed

    def _block(self, host: str) -> None:
        self._blocked.add(host)
        self._ends_at = min(self._ends_at, self.blocked_until(host))

    def _changed(self, host: str) -> HostRecord:
        self._dirty.add(host)
        return self._records.setdefault(host, HostRecord(host=host))
