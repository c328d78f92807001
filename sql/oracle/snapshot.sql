-- Snapshot reads are built by source/snapshot.py from the dictionary; only the probe for the rights is fixed.

-- name: undo_retention
-- How long AS OF SCN can look back, in seconds.
SELECT value FROM v$parameter WHERE name = 'undo_retention'
