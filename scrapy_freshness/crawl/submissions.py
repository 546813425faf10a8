"""IndexNow submissions: believed if their key is the host's own.

A key that is not in the settings is read from the host's key file, once a day at most. Until then the URLs
wait, and nothing is done for them if the key is wrong.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from scrapy.http import Response
from scrapy.statscollectors import StatsCollector
from twisted.python.failure import Failure

from scrapy_freshness.clock import Clock
from scrapy_freshness.crawl.announcing import Announced
from scrapy_freshness.crawl.known_hosts import KnownHosts
from scrapy_freshness.crawl.ping_contract import SendsRequests, TakesAnnouncements
from scrapy_freshness.crawl.ping_errands import key_request
from scrapy_freshness.errors import PingError
from scrapy_freshness.model import SignalSource
from scrapy_freshness.signals.indexnow import Submission, shows_key

#: How long the answer of a key file is believed: with the key, with another, or no answer.
_RIGHT_SECONDS, _WRONG_SECONDS, _UNREADABLE_SECONDS = 86_400.0, 600.0, 60.0
_MOST_KEYS = 10_000
#: URLs that wait for key files, all together.
_MOST_WAITING = 100_000
_MOST_KEY_FILE_BYTES = 4096
_OK, _PENDING, _FORBIDDEN, _UNPROCESSABLE, _TOO_MANY = 200, 202, 403, 422, 429


@dataclass(slots=True)
class _Key:
    """What is known about a key."""

    is_right: bool | None = None  #: None until the file is read
    until: float = float("inf")
    waiting: dict[str, None] = field(default_factory=dict)  #: URLs


class Submissions:
    """Takes submissions of hosts whose pages are kept fresh."""

    def __init__(
        self,
        keys: Mapping[str, str],
        hosts: KnownHosts,
        send: SendsRequests,
        announcements: TakesAnnouncements,
        clock: Clock,
        stats: StatsCollector,
    ) -> None:
        self._configured = keys
        self._hosts = hosts
        self._send = send
        self._announcements = announcements
        self._clock = clock
        self._stats = stats
        self._keys: dict[tuple[str, str], _Key] = {}  #: by address of the file and key; oldest first
        self._n_waiting = 0

    def take(self, submission: Submission) -> int:
        """Take a submission and return its HTTP status; raises PingError if it is refused."""
        if not self._hosts.is_known(submission.host, submission.urls):
            raise PingError(_UNPROCESSABLE, f"no pages of {submission.host} are kept here", "unknown_host")
        configured = self._configured.get(submission.host)
        if configured is not None:
            if not hmac.compare_digest(configured, submission.key):
                raise _wrong_key()
            self._announce(submission.urls)
            return _OK
        return self._take_unproven(submission)

    def _take_unproven(self, submission: Submission) -> int:
        now = self._clock.now()
        name = submission.key_url, submission.key
        key = self._keys.get(name)
        if key is not None and key.until <= now:
            del self._keys[name]
            key = None
        if key is None:
            key = self._ask_for(submission, now)
        if key.is_right is None:
            self._wait(key, submission.urls)
            return _PENDING
        if not key.is_right:
            raise _wrong_key()
        self._announce(submission.urls)
        return _OK

    def _ask_for(self, submission: Submission, now: float) -> _Key:
        name = submission.key_url, submission.key
        request = key_request(
            submission.key_url,
            _MOST_KEY_FILE_BYTES,
            partial(self._file_read, name),
            partial(self._file_not_read, name),
        )
        if not self._send(request, submission.host, now):
            raise PingError(_TOO_MANY, "too many keys to check; try again later", "too_often")
        self._stats.inc_value("freshness/pings/key_files")
        key = self._keys[name] = _Key()
        if len(self._keys) > _MOST_KEYS:
            dropped = self._keys.pop(next(iter(self._keys)))
            self._n_waiting -= len(dropped.waiting)
        return key

    def _wait(self, key: _Key, urls: list[str]) -> None:
        if self._n_waiting + len(urls) > _MOST_WAITING:
            raise PingError(_TOO_MANY, "too many URLs wait for a key; try again later", "too_often")
        before = len(key.waiting)
        key.waiting |= dict.fromkeys(urls)
        self._n_waiting += len(key.waiting) - before

    def _file_read(self, name: tuple[str, str], response: Response) -> None:
        is_right = response.status == _OK and shows_key(response.body, name[1])
        self._judge(name, is_right, _RIGHT_SECONDS if is_right else _WRONG_SECONDS)

    def _file_not_read(self, name: tuple[str, str], failure: Failure) -> None:
        self._judge(name, False, _UNREADABLE_SECONDS)

    def _judge(self, name: tuple[str, str], is_right: bool, seconds: float) -> None:
        key = self._keys.get(name)
        if key is None:
            return
        urls, key.waiting = list(key.waiting), {}
        self._n_waiting -= len(urls)
        key.is_right, key.until = is_right, self._clock.now() + seconds
        if is_right:
            self._announce(urls)
        else:
            self._stats.inc_value(f"freshness/pings/refused/{_wrong_key().counted_as}")

    def _announce(self, urls: list[str]) -> None:
        self._stats.inc_value("freshness/pings/indexnow_urls", len(urls))
        entries = [Announced(url, None) for url in urls]
        self._announcements.take(entries, SignalSource.PING, told_by=None, now=self._clock.now())


def _wrong_key() -> PingError:
    return PingError(_FORBIDDEN, "the key is not that of the host", "wrong_key")
