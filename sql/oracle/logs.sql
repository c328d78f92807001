-- Redo facts of the control file. V$ and not GV$: the control file is shared, and GV$ repeats its rows per instance.
-- The views are not consistent with each other, so the order of reading matters, and V$LOG and V$LOG_HISTORY are read once more
-- at the end: see source/facts.py.

-- name: redo_head
-- Read first: nothing read later is used beyond this SCN.
SELECT dbid, current_scn, database_role FROM v$database

-- name: online_logs
-- Read before archived_logs: a log that leaves this view in between then appears in that one.
SELECT thread# AS thread, sequence# AS sequence_no, first_change# AS first_scn, next_change# AS next_scn,
       first_time AS first_at, bytes, archived, status
  FROM v$log
 WHERE status <> 'UNUSED'

-- name: archived_logs
-- One row per log and destination. Deleted and remote copies are included: they explain a loss.
-- Of the logs that ended at or before :since, the newest of each redo thread and incarnation and later ones are enough.
SELECT thread, sequence_no, resetlogs_id, first_scn, next_scn, first_at, bytes, dest_id, name, status, deleted, standby_dest,
       archived
  FROM (SELECT thread# AS thread, sequence# AS sequence_no, resetlogs_id, first_change# AS first_scn,
               NULLIF(next_change#, 0) AS next_scn, first_time AS first_at, blocks * block_size AS bytes, dest_id, name, status,
               deleted, standby_dest, archived,
               MAX(CASE WHEN next_change# BETWEEN 1 AND :since THEN sequence# END)
                 OVER (PARTITION BY thread#, resetlogs_id) AS last_ended
          FROM v$archived_log) logs
 WHERE next_scn IS NULL OR next_scn > :since OR sequence_no >= last_ended

-- name: dictionary_logs
-- The logs in which a dictionary written by DBMS_LOGMNR_D.BUILD begins or ends.
SELECT DISTINCT thread# AS thread, sequence# AS sequence_no, resetlogs_id, first_change# AS first_scn,
       NULLIF(next_change#, 0) AS next_scn, dictionary_begin, dictionary_end
  FROM v$archived_log
 WHERE dictionary_begin = 'YES' OR dictionary_end = 'YES'

-- name: log_history
-- Outlives the log's row in V$ARCHIVED_LOG, and so proves that a sequence once existed.
-- Of the logs that ended at or before :since, the newest of each redo thread and incarnation and later ones are enough.
SELECT thread, sequence_no, first_scn, next_scn, resetlogs_scn, resetlogs_at
  FROM (SELECT thread# AS thread, sequence# AS sequence_no, first_change# AS first_scn, NULLIF(next_change#, 0) AS next_scn,
               resetlogs_change# AS resetlogs_scn, resetlogs_time AS resetlogs_at,
               MAX(CASE WHEN next_change# BETWEEN 1 AND :since THEN sequence# END)
                 OVER (PARTITION BY thread#, resetlogs_change#, resetlogs_time) AS last_ended
          FROM v$log_history) logs
 WHERE next_scn IS NULL OR next_scn > :since OR sequence_no >= last_ended

-- name: incarnations
SELECT resetlogs_id, resetlogs_change# AS resetlogs_scn, resetlogs_time AS resetlogs_at, status,
       prior_resetlogs_change# AS prior_resetlogs_scn
  FROM v$database_incarnation

-- name: redo_threads
-- Read last.
SELECT thread# AS thread, status, enabled, checkpoint_change# AS checkpoint_scn, enable_change# AS enable_scn,
       disable_change# AS disable_scn, instance
  FROM v$thread

-- name: active_transactions
-- GV$, because each instance knows its own transactions. START_SCN may be NULL, 0 or 1, also while there is undo.
SELECT inst_id, xidusn, xidslot, xidsqn, start_scn, status, used_urec, con_id FROM gv$transaction

-- name: instances
-- On the primary of a standby. GV$, because instances may differ by some SCNs.
SELECT inst_id, dbid, db_unique_name, resetlogs_change# AS resetlogs_scn, database_role, open_mode, current_scn
  FROM gv$database

-- name: standby_lags
-- On a standby; a primary has no rows. Intervals, as texts of days and hours.
SELECT name, value FROM v$dataguard_stats WHERE name IN ('transport lag', 'apply lag')

-- name: prepared_transactions
-- Distributed transactions in doubt. After their instance ended they are in no V$TRANSACTION, and may still commit.
SELECT local_tran_id, con_id FROM cdb_2pc_pending WHERE state IN ('collecting', 'prepared')
