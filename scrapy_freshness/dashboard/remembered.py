"""Answers that take long are given again for a while, and made anew in the background."""

import math
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, TypeVar

from scrapy_freshness.clock import Clock

T = TypeVar("T")

#: An answer that is older, in units of what it may be, is of no use.
_TOO_OLD = 4.0
#: Answers that are kept.
_MOST = 200


@dataclass(frozen=True, slots=True)
class _Answer:
    value: Any
    made_at: float
    cost: float


class Remembered:
    """The answers of late; who asks for one the first time, or after long, waits for it."""

    def __init__(self, clock: Clock, timer: Callable[[], float], share: float = 0.02) -> None:
        """*timer* tells how long things take; making an answer anew may take this share of the time."""
        self._clock, self._timer, self._share = clock, timer, share
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="dashboard-answers")
        self._lock = threading.Lock()
        self._answers: dict[Hashable, _Answer] = {}
        self._making: dict[Hashable, Future[Any]] = {}

    def answer(self, key: Hashable, make: Callable[[], T], soonest: float = 10.0) -> T:
        """The answer to *key*: not older than some seconds, or than what it takes to make allows.

        Nearly: who asks for one that is a little older gets it at once, and the next a new one.
        """
        known, making = self._asked(key, make, soonest)
        if known is not None:
            value: T = known.value
            return value
        assert making is not None
        made: T = making.result()
        return made

    def soon(
        self, key: Hashable, make: Callable[[], T], soonest: float = 10.0, patience: float = 0.3
    ) -> T | None:
        """The same; None if it takes longer than *patience*, seconds: who asks later will have it.

        Who has no patience at all begins nothing, and has what is known.
        """
        known, making = self._asked(key, make if patience > 0 else None, soonest)
        if known is not None:
            value: T = known.value
            return value
        return making.result() if making is not None and wait([making], max(patience, 0.0)).done else None

    def begin(self, key: Hashable, make: Callable[[], Any], soonest: float = 10.0) -> None:
        """Have the answer made if there is none, so that nobody waits for it later."""
        self._asked(key, make, soonest)

    def last(self, key: Hashable) -> Any:
        """The answer of last time, however old; None if there is none."""
        with self._lock:
            return known.value if (known := self._answers.get(key)) else None

    def close(self) -> None:
        """Make no more answers."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _asked(
        self, key: Hashable, make: Callable[[], Any] | None, soonest: float
    ) -> tuple[_Answer | None, Future[Any] | None]:
        """The answer if it can be given, and the one in the making: one at least, if it may be made."""
        with self._lock:
            known = self._answers.get(key)
            making = self._making.get(key)
            age = self._age(known, soonest)
            if making is None and make is not None and age > 1:
                making = self._making[key] = self._thread.submit(self._make, key, make)
        return (known if age < _TOO_OLD else None), making

    def _age(self, known: _Answer | None, soonest: float) -> float:
        """How old an answer is, in units of what it may be."""
        if known is None:
            return math.inf
        return (self._clock.now() - known.made_at) / max(soonest, known.cost / self._share)

    def _make(self, key: Hashable, make: Callable[[], Any]) -> Any:
        try:
            started = self._timer()
            value = make()
            with self._lock:
                self._answers[key] = _Answer(value, self._clock.now(), self._timer() - started)
                while len(self._answers) > _MOST:
                    del self._answers[next(iter(self._answers))]
            return value
        finally:
            with self._lock:
                del self._making[key]
