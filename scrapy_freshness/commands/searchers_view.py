"""What searchers have to do with one page: for `show`."""

from typing import Any

from scrapy_freshness.commands.answers import Answers
from scrapy_freshness.config import Config
from scrapy_freshness.crawl.configured import scoring_of
from scrapy_freshness.model import PageRecord
from scrapy_freshness.search.asked import AskedTerms
from scrapy_freshness.search.touched import unpack_touched
from scrapy_freshness.storage.store import Store


def searchers_view(store: Store, config: Config, record: PageRecord, spider: str) -> dict[str, Any] | None:
    """Terms on the page, and what its last change did to their results; None if it was not read for any."""
    if not record.terms and not record.touched:
        return None
    kept = store.load_queries()
    asked = AskedTerms.of(kept)
    touched = unpack_touched(record.touched)
    seen: dict[str, Any] = {
        "terms_on_page": len(asked.read(record.terms).terms) if record.terms else 0,
        "is_behind": asked.is_behind(record.terms),
        "noticed_at": None,
        "gain": None,
        "gain_share": None,
        "n_touched": 0,
        "touched": [],
    }
    if touched is None:
        return seen
    text_of = dict(zip(kept.term_id.tolist(), kept.terms, strict=True))
    terms = zip(touched.term_id.tolist(), touched.gains.tolist(), strict=True)
    answers = Answers.of(store, spider, asked, scoring_of(config))
    total = float(answers.meter.qualities().sum()) if answers is not None else 0.0
    return seen | {
        "noticed_at": touched.at,
        "gain": touched.gain,
        "gain_share": touched.gain / total if total > 0 else None,
        "n_touched": touched.n_terms,
        "touched": [{"term": text_of[number], "gain": gain} for number, gain in terms if number in text_of],
    }
