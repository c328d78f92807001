"""The ledger: windows, batches, tables and their versions, positions, open transactions, leases.

It serves plans and status quickly. The files beside the data are the truth; the ledger is corrected from them.
"""

from redolake.ledger.entries import Lease, Loss, TableEntry
from redolake.ledger.store import Ledger, LedgerVersion, ledger_version, open_ledger, open_ledger_to_read

__all__ = [
    "Lease", "Ledger", "LedgerVersion", "Loss", "TableEntry", "ledger_version", "open_ledger", "open_ledger_to_read",
]  # fmt: skip
