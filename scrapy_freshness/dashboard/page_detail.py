"""One page: what is known of it, and why it is visited when it is."""

import math
import shlex
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from scrapy_freshness.content.profiles import unpack
from scrapy_freshness.dashboard.actions import DONE
from scrapy_freshness.dashboard.desk import Asked
from scrapy_freshness.dashboard.page_charts import (
    divergence_chart,
    posterior_chart,
    stripes_chart,
    timeline_chart,
    utility_at,
)
from scrapy_freshness.estimation.divergence_curve import FittedCurve, fit_curve
from scrapy_freshness.estimation.history import never_changed
from scrapy_freshness.insight.case import case_of
from scrapy_freshness.insight.clockwork import MOST_VISITS, busiest_hours, hourly_changes
from scrapy_freshness.insight.fragments import lives
from scrapy_freshness.insight.pinning import written_interval
from scrapy_freshness.insight.posterior import posterior_of
from scrapy_freshness.insight.reasons import Case, answer, sentences
from scrapy_freshness.insight.rows import is_assumed, row_of
from scrapy_freshness.model import PageRecord
from scrapy_freshness.planning.longevity_learners import points_of
from scrapy_freshness.storage.live_reports import pages_with_ids
from scrapy_freshness.storage.page_reports import page_visits
from scrapy_freshness.storage.signal_reports import page_signals
from scrapy_freshness.storage.wishes import page_wishes

_SHOWN_VISITS = 25
#: Width of a 90 % interval, in standard deviations.
_WIDTH90 = 2 * 1.6448536269514722


def show(request: Request) -> Response:
    """Everything about one page."""
    asked = Asked(request)
    page_id: int = request.path_params["page_id"]
    store = asked.desk.store
    found = pages_with_ids(store, [page_id])
    records = store.load_records([page_id]) if found else []
    if not records:
        raise HTTPException(404, "There is no such page")
    page, record = found[0], records[0]
    asked.spider = page.spider
    visits = page_visits(store, page_id, MOST_VISITS)
    signals = page_signals(store, page_id, 200)
    sight = asked.sight
    case = None
    if not record.kind.is_polled:
        others = sight.terms, sight.outlook, sight.reach
        case = case_of(store, asked.desk.config, record, page.spider, asked.now, others)
    hourly = hourly_changes(visits)
    return asked.answer(
        "page.html",
        record=record,
        page=page,
        is_assumed=is_assumed(row_of(page, page.spider)),
        case=case,
        answer=answer(case, asked.now) if case else None,
        reasons=sentences(case, asked.now) if case else [],
        visits=visits[:_SHOWN_VISITS],
        n_visits=len(visits),
        attempt=visits[0] if visits and not visits[0].outcome.saw_content else None,
        signals=signals[:_SHOWN_VISITS],
        busiest=busiest_hours(hourly) if hourly else None,
        timeline=timeline_chart(visits[:400], signals, asked.now) if visits or signals else None,
        commands=_commands(record),
        wishes=[wish for wish in page_wishes(store, page_id, 20) if wish.done_at is None],
        every=written_interval(record.pinned_seconds) if record.pinned_seconds else "1h",
        may_act=asked.desk.open_store is not None,
        done=DONE.get(asked.text("done")),
        **_content(record, case),
        **_belief(asked, record, page.spider, len(sight)),
    )


def _content(record: PageRecord, case: Case | None) -> dict[str, Any]:
    """How the content of the page moves, as far as its profiles tell."""
    try:
        profiles = unpack(record.profiles)
    except ValueError:
        profiles = ()
    points = points_of(record)
    if case is None or not any(len(elapsed) for elapsed, _ in points):
        return {"fit": None, "divergence": None, "stripes": None, "utility": math.nan}
    fit = _fit(record)
    interval = case.interval_seconds
    found = lives(profiles) if len(profiles) > 1 else []
    until = record.last_visit_at or max(profile.base_at for profile in profiles)
    return {
        "fit": fit,
        "divergence": divergence_chart(points, fit, interval),
        "utility": utility_at(fit, interval),
        "stripes": stripes_chart(found, until) if found else None,
    }


def _fit(record: PageRecord) -> FittedCurve:
    """The curve that the longevity policies would believe in."""
    low, high = record.change_rate_low, record.change_rate_high
    return fit_curve(
        points_of(record),
        record.change_rate,
        math.log(high / low) / _WIDTH90 if low > 0 else 3.0,
        unchanged_visits=record.visits - 1 if never_changed(record.history) else 0,
    )


def _belief(asked: Asked, record: PageRecord, spider: str, known: int) -> dict[str, Any]:
    budget = asked.sight.terms.budget_per_second
    found = posterior_of(asked.desk.store, asked.desk.config, record, spider, max(known, 1) / budget)
    return {"posterior": posterior_chart(found, record.change_rate) if found else None}


def _commands(record: PageRecord) -> list[tuple[str, str]]:
    """What a reader may want to do, and the command that does it; quoted, as the address is a stranger's."""
    if not record.url.isprintable():
        return []
    url = shlex.quote(record.url)
    return [
        ("Everything that is known", f"scrapy freshness show {url}"),
        ("Why it is visited when it is", f"scrapy freshness why {url}"),
        ("Visit it now", f"scrapy freshness visit {url}"),
        ("Pin its interval", f"scrapy freshness pin {url} --every 1h"),
        ("Forget it", f"scrapy freshness forget {url}"),
    ]
