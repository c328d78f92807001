"""What is planned, landed and applied; positions, table versions, open transactions, leases.

It plans and serves status quickly; what lies beside the data is the truth, and corrects it.
"""

from pipelines.ledger.entries import Lease, Loss, TableEntry
from pipelines.ledger.store import Ledger, open_ledger

__all__ = ["Lease", "Ledger", "Loss", "TableEntry", "open_ledger"]
