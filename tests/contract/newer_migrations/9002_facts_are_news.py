"""Facts are called news, and their bodies notes; a table counts the migrations."""

import sqlalchemy as sa
from alembic import op

revision = "9002"
down_revision = "9001"


def upgrade() -> None:
    with op.batch_alter_table("redolake_facts") as facts:  # SQLite copies the table
        facts.alter_column("body", new_column_name="note", existing_type=sa.JSON(), nullable=True)
    op.rename_table("redolake_facts", "redolake_news")
    op.create_table("redolake_migrations", sa.Column("number", sa.Integer(), primary_key=True))
    op.execute("INSERT INTO redolake_migrations (number) VALUES (1)")
