"""The clock of SCNs, redo records on their way into logs, and the archived logs."""
