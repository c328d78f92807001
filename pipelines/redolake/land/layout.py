"""Name the files of a pipeline's folder, `<landing>/<pipeline>/`. Numbers have a fixed width, so that names sort by SCN.

No name leads out of its folder, whoever has chosen it: each becomes one segment by `paths.segment`.

Several attempts may write the same thing; `<token>` and `<attempt>` are random and keep their files apart.

handover.json                                  the SCN at which capture begins, and the database's character set
pruned.json                                    where the chain begins since older windows were pruned; its copy is
                                               pruned-copy.json
single-quotes.json                             the first evidence that LogMiner leaves quotes inside values single
windows/<resetlogs id>-<start>-<end>/          manifest.json, redo-<token>-<slice>.parquet; reread-<token>-<n>.parquet (rows
                                               read again AS OF the end), before-<token>-<n>.parquet (AS OF the start),
                                               later-<token>.parquet (those of open transactions), whole-<token>.parquet (the
                                               keys of all rows, after a DDL that changed rows)
chain/<resetlogs id>-<start>.json              the window or declared gap that continues the chain from there
gaps/<resetlogs id>-<start>.json               declared gaps
split/<gap>/<window>.json                      transactions split by the gap, as known at the window's end
unlisted/<resetlogs id>-<scn>.json             the gap, or the chain's begin, after which a snapshot was begun at which nobody
                                               showed what was open
restored/<gap or range>/                       chain/, windows/ that were mined beside the chain, from restored logs
closed/<gap>/<OWNER.NAME>-<snapshot scn>.json  a table that has what the gap lacked, with the proof
dictionary/from-<resetlogs id>-<scn>/          <resetlogs id>-<scn>.json: when each plan has read the data dictionary, and which
                                               content it had; some hundred in a folder, named by the one that began it.
                                               Older releases wrote all into dictionary/
dictionary/contents/<hash>.json                each distinct content, named by its SHA-256
captured/<number>.json                         the tables that patterns have matched; the highest number counts
snapshots/<OWNER.NAME>/<scn>/                  snapshot.json, dictionary.json, part-<token>.parquet,
                                               begun-<chain epoch>.json: the epoch in which it was begun,
                                               since-<resetlogs id>-<scn>.json: start of the oldest transaction then open;
                                               of a large table also chunks.json, chunk-<n>.json, later-<scn>.json (an SCN at
                                               which chunks are read since), given-up.json
pauses/<OWNER.NAME>.json                       whether chunks of the table's snapshots may be read
loads/<scn>-<token>/                           spec.json, manifest.json of a snapshot load
batches/<resetlogs id>-<start>-<end>/          spec-<attempt>.json, manifest.json, carry-<attempt>/; a catch-up's folder has
                                               -<attempt> after its end SCN
continued/<resetlogs id>-<end>/<batch>.json    the batches that were prepared after the one that ends there; complete.json
backfills/<start>-<end>-<token>/               spec.json, manifest.json, carry/
as-of/<time>-<token>/                          manifest.json, carry/ of a read AS OF an SCN; removed after it
maintenance/<token>/                           spec.json, manifest.json of a job that maintains Delta tables
drops/<resetlogs id>-<scn>-<con_id>-<xid>.json dropped transactions
approvals/<time>-<token>.json                  what people approved: a resumed table, a DDL; and reads by a policy
verify/<token>/<object id>-<n>.parquet         rows for one comparison; removed after it
proofs/<OWNER.NAME>/<time>-<id>.json           results of comparisons; <time>-<id>-rows.json: the rows that differ;
                                               hashed-..: chunks of a comparison that has not ended
keys/<variable or connection>.json             where a key of encrypted files is found, and its fingerprint
lakes/<hash of its place>.json                 the mark that was written into the lake, as <lake>/_redolake/<pipeline>.json
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from redolake.host.paths import add_hash, segment, shorten
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId

HANDOVER, HANDOVER_COPY = "handover.json", "handover-copy.json"
SINGLE_QUOTES = "single-quotes.json"
PRUNED, PRUNED_COPY = "pruned.json", "pruned-copy.json"
WINDOWS, CHAIN, GAPS, SPLIT, DICTIONARY, CAPTURED = "windows", "chain", "gaps", "split", "dictionary", "captured"
SNAPSHOTS, LOADS, BATCHES, BACKFILLS, DROPS, VERIFY = "snapshots", "loads", "batches", "backfills", "drops", "verify"
APPROVALS, LAKES, PROOFS, PAUSES, AS_OF = "approvals", "lakes", "proofs", "pauses", "as-of"
SINCE, LATER, FOUND_ROWS = "since-", "later-", "-rows.json"
CONTINUED, MAINTENANCE = "continued", "maintenance"
KEYS = "keys"
LAKE_MARKS = "_redolake"
READINGS_FROM = "from-"
RESTORED, CLOSED, UNLISTED = "restored", "closed", "unlisted"
CONTINUED_COMPLETE = f"{CONTINUED}/complete.json"

HASHED = "hashed-"
_proved = "%Y%m%dT%H%M%S%f"

_named = partial(segment, keep=".")  # an XID has dots


def landing_key(source: str) -> str:
    return f"{KEYS}/{segment(source.replace(' ', '-'))}.json"


# --- The chain -------------------------------------------------------------------------------------------------------


def window_folder(window: str) -> str:
    return f"{WINDOWS}/{_named(window)}"


def in_window(window: str, file: str) -> str:
    return f"{window_folder(window)}/{_named(file)}"


def window_manifest(window: str) -> str:
    return in_window(window, "manifest.json")


def redo_file(token: str, slice_number: int) -> str:
    """Return a name within the window's folder."""
    return f"redo-{token}-{slice_number:05d}.parquet"


def reread_file(token: str, number: int, *, before: bool = False) -> str:
    """Return a name within the window's folder."""
    return f"{'before' if before else 'reread'}-{token}-{number:05d}.parquet"


def whole_file(token: str) -> str:
    return f"whole-{token}.parquet"


def reread_later_file(token: str) -> str:
    return f"later-{token}.parquet"


def ends_after(window: str, position: ChainPosition) -> bool:
    """Return whether a window ends after a position."""
    return end_position(window) > position


def end_position(window: str) -> ChainPosition:
    resetlogs_id, _, end = window.split("-")
    return ChainPosition(int(resetlogs_id), int(end))


def start_position(window: str) -> ChainPosition:
    return ChainPosition.parse(window.rpartition("-")[0])


def contains(window: str, scn: int) -> bool:
    _, start, end = window.split("-")
    return int(start) <= scn < int(end)


def chain_link(position: str) -> str:
    """Return the file of a chain position. Only one writer can create it; that writer's window or gap continues the chain."""
    return f"{CHAIN}/{_named(position)}.json"


def link_of(window: str) -> str:
    """Return the file of the chain position at which a window begins."""
    return chain_link(window.rpartition("-")[0])


def gap_file(gap: str) -> str:
    return f"{GAPS}/{_named(gap)}.json"


def split_folder(gap: str) -> str:
    return f"{SPLIT}/{_named(gap)}"


def split_file(gap: str, window: str) -> str:
    return f"{split_folder(gap)}/{_named(window)}.json"


def unlisted_file(begin: str) -> str:
    return f"{UNLISTED}/{_named(begin)}.json"


def restored_landing(gap: str) -> str:
    """Return the folder with a chain of its own: that of a gap's windows."""
    return f"{RESTORED}/{_named(gap)}"


def closed_folder(gap: str) -> str:
    return f"{CLOSED}/{_named(gap)}"


def closed_file(gap: str, table: str, snapshot_scn: int | None) -> str:
    return f"{closed_folder(gap)}/{_table_folder(TableId.parse(table))}-{snapshot_scn or 0:020d}.json"


def readings_folder(first: ChainPosition) -> str:
    """Return the name, within the folder of the dictionary, of the folder of readings that the one at a position begins."""
    return f"{READINGS_FROM}{first.name}"


def dictionary_file(position: ChainPosition, folder: str = "") -> str:
    """Return the file of a reading in a folder of readings, or without one where older releases wrote it."""
    return f"{DICTIONARY}/{folder}/{position.name}.json" if folder else f"{DICTIONARY}/{position.name}.json"


def captured_file(number: int) -> str:
    return f"{CAPTURED}/{number:010d}.json"


def dictionary_content(content: str) -> str:
    return f"{DICTIONARY}/contents/{_named(content)}.json"


# --- Snapshots -------------------------------------------------------------------------------------------------------


def snapshot_folders(table: TableId) -> str:
    """Return the folder of a table's snapshots; each one's folder is named by its SCN."""
    return snapshot_folder(table, 0).rpartition("/")[0]


def snapshot_folder(table: TableId, scn: int) -> str:
    return f"{SNAPSHOTS}/{_table_folder(table)}/{scn:020d}"


def _table_folder(table: TableId) -> str:
    """Return a name that no other table has, also where the store does not distinguish small letters from capitals."""
    name = f"{segment(table.owner)}.{segment(table.name)}"
    return shorten(name, str(table)) if name == name.upper() else add_hash(shorten(name, str(table)), str(table))


def snapshot_rows(token: str) -> str:
    """Return a name within the snapshot's folder."""
    return f"part-{token}.parquet"


def snapshot_manifest(table: TableId, scn: int) -> str:
    return f"{snapshot_folder(table, scn)}/snapshot.json"


def snapshot_dictionary(table: TableId, scn: int) -> str:
    return f"{snapshot_folder(table, scn)}/dictionary.json"


def snapshot_begun(table: TableId, scn: int, epoch: str) -> str:
    return f"{snapshot_folder(table, scn)}/begun-{_named(epoch)}.json"


def snapshot_since(table: TableId, scn: int, position: ChainPosition) -> str:
    return f"{snapshot_folder(table, scn)}/{SINCE}{position.name}.json"


def chunk_plan(table: TableId, scn: int) -> str:
    return f"{snapshot_folder(table, scn)}/chunks.json"


def chunk_name(number: int) -> str:
    """Return a name within the snapshot's folder."""
    return f"chunk-{number:06d}.json"


def chunk_number(name: str) -> int | None:
    """Return the number in the name of a chunk's manifest; None for other files."""
    return int(name.removeprefix("chunk-").removesuffix(".json")) if name.startswith("chunk-") else None


def chunk_manifest(table: TableId, scn: int, number: int) -> str:
    return f"{snapshot_folder(table, scn)}/{chunk_name(number)}"


def later_scn(table: TableId, scn: int, later: int) -> str:
    return f"{snapshot_folder(table, scn)}/{LATER}{later:020d}.json"


def later_scn_of(name: str) -> int | None:
    """Return the SCN in the name of a `later-` file; None for other files."""
    return int(name.removeprefix(LATER).removesuffix(".json")) if name.startswith(LATER) else None


def given_up(table: TableId, scn: int) -> str:
    return f"{snapshot_folder(table, scn)}/given-up.json"


def snapshot_pause(table: TableId) -> str:
    return f"{PAUSES}/{_table_folder(table)}.json"


def since_of(name: str) -> ChainPosition | None:
    """Return the position in the name of a `since-` file; None for other files."""
    return ChainPosition.parse(name.removeprefix(SINCE).removesuffix(".json")) if name.startswith(SINCE) else None


def load_folder(load: str) -> str:
    return f"{LOADS}/{_named(load)}"


def load_spec(load: str) -> str:
    return f"{load_folder(load)}/spec.json"


def load_manifest(load: str) -> str:
    return f"{load_folder(load)}/manifest.json"


# --- Batches ---------------------------------------------------------------------------------------------------------


def batch_folder(batch: str) -> str:
    return f"{BATCHES}/{_named(batch)}"


def batch_spec(batch: str, attempt: str) -> str:
    return f"{batch_folder(batch)}/spec-{_named(attempt)}.json"


def batch_manifest(batch: str) -> str:
    return f"{batch_folder(batch)}/manifest.json"


def place_of_carried(location: str) -> str | None:
    """Return the path in the landing of a file with carried rows, by the location at which it was written: the landing may have
    been moved since."""
    at = location.rfind(f"{BATCHES}/")
    return location[at:] if at >= 0 else None


def batch_carry(batch: str, attempt: str) -> str:
    return f"{batch_folder(batch)}/carry-{_named(attempt)}"


def continued_folder(position: ChainPosition) -> str:
    return f"{CONTINUED}/{position.name}"


def continued_file(position: ChainPosition, batch: str) -> str:
    return f"{continued_folder(position)}/{_named(batch)}.json"


def backfill_folder(backfill: str) -> str:
    return f"{BACKFILLS}/{_named(backfill)}"


def backfill_spec(backfill: str) -> str:
    return f"{backfill_folder(backfill)}/spec.json"


def replay_manifest(folder: str, part: str = "") -> str:
    """Return the manifest of a replay's batch in its folder, or of a part of it."""
    return f"{folder}/manifest{part}.json"


def replay_carry(folder: str) -> str:
    return f"{folder}/carry"


def as_of_folder(read: str) -> str:
    return f"{AS_OF}/{_named(read)}"


SHADOWS = "_shadow"  # the folder of the lake with the tables that backfills make, each in a folder of its range


def lake_copies(read: str = "") -> str:
    """Return the folder of the copies that a read AS OF an SCN makes in the lake; without a name, that of all reads."""
    return f"_as_of/{_named(read)}" if read else "_as_of"


def maintenance_spec(name: str) -> str:
    return f"{MAINTENANCE}/{_named(name)}/spec.json"


def maintenance_manifest(name: str) -> str:
    return f"{MAINTENANCE}/{_named(name)}/manifest.json"


def name_of(manifest: str) -> str:
    """Return the batch, load or backfill whose manifest has this location."""
    return manifest.rsplit("/", 2)[-2]


def failure_file(spec: str, attempt: str) -> str:
    """Return the location of the record of a job's failure, next to the job's spec."""
    return f"{spec.removesuffix('.json')}.{attempt}.failed.json"


def drop_file(drop: str) -> str:
    return f"{DROPS}/{_named(drop)}.json"


def approval_file(approval: str) -> str:
    return f"{APPROVALS}/{_named(approval)}.json"


def lake_mark(pipeline: str) -> str:
    """Return the file by which the lake is known again. It is in the lake's own folder, not in the landing."""
    return f"{LAKE_MARKS}/{_named(pipeline)}.json"


def lake_record(lake: str) -> str:
    """Return the landing's copy of the mark in the lake at that place."""
    return f"{LAKES}/{add_hash('', lake)}.json"


def verify_folder(token: str) -> str:
    return f"{VERIFY}/{_named(token)}"


def verify_file(token: str, object_id: int, number: int = 0) -> str:
    return f"{verify_folder(token)}/{object_id}-{number}.parquet"


def proof_folder(table: TableId) -> str:
    return f"{PROOFS}/{_table_folder(table)}"


def proof_file(table: TableId, proof: str) -> str:
    return f"{proof_folder(table)}/{_named(proof)}.json"


def found_rows_file(table: TableId, proof: str) -> str:
    return f"{proof_folder(table)}/{_named(proof)}{FOUND_ROWS}"


def hashing_file(table: TableId) -> str:
    return f"{proof_folder(table)}/{HASHED}begun.json"


def hashed_chunk_file(table: TableId, scn: int, number: int) -> str:
    return f"{proof_folder(table)}/{HASHED}{scn:020d}-{number:06d}.json"


def is_hashed(name: str) -> bool:
    """Return whether a file in the folder of a table's proofs is of a comparison that has not ended."""
    return name.startswith(HASHED)


def is_proof(name: str) -> bool:
    """Return whether a file in the folder of a table's proofs is a proof, and not the rows that one found."""
    return name.endswith(".json") and not name.endswith(FOUND_ROWS) and not is_hashed(name)


def proof_of(name: str) -> str:
    """Return the name of the proof that a file belongs to."""
    return name.removesuffix(FOUND_ROWS).removesuffix(".json")


def proof_name(at: datetime, token: str) -> str:
    return f"{at:{_proved}}-{token}"


def time_of_proof(proof: str) -> datetime:
    return datetime.strptime(proof.partition("-")[0], _proved).replace(tzinfo=UTC)
