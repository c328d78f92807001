#!/bin/bash
# Switch the database to ARCHIVELOG mode unless it is there already: LogMiner reads archived logs only.
set -euo pipefail

ask() {
  sqlplus -S -L / as sysdba <<SQL
WHENEVER SQLERROR EXIT FAILURE
SET HEADING OFF FEEDBACK OFF PAGESIZE 0
$1
EXIT
SQL
}

mode=$(ask "SELECT log_mode FROM v\$database;" | tr -d '[:space:]')
if [ "$mode" = ARCHIVELOG ]; then
  exit 0
fi
ask "SHUTDOWN IMMEDIATE
STARTUP MOUNT
ALTER DATABASE ARCHIVELOG;
ALTER DATABASE OPEN;
ALTER PLUGGABLE DATABASE ALL OPEN;"
