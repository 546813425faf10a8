"""What every pacing rule offers."""

from typing import Protocol


class Pacing(Protocol):
    """Tells which values are worth a crawl; the constant rate tells when there is room for one."""

    @property
    def floor(self) -> float:
        """The least value that is worth a crawl: 0 spends the whole budget on the best there is."""
        ...
