r"""Have the siblings of a page changed more than expected since its last visit?

Pages of a host change together: in releases, on election days, or all of them rest. So what visits to other
pages of the host found tells of a page that was not visited meanwhile. A visit that comes after an interval
:math:`I_j` of waiting finds a change (:math:`y_j=1`) or none (0), where one was expected with probability
:math:`p_j`. Both count for the share of the interval that lies after the last visit of page :math:`i`,
:math:`o_{ij} = |I_j\cap[t_i, \infty)|/|I_j|`, and time has passed for the page at the *pace*

.. math:: a_i = \sqrt{\frac{1+\sum_j o_{ij}\,y_j}{1+\sum_j o_{ij}\,p_j}} ,

so that a copy of age :math:`\tau` is as old as one of age :math:`a_i\tau` usually is. Its own visits are over
when page :math:`i` begins to wait, and do not count. The 1 stands for one change that was expected and came;
the root, for siblings that go their own ways.

On recorded pages this predicts what the next visit finds far better than the page's own rate does, however
that is estimated; neither the root nor the 1 matters much. (Where small hosts have pages that change
independently of each other, copies are a little less fresh by it.)

The sums over all visits of a host are functions of :math:`t_i` alone. They are kept at 33 points in time,
a quarter of the host's mean wait apart, with straight lines between them: what is finer than that, the
pace of a page that was visited just now, is off by up to a sixth.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.row_sums import summed_by

FloatArray = NDArray[np.float64]
Groups = NDArray[np.integer]

_N_STEPS = 32
_STEPS = np.arange(_N_STEPS + 1)
#: Steps that the mean wait of a group is long, and those before the present when times are moved.
_STEPS_A_WAIT, _STEPS_BEFORE = 4, 16
#: Of the mean wait, how much is forgotten with each visit.
_FORGETTING = 0.05
_SHORTEST_SECONDS = 1e-3
#: How a group is kept: start, step and wait, then changes seen and expected.
_STATE = np.dtype([("head", "<f8", 3), ("after", "<f4", (2, _N_STEPS + 1))])
_ALONE = -1  # row of groups of which no two pages have been visited


class SiblingPaces:
    """How fast time passes for the pages of groups, by what visits to their siblings found.

    Groups are known by their numbers, from 0. One whose visits were all to the same page has no pace.

    Examples
    --------
    >>> paces = SiblingPaces()
    >>> pages, group = np.array([1, 2, 3, 4]), np.zeros(4, np.intp)
    >>> paces.observe(group, pages, np.zeros(4), np.full(4, 10.0), np.ones(4, np.bool_), np.full(4, 0.25))
    >>> paces.paces(group[:2], np.array([0.0, 10.0])).round(2)
    array([1.58, 1.  ])
    """

    def __init__(self, max_groups: int = 100_000) -> None:
        self._max_groups = max_groups
        self._only_page: dict[int, int] = {}
        self._place = np.full(16, _ALONE, np.int32)  #: of groups, in the arrays that follow
        self._size = 0
        self._start, self._step, self._wait = np.zeros(16), np.ones(16), np.ones(16)
        #: Changes seen and expected after each point in time.
        self._after = np.zeros((16, 2, _N_STEPS + 1))

    def observe(
        self,
        groups: Groups,
        pages: NDArray[np.integer],
        begin: FloatArray,
        end: FloatArray,
        changed: NDArray[np.bool_],
        expected: FloatArray,
    ) -> None:
        """Visits to pages of some groups, in any order.

        Parameters
        ----------
        begin, end : times of the visit before and of this one
        changed : what it found
        expected : p, chance of that by what was believed of the page itself
        """
        length = np.maximum(end - begin, _SHORTEST_SECONDS)
        rows = self._rows(groups, pages, length, end)
        is_known = rows != _ALONE
        if not is_known.any():
            return
        rows, end, length = rows[is_known], end[is_known], length[is_known]
        found = np.stack([changed[is_known].astype(np.float64), expected[is_known]], axis=1)
        self._expect_waits(rows, length)
        is_late = end > self._start[rows] + _N_STEPS * self._step[rows]
        for row in np.unique(rows[is_late]).tolist():
            self._move(row, float(end[rows == row].max()))
        points = self._start[rows, None] + self._step[rows, None] * _STEPS
        share = np.clip((end[:, None] - points) / length[:, None], 0.0, 1.0)
        named, more = summed_by(rows, found[:, :, None] * share[:, None, :])
        self._after[named] += more

    def paces(self, groups: Groups, since: FloatArray) -> FloatArray:
        """Pace of pages of some groups that were visited last at these times; 1 if nothing is known."""
        pace = np.ones(len(groups))
        rows = self._places(groups)
        (known,) = ((rows != _ALONE) & ~np.isnan(since)).nonzero()
        if len(known):
            rows = rows[known]
            steps = np.clip((since[known] - self._start[rows]) / self._step[rows], 0.0, _N_STEPS)
            before = np.minimum(steps.astype(np.intp), _N_STEPS - 1)
            rest = (steps - before)[:, None]
            sums = self._after[rows, :, before] * (1 - rest) + self._after[rows, :, before + 1] * rest
            pace[known] = np.sqrt((1 + sums[:, 0]) / (1 + sums[:, 1]))
        return pace

    def have_pace(self, groups: Groups) -> NDArray[np.bool_]:
        """Of which groups something is known."""
        known: NDArray[np.bool_] = self._places(groups) != _ALONE
        return known

    def pack(self, group: int) -> bytes | None:
        """What is known of a group, 288 bytes; None if nothing is."""
        row = int(self._places(np.array([group]))[0])
        if row == _ALONE:
            return None
        head = self._start[row], self._step[row], self._wait[row]
        return np.array([(head, self._after[row])], _STATE).tobytes()

    def unpack(self, states: Mapping[int, bytes]) -> None:
        """Take over what was known of groups, by their numbers; what cannot be read is left out."""
        numbers = [group for group, state in states.items() if len(state) == _STATE.itemsize]
        groups = np.array(numbers, np.intp)
        known = np.frombuffer(b"".join(states[group] for group in numbers), _STATE)
        is_finite = np.isfinite(known["head"]).all(axis=1) & np.isfinite(known["after"]).all(axis=(1, 2))
        is_sound = is_finite & (known["head"][:, 1:] > 0).all(axis=1)
        groups, known = groups[is_sound], known[is_sound]
        self._places(groups)
        rows = np.array([self._new_row(group) for group in groups.tolist()], np.int32)
        rows, known = rows[rows != _ALONE], known[rows != _ALONE]
        self._start[rows], self._step[rows], self._wait[rows] = known["head"].T
        self._after[rows] = np.maximum(known["after"], 0)

    def _places(self, groups: Groups) -> NDArray[np.int32]:
        if len(groups) and groups.max() >= len(self._place):
            more = np.full(int(groups.max()) + 1, _ALONE, np.int32)
            self._place = np.concatenate([self._place, more])
        places: NDArray[np.int32] = self._place[groups]
        return places

    def _rows(
        self, groups: Groups, pages: NDArray[np.integer], length: FloatArray, end: FloatArray
    ) -> NDArray[np.int32]:
        """Rows of groups; those of which another page than before is visited get one."""
        rows = self._places(groups)
        alone: Sequence[int] = (rows == _ALONE).nonzero()[0].tolist()
        for number in alone:
            group, page = int(groups[number]), int(pages[number])
            if self._only_page.setdefault(group, page) != page and self._place[group] == _ALONE:
                if (row := self._new_row(group)) == _ALONE:
                    continue
                self._wait[row] = length[number]
                self._place_points(row, float(end[number]))
        return self._places(groups)

    def _new_row(self, group: int) -> int:
        """The row of a group that has a place; of one that has none yet the next, while there is room."""
        row = int(self._place[group])
        if row != _ALONE or self._size == self._max_groups:
            return row
        if self._size == len(self._start):
            self._start, self._step, self._wait, self._after = (
                np.concatenate([column, np.zeros_like(column)])
                for column in (self._start, self._step, self._wait, self._after)
            )
        row = self._place[group] = self._size
        self._start[row], self._step[row], self._wait[row] = 0.0, 1.0, 1.0
        self._size += 1
        self._only_page.pop(group, None)
        return row

    def _expect_waits(self, rows: NDArray[np.int32], length: FloatArray) -> None:
        """The mean wait of each group follows those of its visits."""
        known, place, count = np.unique(rows, return_inverse=True, return_counts=True)
        mean = np.bincount(place, length) / count
        self._wait[known] += (1 - (1 - _FORGETTING) ** count) * (mean - self._wait[known])

    def _move(self, row: int, now: float) -> None:
        """Move the points in time: half of them into the past, and as far apart as they should be."""
        before = self._start[row] + self._step[row] * _STEPS
        self._place_points(row, now)
        points = self._start[row] + self._step[row] * _STEPS
        for kind in (0, 1):
            self._after[row, kind] = np.interp(points, before, self._after[row, kind], right=0.0)

    def _place_points(self, row: int, now: float) -> None:
        step = self._step[row] = max(self._wait[row] / _STEPS_A_WAIT, _SHORTEST_SECONDS)
        self._start[row] = now - _STEPS_BEFORE * step
