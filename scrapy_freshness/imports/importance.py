"""Importances of pages: addresses with a number, or beginnings of addresses, which end with ``*``."""

from collections.abc import Sequence
from typing import NamedTuple

from scrapy_freshness.imports.contract import Format
from scrapy_freshness.imports.numerals import TOO_LARGE, number_of
from scrapy_freshness.imports.tables import Csv, Field, JsonLines
from scrapy_freshness.signals.addresses import read_address

FIELDS = (
    Field("url", ("page", "address", "loc", "pattern", "prefix")),
    Field("importance", ("weight", "value", "score", "priority", "rate"), is_number=True),
)


class Importance(NamedTuple):
    """What one line says."""

    url: str  #: without the ``*``
    importance: float
    is_prefix: bool


class ImportanceRows:
    """Takes the rows of one block."""

    def __init__(self) -> None:
        self._found: list[Importance] = []

    def add(self, row: Sequence[str]) -> None:
        """Take a row; `ValueError` says why not."""
        url, number = row
        is_prefix = url.endswith("*")
        address = read_address(url.removesuffix("*"))
        if address is None:
            raise ValueError("no usable URL")
        self._found.append(Importance(address.url, importance_of(number), is_prefix))

    def batch(self) -> list[Importance]:
        """All that the rows say."""
        return self._found


def importance_of(text: str) -> float:
    """A number above 0; `ValueError` says why it is none."""
    value = number_of(text)
    if not 0 < value < TOO_LARGE:
        raise ValueError("importance must be above 0, and below 1e15")
    return value


def formats() -> list[Format[list[Importance]]]:
    """How importances may be written."""
    return [JsonLines(FIELDS, ImportanceRows), Csv(FIELDS, ImportanceRows)]
