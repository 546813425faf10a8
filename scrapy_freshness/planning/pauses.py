"""How long to leave alone what did not answer well."""


def doubled(first_seconds: float, times: int, longest_seconds: float) -> float:
    """A pause that doubles with every failure, up to a limit.

    >>> doubled(5, 0, 60), doubled(5, 3, 60), doubled(5, 2000, 60)
    (5.0, 40.0, 60.0)
    """
    return float(min(first_seconds * 2.0 ** min(times, 60), longest_seconds))
