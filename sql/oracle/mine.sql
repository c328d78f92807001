-- One LogMiner session. Constants are given by name, not by Oracle's numbers.

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
-- SCNs are cast because the driver would fetch them as doubles. No ORDER BY: LogMiner returns rows in redo order.
-- mine/selection.py appends the WHERE clause.
SELECT CAST(thread# AS NUMBER(9)) AS thread,
       CAST(rbasqn AS NUMBER(18)) AS sequence_no,
       rs_id,
       CAST(ssn AS NUMBER(18)) AS ssn,
       CAST(csf AS NUMBER(1)) AS csf,
       CAST(scn AS NUMBER(18)) AS scn,
       CAST(start_scn AS NUMBER(18)) AS start_scn,
       timestamp AS changed_at,
       CAST(xidusn AS NUMBER(18)) AS xidusn,
       CAST(xidslt AS NUMBER(18)) AS xidslt,
       CAST(xidsqn AS NUMBER(18)) AS xidsqn,
       CAST(pxidusn AS NUMBER(18)) AS pxidusn,
       CAST(pxidslt AS NUMBER(18)) AS pxidslt,
       CAST(pxidsqn AS NUMBER(18)) AS pxidsqn,
       CAST(src_con_id AS NUMBER(9)) AS con_id,
       src_con_name AS con_name,
       operation,
       CAST(operation_code AS NUMBER(9)) AS operation_code,
       seg_owner,
       table_name,
       CAST(data_obj# AS NUMBER(18)) AS object_id,
       CAST(data_objd# AS NUMBER(18)) AS data_object_id,
       CAST(data_objv# AS NUMBER(18)) AS object_version,
       row_id,
       CAST(c.rollback AS NUMBER(1)) AS undone,
       CAST(status AS NUMBER(9)) AS status,
       info,
       username,
       sql_redo
  FROM v$logmnr_contents c
