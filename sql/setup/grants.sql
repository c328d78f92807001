-- The privileges that Redolake needs in a container database. Run in the root as SYSDBA; &password and &pdb are prompted for.
-- In a database without containers omit the c## prefix, every CONTAINER clause, CONTAINER_DATA and SET CONTAINER.

CREATE USER c##redolake IDENTIFIED BY "&password" CONTAINER = ALL;
GRANT CREATE SESSION, SET CONTAINER TO c##redolake CONTAINER = ALL;

-- Without CONTAINER_DATA the views below show no row of other containers, and raise no error.
ALTER USER c##redolake SET CONTAINER_DATA = ALL CONTAINER = CURRENT;

-- LogMiner.
GRANT LOGMINING TO c##redolake CONTAINER = ALL;
GRANT EXECUTE ON SYS.DBMS_LOGMNR TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$LOGMNR_CONTENTS TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$LOGMNR_LOGS TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$LOGMNR_PARAMETERS TO c##redolake CONTAINER = ALL;

-- Redo logs, redo threads and incarnations.
GRANT SELECT ON SYS.V_$DATABASE TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$DATABASE_INCARNATION TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$THREAD TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$LOG TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$ARCHIVED_LOG TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$LOG_HISTORY TO c##redolake CONTAINER = ALL;
-- Optional: lets `redolake runway` report how full the recovery area is.
GRANT SELECT ON SYS.V_$RECOVERY_FILE_DEST TO c##redolake CONTAINER = ALL;

-- Transactions that are open while a snapshot is taken.
GRANT SELECT ON SYS.GV_$TRANSACTION TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.CDB_2PC_PENDING TO c##redolake CONTAINER = ALL;

-- Release, parameters, containers.
GRANT SELECT ON SYS.V_$INSTANCE TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$PARAMETER TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$PDBS TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.CDB_TABLES TO c##redolake CONTAINER = ALL;
-- Optional: supplemental logging set for a whole PDB, and not per table or for the whole database.
GRANT SELECT ON SYS.DBA_SUPPLEMENTAL_LOGGING TO c##redolake CONTAINER = ALL;

-- The captured tables: their definitions (ALL_ views show readable tables only) and their rows as of one SCN.
-- Narrower: for each captured table GRANT SELECT, FLASHBACK ON owner.table TO c##redolake.
ALTER SESSION SET CONTAINER = &pdb;
GRANT SELECT ANY TABLE, FLASHBACK ANY TABLE TO c##redolake;
