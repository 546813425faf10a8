"""How long do the fragments of a page live?  Read off the sketches of its base versions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scrapy_freshness.content.profiles import Profile


@dataclass(frozen=True, slots=True)
class Life:
    """One sampled fragment: when it was first and last seen, and when it was first missed after that."""

    first_seen: float
    last_seen: float
    missed_at: float | None  #: None if the newest version has it


def lives(profiles: Sequence[Profile]) -> list[Life]:
    """The lives of the fragments that every base version would show if it had them, oldest first.

    A sketch has the fragments with the smallest hashes, so a version with many fragments has room only for
    those below its largest one: whether it has others cannot be told, and they are left out. A fragment that
    comes back begins another life.

    >>> bases = [Profile(at, np.array(sketch, np.uint32), 2, np.empty(0), np.empty(0))
    ...          for at, sketch in ((10.0, [1, 5]), (20.0, [1, 4]), (30.0, [2, 4]))]
    >>> [(life.first_seen, life.last_seen, life.missed_at) for life in lives(bases)]
    [(10.0, 20.0, 30.0), (20.0, 30.0, None), (30.0, 30.0, None)]
    """
    full = [profile for profile in profiles if len(profile.sketch) >= profile.size]
    largest = min((int(profile.sketch[-1]) for profile in full), default=2**32)
    found = []
    for fragment in sorted({int(each) for profile in profiles for each in profile.sketch if each <= largest}):
        life: Life | None = None
        for profile in profiles:
            if np.isin(fragment, profile.sketch):
                life = Life(life.first_seen if life else profile.base_at, profile.base_at, None)
            elif life is not None:
                found.append(Life(life.first_seen, life.last_seen, profile.base_at))
                life = None
        if life is not None:
            found.append(life)
    return sorted(found, key=lambda each: (each.first_seen, each.last_seen, each.missed_at or np.inf))
