#!/bin/bash
# Create Redolake's user, its grants and the logging it needs. redolake.sql keeps what exists already.
set -euo pipefail

{ echo "DEFINE password = '$ORACLE_PASSWORD'"; cat "${REDOLAKE_SQL:-/opt/redolake/redolake.sql}"; } | sqlplus -S -L / as sysdba
touch "${TMPDIR:-/tmp}/redolake-is-set-up"
