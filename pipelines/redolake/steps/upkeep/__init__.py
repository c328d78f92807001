"""A long life: remove what nothing needs any more, keep the Delta tables compact."""
