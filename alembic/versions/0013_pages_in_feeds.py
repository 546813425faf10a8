"""Which pages feeds have shown, and when.

Of the past nothing is known: what feeds have shown before counts for no page.
"""

import sqlalchemy as sa

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "page_feed",
        sa.Column("page_id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), autoincrement=False),
        sa.Column("week", sa.Integer, nullable=False),
        sa.Column("feeds", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("page_id", name="pk_page_feed"),
    )
