-- Settings and facts of one session.

-- name: pin_session
-- LogMiner formats dates and numbers in SQL_REDO by the mining session's settings. The default loses the time of day,
-- and YYYY the sign of a BC year.
ALTER SESSION SET
  NLS_DATE_FORMAT = 'SYYYY-MM-DD HH24:MI:SS'
  NLS_TIMESTAMP_FORMAT = 'SYYYY-MM-DD HH24:MI:SS.FF9'
  NLS_TIMESTAMP_TZ_FORMAT = 'SYYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM'
  NLS_NUMERIC_CHARACTERS = '.,'
  NLS_DATE_LANGUAGE = 'AMERICAN'
  NLS_CALENDAR = 'GREGORIAN'

-- name: compare_bytes
-- With settings of the instance or of a logon trigger, Oracle may take 'a' for 'A': in names, keys, ranges and filters.
ALTER SESSION SET NLS_COMP = 'BINARY' NLS_SORT = 'BINARY'

-- name: pin_time_zone
-- LogMiner writes TIMESTAMP WITH LOCAL TIME ZONE in the session's zone.
ALTER SESSION SET TIME_ZONE = '+00:00'

-- name: show_archived_rows
-- Rows archived by ROW ARCHIVAL are in the redo like others; a session does not see them by default.
ALTER SESSION SET ROW ARCHIVAL VISIBILITY = ALL

-- name: session_settings
-- Checks that the settings took effect.
SELECT parameter, value FROM nls_session_parameters

-- name: session_time_zone
-- The session's time zone is not an NLS parameter.
SELECT SESSIONTIMEZONE AS time_zone FROM dual

-- name: current_container
-- The session's container; the database's name and CON_ID 0 where it is not a CDB. The root has CON_ID 1.
SELECT SYS_CONTEXT('USERENV', 'CON_NAME') AS container, SYS_CONTEXT('USERENV', 'CON_ID') AS con_id FROM dual

-- name: current_scn
-- The highest SCN that the database has assigned; an upper bound only.
SELECT current_scn FROM v$database

-- name: applied
-- CURRENT_SCN of a standby is that to which redo is applied.
SELECT current_scn, database_role, open_mode FROM v$database

-- name: session_privileges
-- Privileges of roles included. The exempt user reads every row and value of every table.
SELECT privilege FROM session_privs WHERE privilege IN ('EXEMPT ACCESS POLICY', 'EXEMPT REDACTION POLICY')

-- name: own_tables
-- Tables of the session's own schema.
SELECT table_name FROM user_tables
