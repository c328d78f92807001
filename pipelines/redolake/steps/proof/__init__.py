"""Is the lake right: compare it with the source, repair rows that differ, work off the quarantine."""
