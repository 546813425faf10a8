"""Sources of signals, the log of signals, and the views over them.

The columns of the views are described in scrapy_freshness/storage/views.py.
"""

import sqlalchemy as sa

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")

STATUS = ("new", "active", "gone", "suspended", "moved")
KIND = ("page", "source", "sitemap", "feed")
SOURCE = ("sitemap", "feed", "ping", "http")


def upgrade() -> None:
    create_tables()
    tell_kinds_of_pages()
    create_views()


def create_tables() -> None:
    op.create_table(
        "signal_source",
        sa.Column("page_id", KEY, autoincrement=False),
        sa.Column("found", sa.Text, nullable=False),
        sa.Column("found_on", sa.Text, nullable=False),
        sa.Column("is_pinned", sa.Boolean, nullable=False),
        sa.Column("depth", sa.SmallInteger, nullable=False),
        sa.Column("hosts", sa.Text, nullable=False),
        sa.Column("format", sa.Text, nullable=False),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("entries", sa.Integer, nullable=False),
        sa.Column("polls", sa.Integer, nullable=False),
        sa.Column("new_pages", sa.BigInteger, nullable=False),
        sa.Column("signals", sa.BigInteger, nullable=False),
        sa.Column("barren", sa.Integer, nullable=False),
        sa.Column("last_poll_at", sa.Double),
        sa.Column("last_yield", sa.Double, nullable=False),
        sa.Column("oddities", sa.Text, nullable=False),
        sa.Column("hub", sa.Text),
        sa.Column("topic", sa.Text),
        sa.Column("seen", sa.LargeBinary),
        sa.PrimaryKeyConstraint("page_id", name="pk_signal_source"),
    )
    op.create_table(
        "signal",
        sa.Column("id", KEY),
        sa.Column("page_id", sa.BigInteger, nullable=False),
        sa.Column("source", sa.SmallInteger, nullable=False),
        sa.Column("told_by", sa.BigInteger),
        sa.Column("heard_at", sa.Double, nullable=False),
        sa.Column("claimed_at", sa.Double),
        sa.Column("answered_at", sa.Double),
        sa.Column("changed", sa.Boolean),
        sa.PrimaryKeyConstraint("id", name="pk_signal"),
    )
    op.create_index("ix_signal_heard_at", "signal", ["heard_at"])
    op.create_index("ix_signal_page_id", "signal", ["page_id"])


def tell_kinds_of_pages() -> None:
    """Make v_pages anew: it knew only one kind."""
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
            page.change_rate, page.change_rate_low, page.change_rate_high, page.http_status
        FROM page
        JOIN spider ON spider.id = page.spider_id
        JOIN host ON host.id = page.host_id
        """,
    )


def create_views() -> None:
    execute(f"""
        CREATE VIEW v_sources AS
        SELECT source.page_id, spider.name AS spider, host.name AS host, page.url,
            {name_of("page.kind", KIND)} AS kind, {name_of("page.status", STATUS)} AS status,
            source.found, source.found_on, CAST(source.is_pinned AS integer) AS is_pinned,
            source.format, source.verdict, source.entries, source.polls,
            source.new_pages, source.signals, source.barren,
            source.last_poll_at, {utc("source.last_poll_at")} AS last_poll_utc, source.last_yield,
            source.oddities, source.hub, source.topic
        FROM signal_source AS source
        JOIN page ON page.page_id = source.page_id
        JOIN spider ON spider.id = page.spider_id
        JOIN host ON host.id = page.host_id
    """)
    execute(f"""
        CREATE VIEW v_signals AS
        SELECT signal.id AS signal_id, signal.page_id, spider.name AS spider, host.name AS host, page.url,
            {name_of("signal.source", SOURCE)} AS source, teller.url AS told_by,
            signal.heard_at, {utc("signal.heard_at")} AS heard_utc,
            signal.claimed_at, {utc("signal.claimed_at")} AS claimed_utc,
            signal.answered_at, {utc("signal.answered_at")} AS answered_utc,
            CAST(signal.changed AS integer) AS changed
        FROM signal
        JOIN page ON page.page_id = signal.page_id
        JOIN spider ON spider.id = page.spider_id
        JOIN host ON host.id = page.host_id
        LEFT JOIN page AS teller ON teller.page_id = signal.told_by
    """)


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
