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
# Beside the data files, on their volume: by default they are in a folder that ends with the container.
archive=${ORACLE_ARCHIVE:-/opt/oracle/oradata/archive}
mkdir -p "$archive"
ask "ALTER SYSTEM SET log_archive_dest_1 = 'LOCATION=$archive' SCOPE=BOTH;
SHUTDOWN IMMEDIATE
STARTUP MOUNT
ALTER DATABASE ARCHIVELOG;
ALTER DATABASE OPEN;
ALTER PLUGGABLE DATABASE ALL OPEN;"
