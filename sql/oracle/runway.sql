-- How long redo is kept, as far as the database says.

-- name: database_clock
-- FIRST_TIME is told by the clock of the database host, so its distance from now is too.
SELECT SYSDATE AS now_at FROM dual

-- name: recovery_area
-- NAME is NULL, or there is no row, where the database has none.
SELECT name, space_limit, space_used, space_reclaimable FROM v$recovery_file_dest
