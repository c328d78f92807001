"""Receive committed transactions from OpenLogReplicator's network target, and prove that none is missing.

wire       lengths around messages, and the protobuf messages of requests and answers
messages   one message as a value; what its settings must show
sequence   the order of messages: numbering, whole transactions, checkpoints; where a window may end
rows       changes as landed rows
client     the connection
settings   the configuration that OpenLogReplicator needs

Everything but the client is pure. docs/development/second-source.md has the reasons.
"""

from redolake.source.olr.client import Address, Connection, First, connect, open_stream
from redolake.source.olr.rows import Selection, to_batch
from redolake.source.olr.sequence import Anchor, Cut, Sequencer
from redolake.source.olr.settings import Described, needed_configuration, read_described, settings_findings, table_findings

__all__ = [
    "Address",
    "Anchor",
    "Connection",
    "Cut",
    "Described",
    "First",
    "Selection",
    "Sequencer",
    "connect",
    "needed_configuration",
    "open_stream",
    "read_described",
    "settings_findings",
    "table_findings",
    "to_batch",
]
