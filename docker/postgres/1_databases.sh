#!/bin/bash
# Create the databases of Airflow and of the ledger; the server runs this once, on an empty volume.
set -euo pipefail

psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d postgres <<'SQL'
CREATE DATABASE airflow;
CREATE DATABASE redolake;
SQL
