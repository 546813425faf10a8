"""Files that were imported, clicks, importances and profits, and where pages were found.

The columns of the views are described in scrapy_freshness/storage/views.py.
"""

import sqlalchemy as sa

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.add_column("page", sa.Column("found_on", sa.BigInteger))
    op.add_column("page", sa.Column("in_links", sa.Integer, nullable=False, server_default="0"))
    op.add_column("page", sa.Column("importance_from", sa.SmallInteger, nullable=False, server_default="0"))
    op.create_table(
        "import_file",
        sa.Column("id", KEY),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("format", sa.Text, nullable=False),
        sa.Column("head_bytes", sa.Integer, nullable=False),
        sa.Column("head_digest", sa.LargeBinary, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("lines", sa.BigInteger, nullable=False),
        sa.Column("bad", sa.Text, nullable=False),
        sa.Column("counts", sa.Text, nullable=False),
        sa.Column("is_done", sa.Boolean, nullable=False),
        sa.Column("started_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_import_file"),
    )
    create_click_tables()
    op.create_table(
        "importance_rule",
        sa.Column("fingerprint", KEY, autoincrement=False),
        sa.Column("is_prefix", sa.Boolean, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("importance", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", name="pk_importance_rule"),
    )
    op.create_table(
        "revision",
        sa.Column("spider_id", sa.Integer, autoincrement=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("spider_id", name="pk_revision"),
    )
    execute(f"""
        CREATE VIEW v_imports AS
        SELECT id AS import_id, kind, name, format, position AS bytes, lines, bad, counts,
            CAST(is_done AS integer) AS is_done,
            started_at, {utc("started_at")} AS started_utc, updated_at, {utc("updated_at")} AS updated_utc
        FROM import_file
    """)


def create_click_tables() -> None:
    op.create_table(
        "page_click",
        sa.Column("page_id", KEY, autoincrement=False),
        sa.Column("week", sa.Integer, nullable=False),
        sa.Column("clicks", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("page_id", name="pk_page_click"),
    )
    op.create_table(
        "waiting_click",
        sa.Column("fingerprint", KEY, autoincrement=False),
        sa.Column("week", sa.Integer, nullable=False),
        sa.Column("clicks", sa.Double, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", name="pk_waiting_click"),
    )
    op.create_table(
        "source_click",
        sa.Column("page_id", sa.BigInteger, nullable=False),
        sa.Column("bin", sa.SmallInteger, nullable=False),
        sa.Column("clicks", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("page_id", "bin", name="pk_source_click"),
    )
    op.create_table(
        "click_span",
        sa.Column("host_id", sa.Integer, nullable=False),
        sa.Column("start_at", sa.Double, nullable=False),
        sa.Column("end_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("host_id", "start_at", name="pk_click_span"),
    )


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
