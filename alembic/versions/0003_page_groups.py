"""What estimators have learned of groups of pages, and the polls of sources of links."""

import sqlalchemy as sa

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "page_group",
        sa.Column("spider_id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("spider_id", "name", name="pk_page_group"),
    )
    op.add_column("page_detail", sa.Column("polls", sa.LargeBinary))
