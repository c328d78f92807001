"""Open transactions: what they change row by row, their undo, commit and rollback."""
