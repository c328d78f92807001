"""Alembic's environment: run the migrations in the caller's transaction (pipelines/redolake/ledger/migrate.py).

The version table has a name of our own: a ledger may be in Airflow's database, whose `alembic_version` is Airflow's.
"""

from __future__ import annotations

from alembic import context

from redolake.ledger import tables as t

# SQLite's DDL is transactional where the driver begins no transactions by itself, as in ledger/store.py.
context.configure(connection=context.config.attributes["connection"], version_table=t.version.name, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
