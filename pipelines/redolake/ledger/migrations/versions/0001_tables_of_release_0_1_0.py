"""The tables of release 0.1.0."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "redolake_batches",
        sa.Column("pipeline", sa.String(length=100), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("start_scn", sa.BigInteger(), nullable=False),
        sa.Column("end_scn", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("spec_path", sa.Text(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("changed_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("pipeline", "name"),
    )
    op.create_index("redolake_batches_latest", "redolake_batches", ["pipeline", "changed_at"], unique=False)
    op.create_table(
        "redolake_decisions",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("pipeline", sa.String(length=100), nullable=False),
        sa.Column("kind", sa.String(length=60), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("who", sa.String(length=200), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_index("ix_redolake_decisions_pipeline", "redolake_decisions", ["pipeline"], unique=False)
    op.create_table(
        "redolake_facts",
        sa.Column("pipeline", sa.String(length=100), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("pipeline", "kind", "name"),
    )
    op.create_table(
        "redolake_format",
        sa.Column("only", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("only"),
    )
    op.create_table(
        "redolake_gaps",
        sa.Column("pipeline", sa.String(length=100), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("pipeline", "name"),
    )
    op.create_table(
        "redolake_leases",
        sa.Column("name", sa.String(length=400), nullable=False),
        sa.Column("owner", sa.String(length=400), nullable=True),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "redolake_losses",
        sa.Column("pipeline", sa.String(length=100), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("since", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("pipeline"),
    )
    op.create_table(
        "redolake_open_transactions",
        sa.Column("pipeline", sa.String(length=100), nullable=False),
        sa.Column("con_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("xid", sa.String(length=40), nullable=False),
        sa.Column("batch", sa.String(length=100), nullable=False),
        sa.Column("thread", sa.Integer(), nullable=False),
        sa.Column("start_scn", sa.BigInteger(), nullable=False),
        sa.Column("first_at", sa.String(length=40), nullable=True),
        sa.Column("row_count", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("username", sa.String(length=128), nullable=True),
        sa.PrimaryKeyConstraint("pipeline", "con_id", "xid"),
    )
    op.create_table(
        "redolake_pipelines",
        sa.Column("pipeline", sa.String(length=100), nullable=False),
        sa.Column("dbid", sa.BigInteger(), nullable=False),
        sa.Column("resetlogs_id", sa.BigInteger(), nullable=False),
        sa.Column("scn", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("pipeline"),
    )
    op.create_table(
        "redolake_table_ddl",
        sa.Column("pipeline", sa.String(length=100), nullable=False),
        sa.Column("owner", sa.String(length=128), nullable=False),
        sa.Column("table_name", sa.String(length=128), nullable=False),
        sa.Column("hour", sa.DateTime(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("changes", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("pipeline", "owner", "table_name", "hour", "kind"),
    )
    op.create_table(
        "redolake_table_rows",
        sa.Column("pipeline", sa.String(length=100), nullable=False),
        sa.Column("owner", sa.String(length=128), nullable=False),
        sa.Column("table_name", sa.String(length=128), nullable=False),
        sa.Column("hour", sa.DateTime(), nullable=False),
        sa.Column("inserted", sa.BigInteger(), nullable=False),
        sa.Column("updated", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("pipeline", "owner", "table_name", "hour"),
    )
    op.create_table(
        "redolake_table_versions",
        sa.Column("pipeline", sa.String(length=100), nullable=False),
        sa.Column("owner", sa.String(length=128), nullable=False),
        sa.Column("table_name", sa.String(length=128), nullable=False),
        sa.Column("from_scn", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("source", sa.String(length=20), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("ddl", sa.Text(), nullable=True),
        sa.Column("recorded_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("pipeline", "owner", "table_name", "from_scn"),
    )
    op.create_table(
        "redolake_tables",
        sa.Column("pipeline", sa.String(length=100), nullable=False),
        sa.Column("owner", sa.String(length=128), nullable=False),
        sa.Column("table_name", sa.String(length=128), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("captured_from_scn", sa.BigInteger(), nullable=False),
        sa.Column("snapshot_scn", sa.BigInteger(), nullable=True),
        sa.Column("complete_to_scn", sa.BigInteger(), nullable=True),
        sa.Column("resetlogs_id", sa.BigInteger(), nullable=True),
        sa.Column("delta_version", sa.BigInteger(), nullable=True),
        sa.Column("held_from", sa.String(length=20), nullable=True),
        sa.Column("held_at", sa.DateTime(), nullable=True),
        sa.Column("error", sa.JSON(), nullable=True),
        sa.Column("changed_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("pipeline", "owner", "table_name"),
    )
    op.create_table(
        "redolake_windows",
        sa.Column("pipeline", sa.String(length=100), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("resetlogs_id", sa.BigInteger(), nullable=False),
        sa.Column("start_scn", sa.BigInteger(), nullable=False),
        sa.Column("end_scn", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("planned_at", sa.DateTime(), nullable=False),
        sa.Column("changed_at", sa.DateTime(), nullable=False),
        sa.Column("ends_at", sa.DateTime(), nullable=True),
        sa.Column("landed_at", sa.DateTime(), nullable=True),
        sa.Column("applied_at", sa.DateTime(), nullable=True),
        sa.Column("batch", sa.String(length=100), nullable=True),
        sa.Column("row_count", sa.BigInteger(), nullable=True),
        sa.Column("log_count", sa.Integer(), nullable=True),
        sa.Column("redo_bytes", sa.BigInteger(), nullable=True),
        sa.Column("mine_seconds", sa.Float(), nullable=True),
        sa.Column("account", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("pipeline", "name"),
    )
    op.create_index(
        "redolake_windows_place",
        "redolake_windows",
        ["pipeline", "resetlogs_id", "start_scn"],
        unique=True,
        sqlite_where=sa.text("state <> 'abandoned'"),
        postgresql_where=sa.text("state <> 'abandoned'"),
    )
    op.create_index("redolake_windows_state", "redolake_windows", ["pipeline", "state"], unique=False)
    # Programs from before the first release look at this number: they know 1, and refuse the ledger.
    op.execute("INSERT INTO redolake_format VALUES (1, 2)")
