"""What each host takes of the budget and what that brings; and how politely a crawl asks.

The columns of the view are described in scrapy_freshness/storage/views.py.
"""

import sqlalchemy as sa

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("crawl", sa.Column("delay_seconds", sa.Double, nullable=False, server_default="0"))
    op.create_table(
        "host_count",
        sa.Column("spider_id", sa.Integer, nullable=False),
        sa.Column("host_id", sa.Integer, nullable=False),
        sa.Column("fetches", sa.BigInteger, nullable=False),
        sa.Column("redirects", sa.BigInteger, nullable=False),
        sa.Column("retries", sa.BigInteger, nullable=False),
        sa.Column("fruitful", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("spider_id", "host_id", name="pk_host_count"),
    )
    count_visits()
    tell_fetches()


def count_visits() -> None:
    """Of the past, no more is known than visits; from now on, every fetch is counted."""
    execute("""
        INSERT INTO host_count
        SELECT spider_id, CAST(host_id AS integer), sum(visits), 0, 0,
            sum(changes) + sum(CASE WHEN last_visit_at IS NULL THEN 0 ELSE 1 END)
        FROM page
        GROUP BY spider_id, CAST(host_id AS integer)
    """)


def tell_fetches() -> None:
    """Make v_hosts anew, with the fetches at its end."""
    # By a cast: along the index on the bare column, SQLite would look up the pages one by one.
    renew_view(
        "v_hosts",
        f"""
        SELECT host.name AS host,
            coalesce(total.pages, 0) AS pages, coalesce(total.visits, 0) AS visits,
            coalesce(total.changes, 0) AS changes,
            host.blocked_until, {utc("host.blocked_until")} AS blocked_until_utc,
            host.failures, host.audits, host.false_not_modified,
            coalesce(taken.fetches, 0) AS fetches, coalesce(taken.redirects, 0) AS redirects,
            coalesce(taken.retries, 0) AS retries, coalesce(taken.wasted, 0) AS wasted
        FROM host
        LEFT JOIN (
            SELECT CAST(host_id AS integer) AS host_id, count(*) AS pages, sum(visits) AS visits,
                sum(changes) AS changes
            FROM page GROUP BY CAST(host_id AS integer)
        ) AS total ON total.host_id = host.id
        LEFT JOIN (
            SELECT host_id, CAST(sum(fetches) AS bigint) AS fetches,
                CAST(sum(redirects) AS bigint) AS redirects, CAST(sum(retries) AS bigint) AS retries,
                CAST(sum(CASE WHEN fetches > fruitful THEN fetches - fruitful ELSE 0 END) AS bigint) AS wasted
            FROM host_count GROUP BY host_id
        ) AS taken ON taken.host_id = host.id
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


def utc(seconds: str) -> str:
    """SQL for unix seconds as text like 2026-01-31T12:00:00Z; nothing for 0 and for times beyond 9999."""
    if op.get_bind().dialect.name == "sqlite":
        text = f"strftime('%Y-%m-%dT%H:%M:%SZ', {seconds}, 'unixepoch')"
    else:
        text = f"""to_char(to_timestamp({seconds}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')"""
    return f"CASE WHEN {seconds} > 0 AND {seconds} < 253402300800 THEN {text} END"
