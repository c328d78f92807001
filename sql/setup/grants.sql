-- What Redolake needs of a container database, and nothing more. Run in the root as SYSDBA; &password and &pdb are asked for.
-- In a database without containers: leave out the c## of the name, every CONTAINER clause, CONTAINER_DATA and SET CONTAINER.

CREATE USER c##redolake IDENTIFIED BY "&password" CONTAINER = ALL;
GRANT CREATE SESSION, SET CONTAINER TO c##redolake CONTAINER = ALL;

-- Without it the views below show no row of another container, and no error.
ALTER USER c##redolake SET CONTAINER_DATA = ALL CONTAINER = CURRENT;

-- Mining.
GRANT LOGMINING TO c##redolake CONTAINER = ALL;
GRANT EXECUTE ON SYS.DBMS_LOGMNR TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$LOGMNR_CONTENTS TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$LOGMNR_LOGS TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$LOGMNR_PARAMETERS TO c##redolake CONTAINER = ALL;

-- Which redo there is.
GRANT SELECT ON SYS.V_$DATABASE TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$DATABASE_INCARNATION TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$THREAD TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$LOG TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$ARCHIVED_LOG TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$LOG_HISTORY TO c##redolake CONTAINER = ALL;
-- How full the recovery area is; `redolake runway` tells it when it may.
GRANT SELECT ON SYS.V_$RECOVERY_FILE_DEST TO c##redolake CONTAINER = ALL;

-- What is open while a snapshot is taken.
GRANT SELECT ON SYS.GV_$TRANSACTION TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.CDB_2PC_PENDING TO c##redolake CONTAINER = ALL;

-- Release, parameters, containers.
GRANT SELECT ON SYS.V_$INSTANCE TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$PARAMETER TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.V_$PDBS TO c##redolake CONTAINER = ALL;
GRANT SELECT ON SYS.CDB_TABLES TO c##redolake CONTAINER = ALL;
-- What a PDB logs of all its tables; only where it is set there, and not for each table or for the whole database.
GRANT SELECT ON SYS.DBA_SUPPLEMENTAL_LOGGING TO c##redolake CONTAINER = ALL;

-- The captured tables: their definitions (ALL_ views show what may be read) and their rows as of one SCN.
-- Narrower: for each captured table GRANT SELECT, FLASHBACK ON owner.table TO c##redolake.
ALTER SESSION SET CONTAINER = &pdb;
GRANT SELECT ANY TABLE, FLASHBACK ANY TABLE TO c##redolake;
