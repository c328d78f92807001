"""Changes that cannot be applied, and their keys: taken out of a commit range, and kept in a Delta table beside the lake's.

values/quarantine.py decides. `divide` asks Spark what it needs to know, `log` reads and writes the table of events.
"""
