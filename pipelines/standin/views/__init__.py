"""The V$ and dictionary views of the stand-in, computed from the database's state at the moment of the query."""
