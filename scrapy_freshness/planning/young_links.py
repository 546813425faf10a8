"""Do links stay where they were found?  At each poll of a source: are those still there that the last found?

Links leave sources by their age, by their rank, or at random. What counts for how often to poll is whether
those leave that have just appeared, and that is seen at the next poll.
"""

from collections.abc import Collection
from typing import NamedTuple


class Staying(NamedTuple):
    """How the links have fared that were new at the poll before."""

    young: int = 0  #: how many they were; 0 if that is not known
    left: int = 0  #: those that are not shown any more


NOTHING_FOUND = Staying()


class YoungLinks:
    """Remembers what the last poll of each source found.

    >>> links = YoungLinks()
    >>> links.polled(1, shown={10, 11}, new={10, 11})
    Staying(young=0, left=0)
    >>> links.polled(1, shown={11, 12}, new={12})
    Staying(young=2, left=1)
    """

    def __init__(self) -> None:
        self._found: dict[int, frozenset[int]] = {}  #: source -> links

    def polled(self, source: int, shown: Collection[int], new: Collection[int]) -> Staying:
        """A poll of a source shows links, some of which were never seen before."""
        young = self._found.get(source, frozenset())
        self._found[source] = frozenset(new)
        return Staying(len(young), len(young.difference(shown)))

    def unchanged(self, source: int) -> Staying:
        """A poll of a source shows what the one before has shown."""
        young = self._found.get(source, frozenset())
        return Staying(len(young), 0)
