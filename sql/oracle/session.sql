-- Settings and facts of one session.

-- name: pin_session
-- LogMiner writes dates and numbers into SQL_REDO by the mining session's own formats; the default loses the time of day,
-- and YYYY the sign of a year before Christ.
ALTER SESSION SET
  NLS_DATE_FORMAT = 'SYYYY-MM-DD HH24:MI:SS'
  NLS_TIMESTAMP_FORMAT = 'SYYYY-MM-DD HH24:MI:SS.FF9'
  NLS_TIMESTAMP_TZ_FORMAT = 'SYYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM'
  NLS_NUMERIC_CHARACTERS = '.,'
  NLS_DATE_LANGUAGE = 'AMERICAN'
  NLS_CALENDAR = 'GREGORIAN'

-- name: pin_time_zone
-- TIMESTAMP WITH LOCAL TIME ZONE is written in the session's zone.
ALTER SESSION SET TIME_ZONE = '+00:00'

-- name: session_settings
-- What the server says the settings are, after they were set.
SELECT parameter, value FROM nls_session_parameters

-- name: session_time_zone
-- The session's zone is no NLS parameter.
SELECT SESSIONTIMEZONE AS time_zone FROM dual

-- name: current_container
-- The container of this session; the database's own name when it is no CDB.
SELECT SYS_CONTEXT('USERENV', 'CON_NAME') AS container FROM dual

-- name: is_cdb
-- Only a container database has a root to switch to.
SELECT cdb FROM v$database

-- name: current_scn
-- The highest SCN the database has handed out; an upper bound only.
SELECT current_scn FROM v$database
