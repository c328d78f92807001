"""The ledger: windows, batches, tables and their versions, positions, open transactions, leases.

It serves plans and status quickly. The files beside the data are the truth; the ledger is corrected from them.
"""

from pipelines.ledger.entries import Lease, Loss, TableEntry
from pipelines.ledger.store import Ledger, open_ledger, open_ledger_to_read

__all__ = ["Lease", "Ledger", "Loss", "TableEntry", "open_ledger", "open_ledger_to_read"]
