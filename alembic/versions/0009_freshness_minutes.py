"""How fresh the copies were, minute by minute.

The columns of the view are described in scrapy_freshness/storage/views.py.
"""

import sqlalchemy as sa

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "freshness_minute",
        sa.Column("spider_id", sa.Integer, nullable=False),
        sa.Column("minute", sa.BigInteger, nullable=False),
        sa.Column("freshness", sa.Double, nullable=False),
        sa.Column("uniform_freshness", sa.Double, nullable=False),
        sa.Column("pages", sa.BigInteger, nullable=False),
        sa.Column("price", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("spider_id", "minute", name="pk_freshness_minute"),
    )
    # op.execute would take ":MI" in the format of a time for a parameter.
    op.get_bind().exec_driver_sql(f"""
        CREATE VIEW v_freshness AS
        SELECT spider.name AS spider, 60 * minute AS minute_at, {utc("60 * minute")} AS minute_utc,
            freshness, uniform_freshness, pages, price
        FROM freshness_minute
        JOIN spider ON spider.id = freshness_minute.spider_id
    """)


def utc(seconds: str) -> str:
    """SQL for unix seconds as text like 2026-01-31T12:00:00Z."""
    if op.get_bind().dialect.name == "sqlite":
        return f"strftime('%Y-%m-%dT%H:%M:%SZ', {seconds}, 'unixepoch')"
    return f"""to_char(to_timestamp({seconds}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')"""
