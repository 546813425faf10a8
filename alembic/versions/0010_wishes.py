"""What people ask of a crawl, pinned intervals, and what became of signals, counted as it is written.

The columns of the views are described in scrapy_freshness/storage/views.py.
"""

import sqlalchemy as sa

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")

STATUS = ("new", "active", "gone", "suspended", "moved")
KIND = ("page", "source", "sitemap", "feed", "unasked")
WISH = ("visit", "pin", "forget")


def upgrade() -> None:
    op.add_column("page", sa.Column("pinned_seconds", sa.Double))
    op.create_table(
        "wish",
        sa.Column("id", KEY),
        sa.Column("spider_id", sa.Integer, nullable=False),
        sa.Column("kind", sa.SmallInteger, nullable=False),
        sa.Column("page_id", sa.BigInteger),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("seconds", sa.Double),
        sa.Column("asked_at", sa.Double, nullable=False),
        sa.Column("done_at", sa.Double),
        sa.Column("outcome", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_wish"),
    )
    waits = sa.text("done_at IS NULL")
    op.create_index("ix_wish_waiting", "wish", ["spider_id"], sqlite_where=waits, postgresql_where=waits)
    op.create_table(
        "signal_count",
        sa.Column("spider_id", sa.Integer, nullable=False),
        sa.Column("host_id", sa.Integer, nullable=False),
        sa.Column("source", sa.SmallInteger, nullable=False),
        sa.Column("heard", sa.BigInteger, nullable=False),
        sa.Column("answered", sa.BigInteger, nullable=False),
        sa.Column("confirmed", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("spider_id", "host_id", "source", name="pk_signal_count"),
    )
    count_signals()
    tell_pins()
    execute(f"""
        CREATE VIEW v_wishes AS
        SELECT wish.id AS wish_id, spider.name AS spider, {name_of("wish.kind", WISH)} AS kind, wish.page_id,
            wish.what, wish.seconds,
            wish.asked_at, {utc("wish.asked_at")} AS asked_utc,
            wish.done_at, {utc("wish.done_at")} AS done_utc, wish.outcome
        FROM wish
        JOIN spider ON spider.id = wish.spider_id
    """)


def count_signals() -> None:
    """What the log knows; from now on, it is added up."""
    execute("""
        INSERT INTO signal_count
        SELECT page.spider_id, page.host_id, signal.source, count(*), count(signal.answered_at),
            sum(CASE WHEN signal.changed THEN 1 ELSE 0 END)
        FROM signal
        JOIN page ON page.page_id = signal.page_id
        GROUP BY page.spider_id, page.host_id, signal.source
    """)


def tell_pins() -> None:
    """Make v_pages anew, with the pinned interval at its end."""
    renew_view(
        "v_pages",
        f"""
        SELECT page.page_id, spider.name AS spider, host.name AS host, page.url,
            {name_of("page.status", STATUS)} AS status, {name_of("page.kind", KIND)} AS kind,
            page.priority, page.importance,
            page.discovered_at, {utc("page.discovered_at")} AS discovered_utc,
            page.last_visit_at, {utc("page.last_visit_at")} AS last_visit_utc,
            page.last_change_at, {utc("page.last_change_at")} AS last_change_utc,
            page.not_before, {utc("page.not_before")} AS not_before_utc,
            page.visits, page.changes, page.failures,
            page.change_rate, page.change_rate_low, page.change_rate_high, page.http_status,
            page.pinned_seconds
        FROM page
        JOIN spider ON spider.id = page.spider_id
        JOIN host ON host.id = page.host_id
        """,
    )


def renew_view(name: str, select: str) -> None:
    """Give a view another query; in PostgreSQL, rights to it and views that depend on it stay."""
    if op.get_bind().dialect.name == "sqlite":
        execute(f"DROP VIEW {name}")
        execute(f"CREATE VIEW {name} AS {select}")
    else:
        execute(f"CREATE OR REPLACE VIEW {name} AS {select}")


def execute(statement: str) -> None:
    # op.execute would take ":MI" in the format of a time for a parameter.
    op.get_bind().exec_driver_sql(statement)


def name_of(column: str, names: tuple[str, ...]) -> str:
    """SQL for the name of a number."""
    cases = " ".join(f"WHEN {number} THEN '{name}'" for number, name in enumerate(names))
    return f"CASE {column} {cases} END"


def utc(seconds: str) -> str:
    """SQL for unix seconds as text like 2026-01-31T12:00:00Z; nothing for 0 and for times beyond 9999."""
    if op.get_bind().dialect.name == "sqlite":
        text = f"strftime('%Y-%m-%dT%H:%M:%SZ', {seconds}, 'unixepoch')"
    else:
        text = f"""to_char(to_timestamp({seconds}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')"""
    return f"CASE WHEN {seconds} > 0 AND {seconds} < 253402300800 THEN {text} END"
