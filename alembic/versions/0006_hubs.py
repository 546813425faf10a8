"""Hubs, the links that were seen on them, and pages that no callback takes.

The columns of the views are described in scrapy_freshness/storage/views.py.
"""

import sqlalchemy as sa

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")

STATUS = ("new", "active", "gone", "suspended", "moved")
KIND = ("page", "source", "sitemap", "feed", "unasked")
STATE = ("trial", "active", "retired")


def upgrade() -> None:
    create_tables()
    tell_kinds_of_pages()
    create_view()


def create_tables() -> None:
    op.create_table(
        "hub",
        sa.Column("page_id", KEY, autoincrement=False),
        sa.Column("found", sa.Text, nullable=False),
        sa.Column("found_on", sa.Text, nullable=False),
        sa.Column("evidence", sa.Text, nullable=False),
        sa.Column("state", sa.SmallInteger, nullable=False),
        sa.Column("is_unseen", sa.Boolean, nullable=False),
        sa.Column("polls", sa.Integer, nullable=False),
        sa.Column("shown", sa.Integer, nullable=False),
        sa.Column("new_links", sa.BigInteger, nullable=False),
        sa.Column("barren", sa.Integer, nullable=False),
        sa.Column("since", sa.Double, nullable=False),
        sa.Column("last_poll_at", sa.Double),
        sa.Column("rests", sa.Integer, nullable=False),
        sa.Column("next_look_at", sa.Double, nullable=False),
        sa.Column("candidates", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("page_id", name="pk_hub"),
    )
    op.create_table(
        "seen_links",
        sa.Column("spider_id", sa.Integer, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("packed", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("spider_id", "host", "number", name="pk_seen_links"),
    )


def tell_kinds_of_pages() -> None:
    """Make v_pages anew: there is one kind more."""
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


def create_view() -> None:
    beliefs = ", ".join(f"{belief(name)} AS {name}" for name in ("link_rate", "profit", "decay"))
    execute(f"""
        CREATE VIEW v_hubs AS
        SELECT hub.page_id, spider.name AS spider, host.name AS host, page.url,
            {name_of("page.status", STATUS)} AS status, {name_of("hub.state", STATE)} AS state,
            hub.found, hub.found_on, hub.evidence, CAST(hub.is_unseen AS integer) AS is_unseen,
            hub.polls, hub.shown, hub.new_links, hub.barren,
            hub.last_poll_at, {utc("hub.last_poll_at")} AS last_poll_utc,
            hub.next_look_at, {utc("hub.next_look_at")} AS next_look_utc, {beliefs}
        FROM hub
        JOIN page ON page.page_id = hub.page_id
        JOIN spider ON spider.id = page.spider_id
        JOIN host ON host.id = page.host_id
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


def belief(name: str) -> str:
    """SQL for one of the numbers that are kept as JSON."""
    if op.get_bind().dialect.name == "sqlite":
        return f"json_extract(page.beliefs, '$.{name}')"
    return f"CAST(CAST(page.beliefs AS json) ->> '{name}' AS double precision)"


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
