-- One LogMiner session. Constants are given by name, not by Oracle's numbers.

-- name: local_undo
-- FALSE, or no row on 12.1: all containers share the undo of the root. Asked in the root.
SELECT property_value AS is_local FROM database_properties WHERE property_name = 'LOCAL_UNDO_ENABLED'

-- name: container_number
SELECT con_id FROM v$pdbs WHERE name = :container

-- name: new_logfile
-- Adds the first log; NEW discards any list the session had.
BEGIN
  DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => :file_name, OPTIONS => DBMS_LOGMNR.NEW);
END;

-- name: add_logfile
-- Oracle opens the file here, so this call proves what V$ARCHIVED_LOG only claims.
BEGIN
  DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => :file_name, OPTIONS => DBMS_LOGMNR.ADDFILE);
END;

-- name: start_logmnr
-- Without STARTSCN and ENDSCN: they would hide rows whose SCN is outside the log that contains them, and mine/checks.py would
-- not see that such rows exist. Never COMMITTED_DATA_ONLY (memory, lost transactions), CONTINUOUS_MINE (desupported) or
-- SKIP_CORRUPTION (silent loss).
BEGIN
  DBMS_LOGMNR.START_LOGMNR(
    OPTIONS => DBMS_LOGMNR.DICT_FROM_ONLINE_CATALOG + DBMS_LOGMNR.NO_SQL_DELIMITER + DBMS_LOGMNR.NO_ROWID_IN_STMT);
END;

-- name: start_logmnr_with_redo_dictionary
-- Needs a whole dictionary among the logs, and all logs of all redo threads from it on: DDL_DICT_TRACKING follows DDL from there.
-- Begins at the dictionary: a log of another redo thread begins before it, and LogMiner may not find a dictionary after its start.
BEGIN
  DBMS_LOGMNR.START_LOGMNR(
    STARTSCN => :start_scn,
    OPTIONS => DBMS_LOGMNR.DICT_FROM_REDO_LOGS + DBMS_LOGMNR.DDL_DICT_TRACKING + DBMS_LOGMNR.NO_SQL_DELIMITER
             + DBMS_LOGMNR.NO_ROWID_IN_STMT);
END;

-- name: start_logmnr_in_pdb
-- Inside a PDB logs cannot be added (ORA-65040): Oracle chooses those of the range, and V$LOGMNR_LOGS lists them. The end is
-- inclusive.
BEGIN
  DBMS_LOGMNR.START_LOGMNR(
    STARTSCN => :start_scn,
    ENDSCN => :end_scn,
    OPTIONS => DBMS_LOGMNR.DICT_FROM_ONLINE_CATALOG + DBMS_LOGMNR.NO_SQL_DELIMITER + DBMS_LOGMNR.NO_ROWID_IN_STMT);
END;

-- name: end_logmnr
BEGIN
  DBMS_LOGMNR.END_LOGMNR;
END;

-- name: mined_logs
-- STATUS 0 and 1 mean read, 2 pruned, 4 missing. The other columns come from the file headers.
SELECT thread_id, thread_sqn, status, filename, low_scn, next_scn, db_id, reset_scn FROM v$logmnr_logs

-- name: mining_parameters
-- One row while a session is started; STATUS is 0 or an ORA code.
SELECT status FROM v$logmnr_parameters

-- name: redo_rows
-- Numbers are cast because the driver would fetch them as doubles. A larger one than fits, such as 2^64 - 1, would be
-- ORA-01438: it becomes the largest number that fits, and mine/rows.py decides what that means. No ORDER BY: LogMiner returns
-- rows in redo order. mine/selection.py appends the WHERE clause.
SELECT CAST(CASE WHEN thread# > 999999999 THEN 999999999 ELSE thread# END AS NUMBER(9)) AS thread,
       CAST(CASE WHEN rbasqn > 999999999999999999 THEN 999999999999999999 ELSE rbasqn END AS NUMBER(18)) AS sequence_no,
       rs_id,
       CAST(CASE WHEN ssn > 999999999999999999 THEN 999999999999999999 ELSE ssn END AS NUMBER(18)) AS ssn,
       CAST(CASE WHEN csf > 1 THEN 2 ELSE csf END AS NUMBER(1)) AS csf,
       CAST(CASE WHEN scn > 999999999999999999 THEN 999999999999999999 ELSE scn END AS NUMBER(18)) AS scn,
       CAST(CASE WHEN start_scn > 999999999999999999 THEN 999999999999999999 ELSE start_scn END AS NUMBER(18)) AS start_scn,
       timestamp AS changed_at,
       CAST(CASE WHEN xidusn > 999999999999999999 THEN 999999999999999999 ELSE xidusn END AS NUMBER(18)) AS xidusn,
       CAST(CASE WHEN xidslt > 999999999999999999 THEN 999999999999999999 ELSE xidslt END AS NUMBER(18)) AS xidslt,
       CAST(CASE WHEN xidsqn > 999999999999999999 THEN 999999999999999999 ELSE xidsqn END AS NUMBER(18)) AS xidsqn,
       CAST(CASE WHEN pxidusn > 999999999999999999 THEN 999999999999999999 ELSE pxidusn END AS NUMBER(18)) AS pxidusn,
       CAST(CASE WHEN pxidslt > 999999999999999999 THEN 999999999999999999 ELSE pxidslt END AS NUMBER(18)) AS pxidslt,
       CAST(CASE WHEN pxidsqn > 999999999999999999 THEN 999999999999999999 ELSE pxidsqn END AS NUMBER(18)) AS pxidsqn,
       CAST(CASE WHEN src_con_id > 999999999 THEN 999999999 ELSE src_con_id END AS NUMBER(9)) AS con_id,
       src_con_name AS con_name,
       operation,
       CAST(CASE WHEN operation_code > 999999999 THEN 999999999 ELSE operation_code END AS NUMBER(9)) AS operation_code,
       seg_owner,
       table_name,
       CAST(CASE WHEN data_obj# > 999999999999999999 THEN 999999999999999999 ELSE data_obj# END AS NUMBER(18)) AS object_id,
       CAST(CASE WHEN data_objd# > 999999999999999999 THEN 999999999999999999 ELSE data_objd# END AS NUMBER(18)) AS data_object_id,
       CAST(CASE WHEN data_objv# > 999999999999999999 THEN 999999999999999999 ELSE data_objv# END AS NUMBER(18)) AS object_version,
       row_id,
       CAST(CASE WHEN c.rollback > 1 THEN 2 ELSE c.rollback END AS NUMBER(1)) AS undone,
       CAST(CASE WHEN status > 999999999 THEN 999999999 ELSE status END AS NUMBER(9)) AS status,
       info,
       username,
       sql_redo
  FROM v$logmnr_contents c
