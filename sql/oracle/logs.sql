-- The control file's redo facts. V$ and not GV$: the control file is shared, and GV$ repeats its rows per instance.
-- The views share no common moment, so the order of reading is part of the meaning: see source/facts.py.

-- name: redo_head
-- Read first: nothing that is read later may be used past this SCN.
SELECT dbid, current_scn FROM v$database

-- name: online_logs
-- Read before the archived ones: a log that leaves this view in between is then found in the other.
SELECT thread# AS thread, sequence# AS sequence_no, first_change# AS first_scn, next_change# AS next_scn,
       first_time AS first_at, bytes, archived, status
  FROM v$log
 WHERE status <> 'UNUSED'

-- name: archived_logs
-- One row per destination of the same log; none is left out, deleted and remote copies explain a loss.
SELECT thread# AS thread, sequence# AS sequence_no, resetlogs_id, first_change# AS first_scn, next_change# AS next_scn,
       first_time AS first_at, blocks * block_size AS bytes, dest_id, name, status, deleted, standby_dest, archived
  FROM v$archived_log

-- name: log_history
-- Outlives the archived log's own row: proof that a sequence once existed.
SELECT thread# AS thread, sequence# AS sequence_no, first_change# AS first_scn, next_change# AS next_scn,
       resetlogs_change# AS resetlogs_scn, resetlogs_time AS resetlogs_at
  FROM v$log_history

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
-- GV$: transactions are facts of an instance's memory. START_SCN 0 and 1 belong to recursive rows that began nothing.
SELECT xidusn, xidslot, xidsqn, start_scn, start_date AS started_at, con_id FROM gv$transaction WHERE start_scn > 1

-- name: prepared_transactions
-- Of distributed transactions. One that was in doubt when its instance ended is in no V$TRANSACTION, and may commit yet.
SELECT local_tran_id, con_id FROM cdb_2pc_pending WHERE state IN ('collecting', 'prepared')
