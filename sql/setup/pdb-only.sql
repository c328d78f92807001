-- Redolake: the user, its grants and supplemental logging, for one PDB, without access to the root.
-- Written by `redolake setup-sql --flavour pdb-only`. Read it, then run it in SQL*Plus or SQLcl,
-- as SYSDBA of the PDB; on Autonomous Database as ADMIN
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
-- If START_LOGMNR is still refused with ORA-01031, also run, as the Utilities manual demands for a single PDB:
--   EXECUTE DBMS_GOLDENGATE_AUTH.GRANT_ADMIN_PRIVILEGE('REDOLAKE')

-- LogMiner.
GRANT EXECUTE ON SYS.DBMS_LOGMNR TO redolake;
GRANT SELECT ON SYS.V_$LOGMNR_CONTENTS TO redolake;
GRANT SELECT ON SYS.V_$LOGMNR_LOGS TO redolake;
GRANT SELECT ON SYS.V_$LOGMNR_PARAMETERS TO redolake;

-- Redo logs, redo threads and incarnations.
GRANT SELECT ON SYS.V_$DATABASE TO redolake;
GRANT SELECT ON SYS.V_$DATABASE_INCARNATION TO redolake;
GRANT SELECT ON SYS.V_$THREAD TO redolake;
GRANT SELECT ON SYS.V_$LOG TO redolake;
GRANT SELECT ON SYS.V_$ARCHIVED_LOG TO redolake;
GRANT SELECT ON SYS.V_$LOG_HISTORY TO redolake;
-- Optional: lets `redolake doctor` and `runway` say how far a standby is behind.
GRANT SELECT ON SYS.V_$DATAGUARD_STATS TO redolake;
-- Optional: lets `redolake runway` report how full the recovery area is.
GRANT SELECT ON SYS.V_$RECOVERY_FILE_DEST TO redolake;

-- Transactions that are open while a snapshot is taken.
GRANT SELECT ON SYS.GV_$TRANSACTION TO redolake;
GRANT SELECT ON SYS.CDB_2PC_PENDING TO redolake;
-- Optional: needed where the pipeline of a standby has this user on its primary too.
GRANT SELECT ON SYS.GV_$DATABASE TO redolake;

-- Where the rows of large tables are.
-- Optional: says which tables are large enough to be read in chunks.
GRANT SELECT ON SYS.DBA_SEGMENTS TO redolake;
-- Optional: lets snapshots read a large table in ranges of ROWIDs; without it, in ranges of its key.
GRANT SELECT ON SYS.DBA_EXTENTS TO redolake;

-- Release, parameters, containers.
GRANT SELECT ON SYS.V_$INSTANCE TO redolake;
GRANT SELECT ON SYS.V_$PARAMETER TO redolake;
GRANT SELECT ON SYS.V_$PDBS TO redolake;
GRANT SELECT ON SYS.V_$PDB_INCARNATION TO redolake;
GRANT SELECT ON SYS.REDACTION_POLICIES TO redolake;
GRANT SELECT ON SYS.V_$OPTION TO redolake;
-- Optional: shows supplemental logging that is set for a whole PDB.
GRANT SELECT ON SYS.DBA_SUPPLEMENTAL_LOGGING TO redolake;

-- Minimal supplemental logging: without it LogMiner cannot assemble rows. It waits for open transactions.
-- ORA-31541 and ORA-60518 mean that only the administrators of the root can set it.
ALTER PLUGGABLE DATABASE ADD SUPPLEMENTAL LOG DATA;

-- Set in the root by its administrators: FORCE LOGGING, so that direct-path loads are in the redo; and
-- ARCHIVE_LAG_TARGET, so that a quiet database switches logs: only archived logs are mined.

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
