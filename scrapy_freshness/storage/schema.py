"""The tables.

How the columns are spread over tables follows from what is read and written together:

* ``page`` has the numbers that planning and reports scan, ``page_detail`` the kilobyte that only a visit
  of the page needs. A scan of a million pages reads 0.2 GB instead of 2.
* No index is on a column that a visit changes: every such index makes SQLite write one more page of its
  file per visit, which then costs a quarter more.
* ``visit`` is a pure log. Instead of an index on the page, which scatters writes over the whole file, each
  line names the line before of the same page, and the page names the last: its visits are a linked list.
* ``signal`` is a log, too, but has an index on the page: signals are fewer than visits, and those that wait
  for an answer must be found when it comes.
* What happens per minute, and what becomes of signals, is counted as it is written, so that no report counts
  a log of millions.

Times are unix seconds. Foreign keys are not declared: a batch writes its rows together or not at all.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    func,
    literal_column,
)

#: Characters of a URL that are indexed; PostgreSQL cannot index more than 2,700 bytes.
URL_INDEXED = 200

#: How many page ids each spider has for itself, so that two crawls never give out the same.
PAGE_IDS_PER_SPIDER = 1 << 40

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite stores a row under its key only if the type is spelt INTEGER.
_Key = BigInteger().with_variant(Integer, "sqlite")

spider = Table(
    "spider",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    sqlite_autoincrement=True,  # a number is never given out again: page ids hang on it
)

host = Table(
    "host",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("blocked_until", Double, nullable=False, server_default="0"),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("audits", Integer, nullable=False, server_default="0"),
    Column("false_not_modified", Integer, nullable=False, server_default="0"),
)

page = Table(
    "page",
    metadata,
    Column("page_id", _Key, primary_key=True, autoincrement=False),
    Column("fingerprint", BigInteger, nullable=False),
    Column("spider_id", Integer, nullable=False),
    Column("host_id", Integer, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("importance", Double, nullable=False),
    Column("discovered_at", Double, nullable=False),
    Column("last_visit_at", Double),
    Column("last_change_at", Double),
    Column("not_before", Double, nullable=False),
    Column("visits", Integer, nullable=False),
    Column("changes", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("change_rate", Double, nullable=False),
    Column("change_rate_low", Double, nullable=False),
    Column("change_rate_high", Double, nullable=False),
    Column("http_status", SmallInteger),
    Column("last_visit_id", BigInteger),  # the head of the page's list of visits
    Column("url", Text, nullable=False),
    Column("beliefs", Text),  # JSON, of policies that believe more than the change rate
    Column("found_on", BigInteger),  # page_id of the source that showed it first
    Column("in_links", Integer, nullable=False, server_default="0"),
    Column("importance_from", SmallInteger, nullable=False, server_default="0"),
    Column("pinned_seconds", Double),  # between visits, as somebody wishes; no visit changes it
    # The fingerprint first: no index starts with the spider, so that reading all its pages is a plain scan.
    UniqueConstraint("fingerprint", "spider_id"),
)
Index("ix_page_host_id", page.c.host_id)

#: The start of a URL; spelt out, because an index answers only for the same constants.
url_start = func.substr(page.c.url, literal_column("1"), literal_column(str(URL_INDEXED)))
Index("ix_page_url", url_start)

page_detail = Table(
    "page_detail",
    metadata,
    Column("page_id", _Key, primary_key=True, autoincrement=False),
    Column("request", Text),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("content_hash", BigInteger),
    Column("body_hash", BigInteger),
    Column("run_callback", Boolean, nullable=False),
    Column("history", LargeBinary, nullable=False),
    Column("profiles", LargeBinary, nullable=False),
    Column("signalled", LargeBinary),
    Column("polls", LargeBinary),
    Column("terms", LargeBinary),  # what searchers ask for that is on the page, three bytes a term
    Column("touched", LargeBinary),  # what searchers noticed of its last change
    Column("links", LargeBinary),  # fingerprints of the pages that it links to, if scores count them
)

query_term = Table(
    "query_term",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("term", Text, nullable=False, unique=True),
    Column("frequency", Double, nullable=False),  # how often it was asked for
    sqlite_autoincrement=True,  # a number is never given out again: pages are kept by them
)

query_index = Table(
    "query_index",
    metadata,
    Column("spider_id", Integer, nullable=False),
    Column("scoring", Text, nullable=False),
    Column("pages", BigInteger, nullable=False),
    Column("fitted_at", Double, nullable=False),
    PrimaryKeyConstraint("spider_id"),
)

query_map = Table(
    "query_map",
    metadata,
    Column("spider_id", Integer, nullable=False),
    Column("term_id", Integer, nullable=False),
    Column("results", BigInteger, nullable=False),  # pages that have the term
    # Logarithms of the scores at four ranks, from the first to the last.
    *(Column(f"knot_{number}", Double, nullable=False) for number in range(1, 5)),
    PrimaryKeyConstraint("spider_id", "term_id"),
)

page_group = Table(
    "page_group",
    metadata,
    Column("spider_id", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("state", LargeBinary, nullable=False),  # what estimators have learned of all its pages
    PrimaryKeyConstraint("spider_id", "name"),
)

subscription = Table(
    "subscription",
    metadata,
    Column("token", Text, nullable=False),  # the key: a topic may be too long for an index
    Column("spider_id", Integer, nullable=False),
    Column("callback", Text, nullable=False),
    Column("topic", Text, nullable=False),
    Column("hub", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("found_at", Text, nullable=False),
    Column("lease_seconds", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("next_try_at", Double, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("is_asked", Boolean, nullable=False),
    Column("is_ending", Boolean, nullable=False),
    Column("last_push_at", Double, nullable=False),
    Column("digests", LargeBinary, nullable=False),
    Column("seen", LargeBinary, nullable=False),
    PrimaryKeyConstraint("token"),
)

visit = Table(
    "visit",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("page_id", BigInteger, nullable=False),
    Column("previous_id", BigInteger),  # the visit of the same page before this one
    Column("at", Double, nullable=False, index=True),
    Column("outcome", SmallInteger, nullable=False),
    Column("http_status", SmallInteger),
    Column("divergence", Double),
    Column("body_bytes", BigInteger, nullable=False),
    Column("latency_seconds", Double),
    Column("reason", Text),  # why it failed or was stopped
)

signal_source = Table(
    "signal_source",
    metadata,
    Column("page_id", _Key, primary_key=True, autoincrement=False),
    Column("found", Text, nullable=False),
    Column("found_on", Text, nullable=False),
    Column("is_pinned", Boolean, nullable=False),
    Column("depth", SmallInteger, nullable=False),
    Column("hosts", Text, nullable=False),  # JSON list
    Column("format", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("entries", Integer, nullable=False),
    Column("polls", Integer, nullable=False),
    Column("new_pages", BigInteger, nullable=False),
    Column("signals", BigInteger, nullable=False),
    Column("barren", Integer, nullable=False),
    Column("last_poll_at", Double),
    Column("last_yield", Double, nullable=False),
    Column("oddities", Text, nullable=False),  # JSON object
    Column("hub", Text),
    Column("topic", Text),
    Column("seen", LargeBinary),  # what it said at its last poll, twelve bytes an entry
)

signal = Table(
    "signal",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("page_id", BigInteger, nullable=False),
    Column("source", SmallInteger, nullable=False),
    Column("told_by", BigInteger),  # page_id of a sitemap or feed
    Column("heard_at", Double, nullable=False, index=True),
    Column("claimed_at", Double),
    Column("answered_at", Double),  # the first visit since that saw the page
    Column("changed", Boolean),  # what it found
)
Index("ix_signal_page_id", signal.c.page_id)

hub = Table(
    "hub",
    metadata,
    Column("page_id", _Key, primary_key=True, autoincrement=False),
    Column("found", Text, nullable=False),
    Column("found_on", Text, nullable=False),
    Column("evidence", Text, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("is_unseen", Boolean, nullable=False),
    Column("polls", Integer, nullable=False),
    Column("shown", Integer, nullable=False),
    Column("new_links", BigInteger, nullable=False),
    Column("barren", Integer, nullable=False),
    Column("since", Double, nullable=False),
    Column("last_poll_at", Double),
    Column("rests", Integer, nullable=False),
    Column("next_look_at", Double, nullable=False),
    Column("candidates", LargeBinary, nullable=False),  # links of a main page, 24 bytes each
)

seen_links = Table(
    "seen_links",
    metadata,
    Column("spider_id", Integer, nullable=False),
    Column("host", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("packed", LargeBinary, nullable=False),  # links that its pages have shown, 8 bytes each
    PrimaryKeyConstraint("spider_id", "host", "number"),
)

signal_count = Table(
    "signal_count",
    metadata,
    Column("spider_id", Integer, nullable=False),
    Column("host_id", Integer, nullable=False),  # of the page
    Column("source", SmallInteger, nullable=False),
    Column("heard", BigInteger, nullable=False),
    Column("answered", BigInteger, nullable=False),
    Column("confirmed", BigInteger, nullable=False),
    PrimaryKeyConstraint("spider_id", "host_id", "source"),
)

# What a host took of the budget, and what that brought.
host_count = Table(
    "host_count",
    metadata,
    Column("spider_id", Integer, nullable=False),
    Column("host_id", Integer, nullable=False),
    Column("fetches", BigInteger, nullable=False),  # all requests, with redirects, retries and robots.txt
    Column("redirects", BigInteger, nullable=False),
    Column("retries", BigInteger, nullable=False),
    Column("fruitful", BigInteger, nullable=False),  # that found a first copy, a change or worthy signals
    PrimaryKeyConstraint("spider_id", "host_id"),
)

wish = Table(
    "wish",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("spider_id", Integer, nullable=False),  # whose crawl is to grant it
    Column("kind", SmallInteger, nullable=False),
    Column("page_id", BigInteger),  # None: about a whole host
    Column("what", Text, nullable=False),  # URL or host; it stays when the page is forgotten
    Column("seconds", Double),  # interval that is pinned; None: none any more
    Column("asked_at", Double, nullable=False),
    Column("done_at", Double),
    Column("outcome", Text),
)
_is_waiting = wish.c.done_at.is_(None)
# Asked for at every flush, so it has those that wait only.
Index("ix_wish_waiting", wish.c.spider_id, sqlite_where=_is_waiting, postgresql_where=_is_waiting)

visit_count = Table(
    "visit_count",
    metadata,
    Column("spider_id", Integer, nullable=False),
    Column("minute", BigInteger, nullable=False),  # unix time / 60
    Column("outcome", SmallInteger, nullable=False),
    Column("visits", Integer, nullable=False),
    PrimaryKeyConstraint("spider_id", "minute", "outcome"),
)

fetch_count = Table(
    "fetch_count",
    metadata,
    Column("spider_id", Integer, nullable=False),
    Column("minute", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("fetches", Integer, nullable=False),
    PrimaryKeyConstraint("spider_id", "minute", "kind"),
)

freshness_minute = Table(
    "freshness_minute",
    metadata,
    Column("spider_id", Integer, nullable=False),
    Column("minute", BigInteger, nullable=False),
    Column("freshness", Double, nullable=False),
    Column("uniform_freshness", Double, nullable=False),
    Column("pages", BigInteger, nullable=False),
    Column("price", Double, nullable=False),
    PrimaryKeyConstraint("spider_id", "minute"),
)

crawl = Table(
    "crawl",
    metadata,
    Column("spider_id", Integer, primary_key=True, autoincrement=False),
    Column("policy", Text, nullable=False),
    Column("budget_per_second", Double, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("price", Double, nullable=False),
    Column("delay_seconds", Double, nullable=False, server_default="0"),
)

import_file = Table(
    "import_file",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("format", Text, nullable=False),
    Column("head_bytes", Integer, nullable=False),
    Column("head_digest", LargeBinary, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("lines", BigInteger, nullable=False),
    Column("bad", Text, nullable=False),  # JSON object, reason to count
    Column("counts", Text, nullable=False),  # JSON object
    Column("is_done", Boolean, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
)

# Clicks are added up as they are imported. A click counts half as much for each week that has passed since:
# the sum of a page is in units of clicks of its week.
page_click = Table(
    "page_click",
    metadata,
    Column("page_id", _Key, primary_key=True, autoincrement=False),
    Column("week", Integer, nullable=False),  # unix time / 604800
    Column("clicks", Double, nullable=False),
)

# Feeds that have shown a page, added up in the same way.
page_feed = Table(
    "page_feed",
    metadata,
    Column("page_id", _Key, primary_key=True, autoincrement=False),
    Column("week", Integer, nullable=False),
    Column("feeds", Double, nullable=False),
)

# Clicks on addresses that no page has; of limited size.
waiting_click = Table(
    "waiting_click",
    metadata,
    Column("fingerprint", _Key, primary_key=True, autoincrement=False),
    Column("week", Integer, nullable=False),
    Column("clicks", Double, nullable=False),
    Column("url", Text, nullable=False),
)

# Clicks on the pages that a source has shown, by their age.
source_click = Table(
    "source_click",
    metadata,
    Column("page_id", BigInteger, nullable=False),  # of the source
    Column("bin", SmallInteger, nullable=False),  # age in units of 20 minutes
    Column("clicks", Double, nullable=False),
    PrimaryKeyConstraint("page_id", "bin"),
)

# When clicks on the pages of a host were logged: spans of time, which do not overlap.
click_span = Table(
    "click_span",
    metadata,
    Column("host_id", Integer, nullable=False),
    Column("start_at", Double, nullable=False),
    Column("end_at", Double, nullable=False),
    PrimaryKeyConstraint("host_id", "start_at"),
)

importance_rule = Table(
    "importance_rule",
    metadata,
    Column("fingerprint", _Key, primary_key=True, autoincrement=False),  # of the pattern or the address
    Column("is_prefix", Boolean, nullable=False),
    Column("url", Text, nullable=False),
    Column("importance", Double, nullable=False),
)

# Grows whenever importances or profits of a spider's pages were written by somebody else than its crawl.
revision = Table(
    "revision",
    metadata,
    Column("spider_id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
)
