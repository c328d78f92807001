"""Where `dictionary: redo` is set: the dictionary of a window, and the proof that a first window will have one."""

from __future__ import annotations

from redolake.config import Pipeline
from redolake.errors import NoDictionaryInRedo
from redolake.source import Source, read_redo_dictionaries, read_redo_facts
from redolake.source.facts import PRIMARY
from redolake.values.redo import RedoDictionary, Window
from redolake.values.scn import ChainPosition
from redolake.window import newest_before, with_dictionary
from redolake.window.dictionary import BUILD


def with_its_dictionary(pipeline: Pipeline, oracle: Source, window: Window) -> Window:
    """Return the window with the logs of its dictionary, where names come from the redo: of one before all that is read, since
    LogMiner shows nothing from before it. Raises NoDictionaryInRedo."""
    chosen = dictionary_for(pipeline, oracle, window.lowest_position)
    return window if chosen is None else with_dictionary(window, chosen, read_redo_facts(oracle, chosen.begin_scn))


def dictionary_for(pipeline: Pipeline, oracle: Source, position: ChainPosition) -> RedoDictionary | None:
    """Return the dictionary in the redo that serves a window from the position on, None where the online catalogue does.
    Raises NoDictionaryInRedo."""
    if pipeline.source.dictionary == "online":
        return None
    if oracle.pdb_only:
        raise NoDictionaryInRedo(
            "inside a PDB LogMiner takes no dictionary from the redo (ORA-01371)",
            cure="set `dictionary: online` under `source`, or connect to the root, without pdb_only",
        )
    oracle.use_container(None)
    if (role := oracle.query("database")[0].database_role) != PRIMARY:
        raise NoDictionaryInRedo(
            f"the database is a {role}, open read only, and LogMiner refuses a dictionary in the redo there (ORA-01300)",
            cure=f"set `dictionary: online` under `source`; or connect to the primary, where a DBA runs {BUILD} in the root",
        )
    return newest_before(read_redo_dictionaries(oracle), position)
