"""An Oracle stand-in for tests and demos: real drivers connect to it over TCP, LogMiner reads its redo logs."""

__version__ = "0.1.0"
