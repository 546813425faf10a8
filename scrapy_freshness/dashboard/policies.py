"""Policies: what would others have made of this crawl's own history?"""

from typing import Any
from urllib.parse import urlencode

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from scrapy_freshness.dashboard.charts import Chart, Key
from scrapy_freshness.dashboard.desk import Asked
from scrapy_freshness.dashboard.forms import form_of
from scrapy_freshness.dashboard.svg import Drawing, even_ticks
from scrapy_freshness.insight.human import rate, share
from scrapy_freshness.insight.own_history import Question, Trial, lead_at
from scrapy_freshness.planning.policy import POLICY_NAMES
from scrapy_freshness.simulator.contest import RIVAL_NAMES

#: What may be tried, beside the crawl's own policy; what it is in a few words.
CHOICES = {
    "holistic": "the default",
    "uniform": "every page in turn",
    "greedy": "by change rates alone",
    "greedy-expected": "by change rates in doubt",
    "longevity-curve": "by fragments that stay",
    "nutch-adaptive": "as Nutch does",
    "stormcrawler-adaptive": "as StormCrawler does",
    "optimum": "if all rates were known",
}
_USUAL = ("uniform", "optimum")
#: Multiples of the present budget.
FACTORS = {"0.25": "¼", "0.5": "½", "1": "1", "2": "2", "4": "4"}
_USUAL_FACTORS = ("0.5", "1", "2")
#: Pages that are tried on: more take longer and hardly change the answer.
_MOST_PAGES = 400
_CLASSES = ("c1", "c2", "c3", "c4", "c5", "c6", "bad", "c7")


def show(request: Request) -> Response:
    """The form, and what the last replay has brought."""
    asked = Asked(request)
    if asked.spider is None:
        return asked.answer("empty.html")
    own = asked.sight.terms.policy.name
    names = {own: "the policy of this crawl", **{name: told for name, told in CHOICES.items() if name != own}}
    return asked.answer(
        "policies.html",
        names={name: told for name, told in names.items() if _is_known(name)},
        factors=FACTORS,
        checked={own, *_USUAL},
        checked_factors=_USUAL_FACTORS,
        budget=asked.sight.terms.budget_per_second,
        **_result(asked),
    )


def show_result(request: Request) -> Response:
    """The part that follows the replay."""
    asked = Asked(request)
    if asked.spider is None:
        return Response(status_code=204)
    return asked.answer("_policies.html", **_result(asked))


async def start(request: Request) -> Response:
    """Begin or stop a replay."""
    form = await form_of(request)
    return await run_in_threadpool(_started, Asked(request), form)


def _started(asked: Asked, form: dict[str, list[str]]) -> Response:
    given = form.get("spider", [""])[-1]
    if given in asked.spiders:
        asked.spider = given
    if asked.spider is None:
        raise HTTPException(404)
    if "stop" in form:
        asked.desk.replays.stop(asked.spider)
    else:
        question = _question(asked, form)
        if question is not None:
            asked.desk.replays.start(question)
    return RedirectResponse("/policies?" + urlencode({"spider": asked.spider}), 303)


def _question(asked: Asked, form: dict[str, list[str]]) -> Question | None:
    """What the form asks for; None if that is nothing."""
    assert asked.spider is not None
    sight = asked.sight
    policies = [name for name in form.get("policy", []) if _is_known(name)]
    factors = [float(factor) for factor in form.get("factor", []) if factor in FACTORS]
    was_visited = np.flatnonzero(sight.has_copy & (sight.census.columns["visits"] > 1))
    sample = was_visited[:: max(1, -(-len(was_visited) // _MOST_PAGES))]
    if not policies or not factors or not len(sample):
        return None
    budget = sight.terms.budget_per_second
    of_all = len(sample) / max(1, int(np.count_nonzero(sight.has_copy)))
    return Question(
        spider=asked.spider,
        page_ids=sight.census.columns["page_id"][sample].tolist(),
        policies=list(dict.fromkeys(policies)),
        budgets_per_second=[factor * of_all * budget for factor in sorted(set(factors))],
        learn="learn" in form,
    )


def _result(asked: Asked) -> dict[str, Any]:
    assert asked.spider is not None
    replaying = asked.desk.replays.of(asked.spider)
    trial = replaying.trial if replaying else None
    sight = asked.sight
    comparable = int(np.count_nonzero(sight.has_copy & (sight.census.columns["visits"] > 1)))
    scale = 1.0
    if replaying and trial:
        scale = max(1, int(np.count_nonzero(sight.has_copy))) / len(replaying.question.page_ids)
    return {
        "replaying": replaying,
        "trial": trial,
        "lead": _lead(trial, scale, sight.terms.budget_per_second) if trial else "",
        "chart": _chart(trial, scale, sight.terms.budget_per_second) if trial else None,
        "is_busy": asked.desk.replays.is_busy,
        "comparable": comparable,
    }


def _lead(trial: Trial, scale: float, present: float) -> str:
    """Which policy was ahead at the budget next to the present one; nothing without a rival."""
    lead = lead_at(trial, present / scale)
    if lead is None:
        return ""
    first, second = lead.first, lead.second
    told = (
        f"At {rate(scale * first.budget_per_second)}, {first.policy} was ahead of {second.policy}: "
        f"{share(first.freshness or 0.0)} against {share(second.freshness or 0.0)}"
    )
    if lead.error is None:
        return f"{told}."
    within = "more than" if lead.is_clear else "within"
    return f"{told}, which is {within} the error ({share(lead.error)})."


def _chart(trial: Trial, scale: float, present: float) -> Chart | None:
    """Freshness over the budget, a line for each policy."""
    found = [each for each in trial.results if each.freshness is not None]
    if not found:
        return None
    names = list(dict.fromkeys(each.policy for each in found))
    budgets = sorted({scale * each.budget_per_second for each in found})
    lowest = min(each.freshness or 0.0 for each in found)
    ticks = even_ticks(max(0.0, float(np.floor(10 * lowest - 0.5)) / 10), 1.0)
    drawing = Drawing.of((budgets[0] / 1.3, budgets[-1] * 1.3), (ticks[0], 1.0), log_x=True, height=300)
    drawing.y_axis(ticks, lambda tick: f"{100 * tick:g} %")
    drawing.x_axis(budgets, rate, "budget")
    if budgets[0] / 1.3 <= present <= budgets[-1] * 1.3:
        drawing.down(present, "budget", "the present budget")
    for name, class_ in zip(names, _CLASSES * 3, strict=False):
        own = sorted(
            (scale * each.budget_per_second, each.freshness or 0.0, each.stderr)
            for each in found
            if each.policy == name
        )
        drawing.line([x for x, _, _ in own], [y for _, y, _ in own], f"{class_} thick")
        for x, y, error in own:
            if error:
                drawing.line([x, x], [y - error, y + error], class_)
            drawing.point(x, y, class_, f"{name}: {share(y)} at {rate(x)}", 4.5)
    keys = [Key(name, class_) for name, class_ in zip(names, _CLASSES * 3, strict=False)]
    rows = [
        (
            each.policy,
            rate(scale * each.budget_per_second),
            share(each.freshness or 0.0),
            share(each.stderr or 0.0),
        )
        for each in found
    ]
    heads = ["policy", "budget", "freshness", "standard error"]
    return Chart(drawing.svg("Freshness over the budget, by policy"), keys, heads, rows)


def _is_known(name: str) -> bool:
    return name in POLICY_NAMES or name in RIVAL_NAMES or name == "optimum"
