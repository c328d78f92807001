-- Redolake: the user, its grants and supplemental logging, for Amazon RDS.
-- Written by `redolake setup-sql --flavour rds`. Read it, then run it in SQL*Plus or SQLcl,
-- as the master user, in the tenant database where RDS has containers
-- It stops at an error, but for the user and the key logging of tables, which may exist: read their answers.
-- After the cause is removed, run it again.
SET DEFINE ON
SET VERIFY OFF
WHENEVER SQLERROR EXIT FAILURE

ACCEPT password CHAR PROMPT 'Password for redolake: ' HIDE
-- If the user exists (ORA-01920), it stays as it is. If it cannot be created, the first GRANT fails.
WHENEVER SQLERROR CONTINUE
CREATE USER redolake IDENTIFIED BY "&password";
WHENEVER SQLERROR EXIT FAILURE
UNDEFINE password
SET DEFINE OFF

GRANT CREATE SESSION, LOGMINING TO redolake;

-- LogMiner.
BEGIN
  rdsadmin.rdsadmin_util.grant_sys_object('DBMS_LOGMNR', 'REDOLAKE', 'EXECUTE');
  rdsadmin.rdsadmin_util.grant_sys_object('V_$LOGMNR_CONTENTS', 'REDOLAKE', 'SELECT');
  rdsadmin.rdsadmin_util.grant_sys_object('V_$LOGMNR_LOGS', 'REDOLAKE', 'SELECT');
  rdsadmin.rdsadmin_util.grant_sys_object('V_$LOGMNR_PARAMETERS', 'REDOLAKE', 'SELECT');
END;
/

-- Redo logs, redo threads and incarnations.
BEGIN
  rdsadmin.rdsadmin_util.grant_sys_object('V_$DATABASE', 'REDOLAKE', 'SELECT');
  rdsadmin.rdsadmin_util.grant_sys_object('V_$DATABASE_INCARNATION', 'REDOLAKE', 'SELECT');
  rdsadmin.rdsadmin_util.grant_sys_object('V_$THREAD', 'REDOLAKE', 'SELECT');
  rdsadmin.rdsadmin_util.grant_sys_object('V_$LOG', 'REDOLAKE', 'SELECT');
  rdsadmin.rdsadmin_util.grant_sys_object('V_$ARCHIVED_LOG', 'REDOLAKE', 'SELECT');
  rdsadmin.rdsadmin_util.grant_sys_object('V_$LOG_HISTORY', 'REDOLAKE', 'SELECT');
  -- Optional: lets `redolake doctor` and `runway` say how far a standby is behind.
  rdsadmin.rdsadmin_util.grant_sys_object('V_$DATAGUARD_STATS', 'REDOLAKE', 'SELECT');
  -- Optional: lets `redolake runway` report how full the recovery area is.
  rdsadmin.rdsadmin_util.grant_sys_object('V_$RECOVERY_FILE_DEST', 'REDOLAKE', 'SELECT');
END;
/

-- Transactions that are open while a snapshot is taken.
BEGIN
  rdsadmin.rdsadmin_util.grant_sys_object('GV_$TRANSACTION', 'REDOLAKE', 'SELECT');
  rdsadmin.rdsadmin_util.grant_sys_object('CDB_2PC_PENDING', 'REDOLAKE', 'SELECT');
  -- Optional: needed where the pipeline of a standby has this user on its primary too.
  rdsadmin.rdsadmin_util.grant_sys_object('GV_$DATABASE', 'REDOLAKE', 'SELECT');
END;
/

-- Where the rows of large tables are.
BEGIN
  -- Optional: says which tables are large enough to be read in chunks.
  rdsadmin.rdsadmin_util.grant_sys_object('DBA_SEGMENTS', 'REDOLAKE', 'SELECT');
  -- Optional: lets snapshots read a large table in ranges of ROWIDs; without it, in ranges of its key.
  rdsadmin.rdsadmin_util.grant_sys_object('DBA_EXTENTS', 'REDOLAKE', 'SELECT');
END;
/

-- Release, parameters, containers.
BEGIN
  rdsadmin.rdsadmin_util.grant_sys_object('V_$INSTANCE', 'REDOLAKE', 'SELECT');
  rdsadmin.rdsadmin_util.grant_sys_object('V_$PARAMETER', 'REDOLAKE', 'SELECT');
  -- Optional: needed in a tenant database, where RDS has containers.
  rdsadmin.rdsadmin_util.grant_sys_object('V_$PDBS', 'REDOLAKE', 'SELECT');
  -- Optional: needed in a tenant database, where RDS has containers.
  rdsadmin.rdsadmin_util.grant_sys_object('V_$PDB_INCARNATION', 'REDOLAKE', 'SELECT');
  rdsadmin.rdsadmin_util.grant_sys_object('REDACTION_POLICIES', 'REDOLAKE', 'SELECT');
  rdsadmin.rdsadmin_util.grant_sys_object('V_$OPTION', 'REDOLAKE', 'SELECT');
  -- Optional: shows supplemental logging that is set for a whole PDB.
  rdsadmin.rdsadmin_util.grant_sys_object('DBA_SUPPLEMENTAL_LOGGING', 'REDOLAKE', 'SELECT');
END;
/

-- Minimal supplemental logging: without it LogMiner cannot assemble rows. It waits for open transactions.
BEGIN
  rdsadmin.rdsadmin_util.alter_supplemental_logging('ADD');
END;
/

-- Redo for direct-path loads, which NOLOGGING would leave out (--force-logging).
--   EXECUTE rdsadmin.rdsadmin_util.force_logging(p_enable => true)
-- RDS deletes archived logs that are older, 0 hours unless set (--retention-hours).
BEGIN
  rdsadmin.rdsadmin_util.set_configuration('archivelog retention hours', '48');
END;
/
COMMIT;

-- The captured tables: their definitions, and their rows as of one SCN.
-- With these two the user reads EVERY table of EVERY schema here (but those of SYS), also those that are
-- created later, and as they were in the past. For the captured tables alone: --grants table, or for each table
--   GRANT SELECT, FLASHBACK ON owner.name TO redolake
GRANT SELECT ANY TABLE, FLASHBACK ANY TABLE TO redolake;

-- The key of every changed row. (ALL) COLUMNS instead of (PRIMARY KEY) also logs the columns that did not change:
-- more redo, and a cheaper merge. A table without a primary key needs it.
-- For each captured table:
--   ALTER TABLE owner.name ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS

PROMPT Done. Next: redolake doctor
