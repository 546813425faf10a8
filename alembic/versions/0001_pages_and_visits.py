"""Pages, hosts, visits, budget, and the views over them.

The columns of the views are described in scrapy_freshness/storage/views.py.
"""

import sqlalchemy as sa

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")

STATUS = ("new", "active", "gone", "suspended", "moved")
KIND = ("page",)
OUTCOME = ("first", "changed", "unchanged", "not_modified", "gone", "moved", "failed", "ignored")


def upgrade() -> None:
    create_tables()
    create_views()


def create_tables() -> None:
    op.create_table(
        "spider",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.UniqueConstraint("name", name="uq_spider_name"),
        sa.PrimaryKeyConstraint("id", name="pk_spider"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "host",
        sa.Column("id", sa.Integer),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("blocked_until", sa.Double, nullable=False, server_default="0"),
        sa.Column("failures", sa.Integer, nullable=False, server_default="0"),
        sa.Column("audits", sa.Integer, nullable=False, server_default="0"),
        sa.Column("false_not_modified", sa.Integer, nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("id", name="pk_host"),
        sa.UniqueConstraint("name", name="uq_host_name"),
    )
    op.create_table(
        "page",
        sa.Column("page_id", KEY, autoincrement=False),
        sa.Column("fingerprint", sa.BigInteger, nullable=False),
        sa.Column("spider_id", sa.Integer, nullable=False),
        sa.Column("host_id", sa.Integer, nullable=False),
        sa.Column("status", sa.SmallInteger, nullable=False),
        sa.Column("kind", sa.SmallInteger, nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("importance", sa.Double, nullable=False),
        sa.Column("discovered_at", sa.Double, nullable=False),
        sa.Column("last_visit_at", sa.Double),
        sa.Column("last_change_at", sa.Double),
        sa.Column("not_before", sa.Double, nullable=False),
        sa.Column("visits", sa.Integer, nullable=False),
        sa.Column("changes", sa.Integer, nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("change_rate", sa.Double, nullable=False),
        sa.Column("change_rate_low", sa.Double, nullable=False),
        sa.Column("change_rate_high", sa.Double, nullable=False),
        sa.Column("http_status", sa.SmallInteger),
        sa.Column("last_visit_id", sa.BigInteger),
        sa.Column("url", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("page_id", name="pk_page"),
        sa.UniqueConstraint("fingerprint", "spider_id", name="uq_page_fingerprint_spider_id"),
    )
    op.create_index("ix_page_host_id", "page", ["host_id"])
    op.create_index("ix_page_url", "page", [sa.text("substr(url, 1, 200)")])
    op.create_table(
        "page_detail",
        sa.Column("page_id", KEY, autoincrement=False),
        sa.Column("request", sa.Text),
        sa.Column("etag", sa.Text),
        sa.Column("last_modified", sa.Text),
        sa.Column("content_hash", sa.BigInteger),
        sa.Column("body_hash", sa.BigInteger),
        sa.Column("run_callback", sa.Boolean, nullable=False),
        sa.Column("history", sa.LargeBinary, nullable=False),
        sa.Column("profiles", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("page_id", name="pk_page_detail"),
    )
    op.create_table(
        "visit",
        sa.Column("id", KEY),
        sa.Column("page_id", sa.BigInteger, nullable=False),
        sa.Column("previous_id", sa.BigInteger),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("outcome", sa.SmallInteger, nullable=False),
        sa.Column("http_status", sa.SmallInteger),
        sa.Column("divergence", sa.Double),
        sa.Column("body_bytes", sa.BigInteger, nullable=False),
        sa.Column("latency_seconds", sa.Double),
        sa.PrimaryKeyConstraint("id", name="pk_visit"),
    )
    op.create_index("ix_visit_at", "visit", ["at"])
    op.create_table(
        "visit_count",
        sa.Column("spider_id", sa.Integer, nullable=False),
        sa.Column("minute", sa.BigInteger, nullable=False),
        sa.Column("outcome", sa.SmallInteger, nullable=False),
        sa.Column("visits", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("spider_id", "minute", "outcome", name="pk_visit_count"),
    )
    op.create_table(
        "fetch_count",
        sa.Column("spider_id", sa.Integer, nullable=False),
        sa.Column("minute", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("fetches", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("spider_id", "minute", "kind", name="pk_fetch_count"),
    )
    op.create_table(
        "crawl",
        sa.Column("spider_id", sa.Integer, autoincrement=False),
        sa.Column("policy", sa.Text, nullable=False),
        sa.Column("budget_per_second", sa.Double, nullable=False),
        sa.Column("started_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("price", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("spider_id", name="pk_crawl"),
    )

    if op.get_bind().dialect.name == "postgresql":
        for table in ("page", "page_detail"):  # room in every block to update a row beside its old version
            op.execute(f"ALTER TABLE {table} SET (fillfactor = 85)")


def create_views() -> None:
    execute(f"""
        CREATE VIEW v_pages AS
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
    """)
    # By a cast: along the index on the bare column, SQLite would look up the pages one by one.
    execute(f"""
        CREATE VIEW v_hosts AS
        SELECT host.name AS host,
            coalesce(total.pages, 0) AS pages, coalesce(total.visits, 0) AS visits,
            coalesce(total.changes, 0) AS changes,
            host.blocked_until, {utc("host.blocked_until")} AS blocked_until_utc,
            host.failures, host.audits, host.false_not_modified
        FROM host
        LEFT JOIN (
            SELECT CAST(host_id AS integer) AS host_id, count(*) AS pages, sum(visits) AS visits,
                sum(changes) AS changes
            FROM page GROUP BY CAST(host_id AS integer)
        ) AS total ON total.host_id = host.id
    """)
    execute(f"""
        CREATE VIEW v_visits AS
        SELECT visit.id AS visit_id, visit.page_id, spider.name AS spider, host.name AS host, page.url,
            visit.at, {utc("visit.at")} AS at_utc, {name_of("visit.outcome", OUTCOME)} AS outcome,
            visit.http_status, visit.divergence, visit.body_bytes, visit.latency_seconds
        FROM visit
        JOIN page ON page.page_id = visit.page_id
        JOIN spider ON spider.id = page.spider_id
        JOIN host ON host.id = page.host_id
    """)
    execute(f"""
        CREATE VIEW v_outcomes AS
        SELECT spider.name AS spider, visit_count.minute * 60 AS minute_at,
            {utc("visit_count.minute * 60")} AS minute_utc,
            {name_of("visit_count.outcome", OUTCOME)} AS outcome, visit_count.visits
        FROM visit_count
        JOIN spider ON spider.id = visit_count.spider_id
    """)
    execute(f"""
        CREATE VIEW v_budget AS
        SELECT spider.name AS spider, fetch_count.minute * 60 AS minute_at,
            {utc("fetch_count.minute * 60")} AS minute_utc, fetch_count.kind, fetch_count.fetches
        FROM fetch_count
        JOIN spider ON spider.id = fetch_count.spider_id
    """)


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
