"""What did the fetches go to that brought nothing new, and what can be done about it?"""

from collections.abc import Iterator
from dataclasses import dataclass

from scrapy_freshness.insight.human import share

#: Share of the waste from which on a kind of it is worth an advice.
_MUCH = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Waste:
    """Fetches, and those that brought no first copy, no change and no signal of worth."""

    fetches: int
    wasted: int
    redirects: int  #: fetches that followed redirects
    retries: int  #: fetches that tried again

    @property
    def in_all(self) -> str:
        """How much it is.

        >>> Waste(fetches=9000, wasted=3150, redirects=900, retries=0).in_all
        'Of 9,000 fetches so far, 35 % brought nothing new'
        """
        return f"Of {self.fetches:,} fetches so far, {share(self._of_fetches)} brought nothing new"

    @property
    def parts(self) -> str:
        """What it consists of; empty if none of it is redirects or retries.

        >>> Waste(fetches=686, wasted=486, redirects=336, retries=10).parts
        '336 followed redirects, 10 tried again, and 140 failed or found nothing new'
        """
        told = list(self._told())
        return ", ".join([*told[:-1], f"and {told[-1]}"] if len(told) > 1 else told)

    @property
    def parts_in_shares(self) -> str:
        """The same in shares of all fetches.

        >>> Waste(fetches=1000, wasted=500, redirects=350, retries=0).parts_in_shares
        '35 % followed redirects, 15 % failed or found nothing new'
        """
        return ", ".join(f"{share(each / max(self.fetches, 1))} {what}" for each, what in self._kinds())

    @property
    def advice(self) -> str:
        """What could make it less."""
        redirects, retries, _ = self._split
        if redirects >= max(retries, _MUCH * self.wasted):
            return (
                "Where addresses redirect for good, let the spider yield their targets: exclude the others "
                "with FRESHNESS_DENY, and forget those that are known: scrapy freshness forget URL. "
                "Where they lead nowhere, REDIRECT_MAX_TIMES says after how many fetches that is found."
            )
        if retries >= _MUCH * self.wasted:
            return (
                "RETRY_TIMES and RETRY_HTTP_CODES say how often, and after which errors, it is tried again."
            )
        return (
            "Most of it is visits that found nothing new, which is the price of looking: whether a page has "
            "changed is known only after a visit. Or they failed: the pages of the host say why."
        )

    @property
    def _of_fetches(self) -> float:
        return self.wasted / max(self.fetches, 1)

    @property
    def _split(self) -> tuple[int, int, int]:
        """Redirects, retries, and all else; never more than was wasted."""
        redirects = min(self.redirects, self.wasted)
        retries = min(self.retries, self.wasted - redirects)
        return redirects, retries, self.wasted - redirects - retries

    def _kinds(self) -> Iterator[tuple[int, str]]:
        redirects, retries, _ = self._split
        if not redirects + retries:
            return iter(())
        names = "followed redirects", "tried again", "failed or found nothing new"
        return ((each, name) for each, name in zip(self._split, names, strict=True) if each)

    def _told(self) -> Iterator[str]:
        return (f"{each:,} {name}" for each, name in self._kinds())
