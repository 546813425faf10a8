"""What searchers ask for: terms, the maps from score to rank, and what pages have to do with them."""

import sqlalchemy as sa

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "query_term",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("term", sa.Text, nullable=False),
        sa.Column("frequency", sa.Double, nullable=False),
        sa.UniqueConstraint("term", name="uq_query_term_term"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "query_index",
        sa.Column("spider_id", sa.Integer, nullable=False),
        sa.Column("scoring", sa.Text, nullable=False),
        sa.Column("pages", sa.BigInteger, nullable=False),
        sa.Column("fitted_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("spider_id", name="pk_query_index"),
    )
    op.create_table(
        "query_map",
        sa.Column("spider_id", sa.Integer, nullable=False),
        sa.Column("term_id", sa.Integer, nullable=False),
        sa.Column("results", sa.BigInteger, nullable=False),
        sa.Column("knot_1", sa.Double, nullable=False),
        sa.Column("knot_2", sa.Double, nullable=False),
        sa.Column("knot_3", sa.Double, nullable=False),
        sa.Column("knot_4", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("spider_id", "term_id", name="pk_query_map"),
    )
    for name in ("terms", "touched", "links"):
        op.add_column("page_detail", sa.Column(name, sa.LargeBinary))
    op.execute("""
        CREATE VIEW v_queries AS
        SELECT spider.name AS spider, query_term.term, query_term.frequency, query_map.results,
            query_index.scoring, query_index.fitted_at
        FROM query_map
        JOIN query_term ON query_term.id = query_map.term_id
        JOIN query_index ON query_index.spider_id = query_map.spider_id
        JOIN spider ON spider.id = query_map.spider_id
    """)
