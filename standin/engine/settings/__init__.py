"""What a database and a session are set to."""
