"""What policies believe of pages beside the change rate, and the signals between their visits."""

import sqlalchemy as sa

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("page", sa.Column("beliefs", sa.Text))
    op.add_column("page_detail", sa.Column("signalled", sa.LargeBinary))
