"""OpenLogReplicator's network target, from the stand-in's redo: what its documents and published output show.

feed      the redo of one thread in groups (LWNs), as the log writer writes them
parser    whole transactions in the order of their commits, as messages
server    the protocol over TCP: INFO, START, CONTINUE, CONFIRM
"""
