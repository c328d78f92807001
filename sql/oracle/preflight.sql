-- Facts checked before anything is captured. Each probe_ statement tests one privilege.

-- name: database
SELECT dbid, name, log_mode, force_logging, supplemental_log_data_min AS supplemental_min,
       supplemental_log_data_pk AS supplemental_pk, supplemental_log_data_all AS supplemental_all, cdb,
       database_role, open_mode, db_unique_name, resetlogs_change# AS resetlogs_scn
  FROM v$database

-- name: container_logging
-- Run inside a PDB, about that PDB alone: V$DATABASE shows the setting of the whole database.
SELECT minimal, primary_key, all_column FROM dba_supplemental_logging

-- name: undo_mode
-- Run inside a PDB. With shared undo, 0, its V$TRANSACTION may not show the transactions of the PDB.
SELECT local_undo FROM v$pdbs

-- name: container_identity
-- Run inside the PDB. Another PDB under the same name differs in one of these.
SELECT guid, con_uid, dbid FROM v$pdbs WHERE con_id = TO_NUMBER(SYS_CONTEXT('USERENV', 'CON_ID'))

-- name: container_incarnations
-- Run inside the PDB. A flashback or point-in-time recovery of the PDB alone shows here, and neither in the redo nor in
-- V$DATABASE_INCARNATION.
SELECT db_incarnation# AS db_incarnation, pdb_incarnation# AS pdb_incarnation, status, incarnation_scn,
       end_resetlogs_scn, prior_db_incarnation# AS prior_db, prior_pdb_incarnation# AS prior_pdb
  FROM v$pdb_incarnation
 WHERE con_id = TO_NUMBER(SYS_CONTEXT('USERENV', 'CON_ID'))

-- name: rds_user
-- Amazon RDS for Oracle has this user, and no other platform.
SELECT username FROM all_users WHERE username = 'RDSADMIN'

-- name: rds_retention
-- How long Amazon RDS keeps archived logs, in hours.
SELECT value FROM rdsadmin.rds_configuration WHERE name = 'archivelog retention hours'

-- name: release
SELECT version_full FROM v$instance

-- name: character_sets
-- Run inside the PDB: its sets may differ from the root's.
SELECT parameter, value FROM nls_database_parameters WHERE parameter IN ('NLS_CHARACTERSET', 'NLS_NCHAR_CHARACTERSET')

-- name: parameters
SELECT name, value
  FROM v$parameter
 WHERE name IN ('archive_lag_target', 'control_file_record_keep_time', 'compatible', 'db_block_size', 'max_string_size')

-- name: undo_retention
-- In seconds. Oracle keeps undo so long where its tablespace has room, and longer with a guaranteed retention only.
SELECT value FROM v$parameter WHERE name = 'undo_retention'

-- name: database_time_zone
-- TIMESTAMP WITH LOCAL TIME ZONE values are stored in it.
SELECT DBTIMEZONE AS time_zone FROM dual

-- name: visible_tables
-- Without CONTAINER_DATA a common user in the root sees no row and gets no error.
SELECT COUNT(*) AS found FROM cdb_tables WHERE con_id > 2 AND ROWNUM = 1

-- name: visible_containers
-- PDB$SEED is a template without user data.
SELECT name, open_mode FROM v$pdbs WHERE name <> 'PDB$SEED'

-- name: probe_logmnr
-- Without a LogMiner session it raises ORA-01307 for a user who may call the package.
BEGIN
  DBMS_LOGMNR.END_LOGMNR;
END;

-- name: probe_contents
-- Without START_LOGMNR it raises ORA-01306 for a user who may read the view.
SELECT COUNT(*) AS found FROM v$logmnr_contents

-- name: label_security
-- TRUE where Label Security is enabled, although the user may not see its views.
SELECT value FROM v$option WHERE parameter = 'Oracle Label Security'
