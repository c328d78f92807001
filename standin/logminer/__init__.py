"""LogMiner of the stand-in: DBMS_LOGMNR, its three views, and the rendering of redo as SQL text."""
