"""A demonstration on one machine: the whole pipeline against the Oracle stand-in, and scenarios with faults at the source."""
