"""Why a visit failed or was stopped.

The columns of the view are described in scrapy_freshness/storage/views.py.
"""

import sqlalchemy as sa

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

OUTCOME = ("first", "changed", "unchanged", "not_modified", "gone", "moved", "failed", "ignored")


def upgrade() -> None:
    op.add_column("visit", sa.Column("reason", sa.Text))
    renew_view(
        "v_visits",
        f"""
        SELECT visit.id AS visit_id, visit.page_id, spider.name AS spider, host.name AS host, page.url,
            visit.at, {utc("visit.at")} AS at_utc, {name_of("visit.outcome", OUTCOME)} AS outcome,
            visit.http_status, visit.divergence, visit.body_bytes, visit.latency_seconds, visit.reason
        FROM visit
        JOIN page ON page.page_id = visit.page_id
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
