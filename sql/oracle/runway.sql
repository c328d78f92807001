-- How long the database keeps redo.

-- name: database_clock
-- FIRST_TIME is in the database host's time, so ages are measured with the same clock.
SELECT SYSDATE AS now_at FROM dual

-- name: recovery_area
-- Without a recovery area NAME is NULL or there is no row.
SELECT name, space_limit, space_used, space_reclaimable FROM v$recovery_file_dest
