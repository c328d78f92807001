"""A note of each window that has landed."""

import sqlalchemy as sa
from alembic import op

from tests.contract.newer import RELEASED

revision = "9001"
down_revision = RELEASED


def upgrade() -> None:
    op.add_column("redolake_windows", sa.Column("note", sa.String(80)))
    op.execute("UPDATE redolake_windows SET note = 'landed: ' || name WHERE landed_at IS NOT NULL")
