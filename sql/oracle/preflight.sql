-- Facts that must hold before anything is captured. Each probe_ statement stands for one right.

-- name: database
SELECT dbid, name, db_unique_name, created, log_mode, force_logging, supplemental_log_data_min AS supplemental_min,
       supplemental_log_data_pk AS supplemental_pk, supplemental_log_data_all AS supplemental_all, cdb,
       database_role, open_mode, resetlogs_change# AS resetlogs_scn, platform_name
  FROM v$database

-- name: container_logging
-- Asked inside a PDB, of the PDB alone: V$DATABASE tells what is logged of the whole database.
SELECT primary_key, all_column FROM dba_supplemental_logging

-- name: release
SELECT version_full FROM v$instance

-- name: character_sets
SELECT parameter, value FROM nls_database_parameters WHERE parameter IN ('NLS_CHARACTERSET', 'NLS_NCHAR_CHARACTERSET')

-- name: parameters
SELECT name, value
  FROM v$parameter
 WHERE name IN ('archive_lag_target', 'compatible', 'control_file_record_keep_time', 'undo_retention')

-- name: database_time_zone
-- TIMESTAMP WITH LOCAL TIME ZONE is kept in it.
SELECT DBTIMEZONE AS time_zone FROM dual

-- name: visible_tables
-- Without CONTAINER_DATA a common user in the root gets no row and no error.
SELECT COUNT(*) AS found FROM cdb_tables WHERE con_id > 2

-- name: visible_containers
-- The seed is a template and holds nothing of anybody.
SELECT name, open_mode FROM v$pdbs WHERE name <> 'PDB$SEED'

-- name: probe_logmnr
-- END without a session answers ORA-01307 to whoever may call the package.
BEGIN
  DBMS_LOGMNR.END_LOGMNR;
END;

-- name: probe_contents
-- A SELECT without START_LOGMNR answers ORA-01306 to whoever may read the view.
SELECT COUNT(*) AS found FROM v$logmnr_contents
