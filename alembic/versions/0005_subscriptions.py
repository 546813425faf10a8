"""What hubs were asked to send (WebSub)."""

import sqlalchemy as sa

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "subscription",
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("spider_id", sa.Integer, nullable=False),
        sa.Column("callback", sa.Text, nullable=False),
        sa.Column("topic", sa.Text, nullable=False),
        sa.Column("hub", sa.Text, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("found_at", sa.Text, nullable=False),
        sa.Column("lease_seconds", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("next_try_at", sa.Double, nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("is_asked", sa.Boolean, nullable=False),
        sa.Column("is_ending", sa.Boolean, nullable=False),
        sa.Column("last_push_at", sa.Double, nullable=False),
        sa.Column("digests", sa.LargeBinary, nullable=False),
        sa.Column("seen", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("token", name="pk_subscription"),
    )
