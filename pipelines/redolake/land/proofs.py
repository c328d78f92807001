"""The results of comparisons, kept as history, and the rows that they found."""

from __future__ import annotations

from redolake.host import crash
from redolake.land import layout
from redolake.land.files import Files
from redolake.records.proofs import FoundRows, HashedChunk, HashingBegun, TableProof
from redolake.values.table import TableId


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

    def hashing(self, table: TableId) -> HashingBegun | None:
        """Return the comparison by chunks that has begun and not ended."""
        return self._files.read_record(HashingBegun, layout.hashing_file(table), cure_of(table))

    @crash.writer
    def begin_hashing(self, table: TableId, begun: HashingBegun) -> None:
        self._files.replace_record(layout.hashing_file(table), begun)

    @crash.writer
    def write_hashed(self, table: TableId, chunk: HashedChunk) -> None:
        """Record the sums of a chunk; another process may have done so."""
        self._files.create_record(layout.hashed_chunk_file(table, chunk.scn, chunk.number), chunk)

    def hashed_chunks(self, table: TableId, scn: int) -> dict[int, HashedChunk]:
        """Return the chunks that are hashed AS OF the SCN, by number."""
        folder, begins = layout.proof_folder(table), layout.hashed_chunk_file(table, scn, 0).rpartition("/")[2][:-11]
        names = [name for name in self._files.names(folder) if name.startswith(begins)]
        found = (self._files.read_record(HashedChunk, f"{folder}/{name}", cure_of(table)) for name in names)
        return {one.number: one for one in found if one is not None}

    @crash.writer
    def end_hashing(self, table: TableId) -> None:
        """Forget a comparison by chunks: first that it has begun, then its chunks."""
        folder = layout.proof_folder(table)
        for name in sorted(filter(layout.is_hashed, self._files.names(folder)), reverse=True):
            self._files.remove(f"{folder}/{name}")

    def newest(self, table: TableId, most: int) -> list[TableProof]:
        """Return up to so many of the table's proofs, the newest first."""
        found = (self.read(table, name) for name in reversed(self.names(table)[-most:]))
        return [proof for proof in found if proof is not None]


def cure_of(table: TableId) -> str:
    return f"remove the file, and run `redolake verify {table}`, which writes a new one"
