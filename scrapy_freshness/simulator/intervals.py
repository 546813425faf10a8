"""What every interval rule offers: when to fetch a page again, from what the fetches so far have found.

A rule holds the numbers of a crawler's configuration; what it remembers of a page is in the state that it
hands out, so one rule serves all pages. None of these rules knows a budget: to compare at equal budgets all
intervals are scaled by one common factor (`IntervalRule.scaled`, `equal_budget.factor_for_fetches`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, TypeVar, runtime_checkable


@dataclass(frozen=True, slots=True)
class IntervalState:
    """When a page is fetched next; rules add what they remember of it."""

    interval_seconds: float
    next_at: float  #: seconds, inf: never


StateT = TypeVar("StateT", bound=IntervalState)


class Finding(NamedTuple):
    """What another fetch of a page found: the arguments of `IntervalRule.after`."""

    now: float
    changed: bool | None
    failed: bool = False


class IntervalRule(Protocol[StateT]):
    """Tells after each fetch of a page when the next one is due."""

    def first(self, now: float) -> StateT:
        """State of a page that is fetched for the first time now."""
        ...

    def after(self, state: StateT, now: float, changed: bool | None, failed: bool = False) -> StateT:
        """State after another fetch.

        Parameters
        ----------
        now : seconds, when the fetch was made
        changed : whether the page differs from the copy of the fetch before; None: it was not compared
        failed : the fetch brought no copy (an error or a redirect); *changed* does not count then
        """
        ...

    def scaled(self, factor: float) -> Self:
        """Return the rule whose every interval, limits included, is *factor* times as long."""
        ...


@runtime_checkable
class FeedRule(Protocol):
    """A rule that goes by the entries of feeds, rather than by whether these have changed."""

    def noted(self, state: Any, published_at: Iterable[float]) -> Any:
        """State that knows of new entries, before `after` is called with ``changed=None``."""
        ...


@runtime_checkable
class BatchRule(Protocol):
    """A rule that learns from fetches of many pages in much less time than from one after the other."""

    def after_all(self, seen: Sequence[tuple[Any, Finding]]) -> list[Any]:
        """States of pages after another fetch of each, from their states before."""
        ...
