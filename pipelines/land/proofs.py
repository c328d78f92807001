"""The results of comparisons, kept as history, and the rows that they found."""

from __future__ import annotations

from pipelines.host import crash
from pipelines.land import layout
from pipelines.land.files import Files
from pipelines.records.proofs import FoundRows, TableProof
from pipelines.values.table import TableId


class Proofs:
    def __init__(self, files: Files) -> None:
        self._files = files

    @crash.writer
    def write_proof(self, table: TableId, proof: TableProof, found: FoundRows | None) -> None:
        """Record a comparison. The rows come first: a proof that names some has them."""
        if found is not None and found.rows:
            self._files.write_record_once(layout.found_rows_file(table, proof.name), found)
        self._files.write_record_once(layout.proof_file(table, proof.name), proof)

    def names(self, table: TableId) -> list[str]:
        """Return the names of the table's proofs, the oldest first."""
        return [layout.proof_of(name) for name in self._files.names(layout.proof_folder(table)) if layout.is_proof(name)]

    def read(self, table: TableId, name: str) -> TableProof | None:
        return self._files.read_record(TableProof, layout.proof_file(table, name), cure_of(table))

    def found_rows(self, table: TableId, name: str) -> FoundRows | None:
        """Return the rows that a comparison found; None where it found none."""
        return self._files.read_record(FoundRows, layout.found_rows_file(table, name), cure_of(table))

    def newest(self, table: TableId, most: int) -> list[TableProof]:
        """Return up to so many of the table's proofs, the newest first."""
        found = (self.read(table, name) for name in reversed(self.names(table)[-most:]))
        return [proof for proof in found if proof is not None]


def cure_of(table: TableId) -> str:
    return f"remove the file, and run `redolake verify {table}`, which writes a new one"
