"""Before anything is written: what is wrong with the configuration, the places, the source and the mappings."""
