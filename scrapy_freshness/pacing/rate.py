"""A constant rate of fetches: no bursts after a pause, nothing lost to late timers."""


class ConstantRate:
    """Hands out one place for a fetch every 1/rate seconds.

    Places that were not taken are lost except for those of the last *slack_seconds*, so that a timer
    that fires late does not cost budget and a pause does not cause a burst: in any time t at most
    ``rate * (t + slack_seconds) + 1`` fetches start.
    """

    def __init__(self, per_second: float, now: float, *, slack_seconds: float = 0.12) -> None:
        self.per_second = per_second
        self._gap = 1 / per_second
        self._slack = slack_seconds
        self._next = now

    def next_at(self, now: float) -> float:
        """When the next fetch may start; *now* or earlier means at once."""
        self._next = max(self._next, now - self._slack)
        return self._next

    def spend(self, now: float) -> None:
        """Count a fetch that starts now, whether or not there was a place for it."""
        self._next = self.next_at(now) + self._gap

    def give_back(self) -> None:
        """Return the place of a fetch that was not made after all."""
        self._next -= self._gap
