"""Write one batch: what the crawl learned since the last flush."""

from collections import Counter
from dataclasses import astuple

from sqlalchemy import Connection, Table, bindparam, delete, func, select, text, update

from scrapy_freshness.model import Batch, CrawlState, Outcome, PageRecord, Subscription, VisitRecord
from scrapy_freshness.storage.bulk import BulkInsert, BulkSelect, BulkUpdate, replacing, upsert
from scrapy_freshness.storage.feed_rows import write_shown
from scrapy_freshness.storage.hub_rows import write_hubs
from scrapy_freshness.storage.query_rows import write_maps
from scrapy_freshness.storage.rows import (
    clean,
    detail_row,
    host_name,
    host_row,
    number,
    page_row,
    subscription_row,
    visit_row,
)
from scrapy_freshness.storage.schema import (
    crawl,
    fetch_count,
    freshness_minute,
    host,
    host_count,
    page,
    page_detail,
    page_group,
    spider,
    subscription,
    visit,
    visit_count,
)
from scrapy_freshness.storage.signal_rows import write_signals
from scrapy_freshness.storage.wish_rows import end_wishes

# What makes a page this page never changes. Its host hardly ever does, and is indexed: see _write_pages.
_FIXED = {
    *("page_id", "fingerprint", "spider_id", "host_id", "discovered_at", "last_visit_id", "url"),
    *("importance", "importance_from", "found_on", "in_links"),
    "pinned_seconds",  # who wishes it writes it
}

_upsert_pages = upsert(
    page,
    page.c.keys(),
    ["page_id"],
    [
        *replacing(column.name for column in page.c if column.name not in _FIXED),
        "last_visit_id = coalesce(excluded.last_visit_id, page.last_visit_id)",
        # An import may have written an importance that the crawl does not know yet.
        "importance = CASE WHEN page.importance_from = 0 THEN excluded.importance ELSE page.importance END",
    ],
)
_upsert_details = upsert(page_detail, page_detail.c.keys(), ["page_id"], replacing(page_detail.c.keys()[1:]))
# Crawls of several spiders may know a host, each as it was at its start and what it has seen since: evidence
# of false answers is not taken back by those who have less of it. By the id: PostgreSQL would take another
# from its sequence for every row that has none.
_upsert_hosts = upsert(
    host,
    host.c.keys(),
    ["id"],
    [
        *replacing(["blocked_until", "failures"]),
        *(
            f"{name} = CASE WHEN excluded.{name} > host.{name} THEN excluded.{name} ELSE host.{name} END"
            for name in ("audits", "false_not_modified")
        ),
    ],
)
_upsert_state = upsert(crawl, crawl.c.keys(), ["spider_id"], replacing(crawl.c.keys()[1:]))
upsert_groups = upsert(page_group, page_group.c.keys(), ["spider_id", "name"], replacing(["state"]))
_upsert_subscriptions = upsert(
    subscription, subscription.c.keys(), ["token"], replacing(subscription.c.keys()[2:])
)
_delete_subscription = delete(subscription).where(subscription.c.token == bindparam("ended"))
_add_links = BulkUpdate(page, "page_id", ["in_links"], adds=True)
_insert_visits = BulkInsert(visit, visit.c.keys())
_count_visits = upsert(
    visit_count,
    visit_count.c.keys(),
    ["spider_id", "minute", "outcome"],
    ["visits = visit_count.visits + excluded.visits"],
)
_count_fetches = upsert(
    fetch_count,
    fetch_count.c.keys(),
    ["spider_id", "minute", "kind"],
    ["fetches = fetch_count.fetches + excluded.fetches"],
)
_upsert_freshness = upsert(
    freshness_minute,
    freshness_minute.c.keys(),
    ["spider_id", "minute"],
    replacing(freshness_minute.c.keys()[2:]),
)
_TAKEN = host_count.c.keys()[2:]
_COUNTED_APART = {"redirect": "redirects", "retry": "retries"}
_add_taken = upsert(
    host_count,
    host_count.c.keys(),
    ["spider_id", "host_id"],
    [f"{name} = host_count.{name} + excluded.{name}" for name in _TAKEN],
)
_insert_named = {
    table: BulkInsert(table, ["name"], "ON CONFLICT (name) DO NOTHING") for table in (spider, host)
}
_select_named = {
    table: BulkSelect(select(table.c.name, table.c.id), table.c.name) for table in (spider, host)
}
_lock_pages = BulkSelect(
    select(page.c.page_id, page.c.host_id, page.c.last_visit_id).order_by(page.c.page_id).with_for_update(),
    page.c.page_id,
)
_last_visit_id = select(func.max(visit.c.id))
_next_visit_ids = text(
    "SELECT array_agg(nextval(pg_get_serial_sequence('visit', 'id'))) FROM generate_series(1, :count)"
)
_this_page = page.c.page_id == bindparam("this_page")
_set_host = update(page).where(_this_page).values(host_id=bindparam("to"))
_set_last_visit = update(page).where(_this_page).values(last_visit_id=bindparam("to"))


class BatchWriter:
    """Writes batches; remembers the numbers of hosts it has met."""

    def __init__(self) -> None:
        self._host_ids: dict[str, int] = {}

    def write(self, connection: Connection, spider_id: int, batch: Batch) -> None:
        """Write all of a batch, as part of the connection's transaction."""
        try:
            self._write_hosts(connection, batch)
            pages = {record.page_id: record for record in batch.pages}
            # All that are written below, at once and sorted: imports write pages in this order, too, so that
            # nobody waits in a circle.
            page_ids = pages.keys() | {record.page_id for record in batch.visits} | batch.links.keys()
            known = {row[0]: (row[1], row[2]) for row in _lock_pages(connection, map(int, page_ids))}
            last_visits = _log_visits(connection, batch.visits, known)
            self._write_pages(connection, spider_id, pages, known, last_visits)
            _add_links(connection, sorted(batch.links.items()))
            write_signals(connection, spider_id, batch)
            write_shown(connection, batch.shown)
            write_hubs(connection, spider_id, batch)
            _count(connection, spider_id, batch)
            self._count_hosts(connection, spider_id, batch, pages, known)
            groups = {clean(name): state for name, state in batch.groups.items()}
            upsert_groups(connection, [(spider_id, name, state) for name, state in groups.items()])
            _write_subscriptions(connection, spider_id, batch.subscriptions)
            end_wishes(connection, batch.wishes)
            if batch.maps is not None:
                write_maps(connection, spider_id, batch.maps)
            if batch.state is not None:
                _upsert_state(connection, [_state_row(spider_id, batch.state)])
        except BaseException:
            self._host_ids.clear()  # some may be of the transaction that is about to be undone
            raise

    def _write_hosts(self, connection: Connection, batch: Batch) -> None:
        keys = {record.host for record in batch.pages}
        keys |= {record.host for record in batch.hosts} | {key for key, _ in batch.host_fetches}
        unknown = {host_name(key) for key in keys} - self._host_ids.keys()
        if unknown:
            self._host_ids.update(numbers_of(connection, host, unknown))
        # New names first and everything sorted: two crawls that know the same hosts never wait in a circle.
        rows = {self._host_ids[host_name(record.host)]: host_row(record) for record in batch.hosts}
        _upsert_hosts(connection, [(host_id, *row) for host_id, row in sorted(rows.items())])

    def _write_pages(
        self,
        connection: Connection,
        spider_id: int,
        pages: dict[int, PageRecord],
        known: dict[int, tuple[int, int | None]],
        last_visits: dict[int, int],
    ) -> None:
        hosts = {record.host for record in pages.values()}
        host_ids = {key: self._host_ids[host_name(key)] for key in hosts}
        _upsert_pages(
            connection,
            [
                page_row(record, spider_id, host_ids[record.host], last_visits.pop(page_id, None))
                for page_id, record in sorted(pages.items())
            ],
        )
        _upsert_details(connection, [detail_row(record) for record in pages.values()])
        # Part of the upsert, this would make SQLite rewrite the index on the host for every page.
        moved = [
            {"this_page": page_id, "to": host_ids[pages[page_id].host]}
            for page_id, (host_id, _) in known.items()
            if page_id in pages and host_ids[pages[page_id].host] != host_id
        ]
        if moved:
            connection.execute(_set_host, moved)
        others = [{"this_page": page_id, "to": visit_id} for page_id, visit_id in last_visits.items()]
        if others:  # visits of pages that are not in the batch
            connection.execute(_set_last_visit, others)

    def _count_hosts(
        self,
        connection: Connection,
        spider_id: int,
        batch: Batch,
        pages: dict[int, PageRecord],
        known: dict[int, tuple[int, int | None]],
    ) -> None:
        """Add to what the hosts took of the budget, and what that brought."""
        sums: dict[int, Counter[str]] = {}
        for (key, kind), count in batch.host_fetches.items():
            taken = sums.setdefault(self._host_ids[host_name(key)], Counter())
            taken["fetches"] += int(count)
            taken[_COUNTED_APART.get(kind, "")] += int(count)
        for record in batch.visits:
            page_id = record.page_id
            if record.is_fruitful and (page_id in pages or page_id in known):
                is_new = page_id in pages
                host_id = self._host_ids[host_name(pages[page_id].host)] if is_new else known[page_id][0]
                sums.setdefault(host_id, Counter())["fruitful"] += 1
        rows = [(spider_id, key, *(taken[name] for name in _TAKEN)) for key, taken in sorted(sums.items())]
        _add_taken(connection, rows)


def numbers_of(connection: Connection, table: Table, names: set[str]) -> dict[str, int]:
    """The ids of hosts or spiders; those that are new get one."""
    found = dict(_select_named[table](connection, names))
    missing = names - found.keys()
    if missing:
        # Another crawl may add the same name at this moment; who comes second finds it.
        _insert_named[table](connection, [(name,) for name in sorted(missing)])
        found |= dict(_select_named[table](connection, missing))
    return found


def _log_visits(
    connection: Connection, visits: list[VisitRecord], known: dict[int, tuple[int, int | None]]
) -> dict[int, int]:
    """Append to the log, linking each visit to the one before of its page; returns the last of each."""
    rows, last_visits = [], dict[int, int]()
    for visit_id, record in zip(_new_visit_ids(connection, len(visits)), visits, strict=True):
        previous = last_visits.get(record.page_id) or known.get(record.page_id, (0, None))[1]
        rows.append(visit_row(record, visit_id, previous))
        last_visits[record.page_id] = visit_id
    _insert_visits(connection, rows)
    return last_visits


def _new_visit_ids(connection: Connection, count: int) -> list[int]:
    if not count:
        return []
    if connection.dialect.name == "sqlite":  # nobody else writes during the transaction
        last = connection.scalar(_last_visit_id) or 0
        return list(range(last + 1, last + 1 + count))
    return list(connection.scalar(_next_visit_ids, {"count": count}))


def _count(connection: Connection, spider_id: int, batch: Batch) -> None:
    made = [
        record for record in batch.visits if record.outcome is not Outcome.IGNORED
    ]  # the others took nothing
    visits = Counter((int(number(record.at) // 60), int(record.outcome)) for record in made)
    fetches = {(int(minute), clean(kind)): int(count) for (minute, kind), count in batch.fetches.items()}
    _count_visits(connection, [(spider_id, *key, count) for key, count in visits.items()])
    _count_fetches(connection, [(spider_id, *key, count) for key, count in fetches.items()])
    minutes = {record.minute: astuple(record) for record in batch.freshness}
    _upsert_freshness(connection, [(spider_id, *minute) for minute in minutes.values()])


def _write_subscriptions(
    connection: Connection, spider_id: int, subscriptions: dict[str, Subscription | None]
) -> None:
    rows = [subscription_row(record, spider_id) for record in subscriptions.values() if record is not None]
    _upsert_subscriptions(connection, rows)
    ended = [{"ended": clean(token)} for token, record in subscriptions.items() if record is None]
    if ended:
        connection.execute(_delete_subscription, ended)


def _state_row(spider_id: int, state: CrawlState) -> tuple[object, ...]:
    return (
        spider_id,
        clean(state.policy),
        number(state.budget_per_second),
        number(state.started_at),
        number(state.updated_at),
        number(state.price),
        number(state.delay_seconds),
    )
