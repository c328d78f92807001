"""`make demo`: the main job on this machine, with everything it needs, from a fresh source to the comparison at the end."""
