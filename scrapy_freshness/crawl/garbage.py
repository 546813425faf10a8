"""Garbage collection for a process that makes many short-lived objects and lives for weeks."""

import gc

#: Net allocations that start a collection; Scrapy makes some hundred objects at once for every response.
_YOUNG_OBJECTS = 10_000


class RareCollection:
    """Exempts all that exists from garbage collection, and has the rest looked through more rarely.

    With Python's defaults a busy crawl is collecting all the time, and a full collection stops it for
    about 100 ms to look through every module that was ever imported.

    The collector belongs to the process, and so does an object of this class: crawls that share a process
    share it. The first `begin` changes the collector, the last `end` puts it back as it was.
    """

    def __init__(self) -> None:
        self._users: set[object] = set()
        self._threshold = gc.get_threshold()

    def begin(self, user: object) -> None:
        """Collect rarely until this user, and all others, have ended it."""
        if not self._users:
            gc.collect()
            gc.freeze()
            self._threshold = young, *older = gc.get_threshold()
            if young:  # else the user has switched collection off
                gc.set_threshold(max(young, _YOUNG_OBJECTS), *older)
        self._users.add(user)

    def end(self, user: object) -> None:
        """Does nothing if this user has not begun it."""
        if user in self._users:
            self._users.remove(user)
            if not self._users:
                gc.unfreeze()
                gc.set_threshold(*self._threshold)


#: The one of this process.
rare_collection = RareCollection()
