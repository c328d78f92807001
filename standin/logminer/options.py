"""The constants of DBMS_LOGMNR, and the combinations that START_LOGMNR accepts (PL/SQL Packages and Types Reference)."""

from __future__ import annotations

from enum import IntFlag

from standin.interface import OraError

NEW, REMOVEFILE, ADDFILE = 1, 2, 3


class StartOption(IntFlag):
    NO_DICT_RESET_ONSELECT = 1
    COMMITTED_DATA_ONLY = 2
    SKIP_CORRUPTION = 4
    DDL_DICT_TRACKING = 8
    DICT_FROM_ONLINE_CATALOG = 16
    DICT_FROM_REDO_LOGS = 32
    NO_SQL_DELIMITER = 64
    PRINT_PRETTY_SQL = 512
    CONTINUOUS_MINE = 1024
    NO_ROWID_IN_STMT = 2048
    STRING_LITERALS_IN_STMT = 4096


CONSTANTS: dict[str, int] = {"NEW": NEW, "REMOVEFILE": REMOVEFILE, "ADDFILE": ADDFILE} | {
    option.name: int(option) for option in StartOption if option.name is not None
}
_NOT_MODELLED = (StartOption.SKIP_CORRUPTION, StartOption.PRINT_PRETTY_SQL)
_ALL = StartOption(sum(StartOption))


def check_options(options: int, release: int) -> StartOption:
    """Return the options. Raises OraError for a combination that the release does not accept.

    `release` is the major version: 19c ended CONTINUOUS_MINE, 23ai ended mining without a dictionary.
    """
    if options < 0 or options & ~int(_ALL):
        raise OraError(1283, "Options parameter specified is invalid")
    chosen = StartOption(options)
    if StartOption.CONTINUOUS_MINE in chosen:
        raise OraError(44609, "CONTINUOUS_MINE is desupported for use with DBMS_LOGMNR.START_LOGMNR.")
    online, in_redo = StartOption.DICT_FROM_ONLINE_CATALOG in chosen, StartOption.DICT_FROM_REDO_LOGS in chosen
    if online and (in_redo or StartOption.DDL_DICT_TRACKING in chosen):
        raise OraError(1298, "conflicting dictionary option")
    if not (online or in_redo) and release >= 23:
        raise OraError(44613, "A LogMiner dictionary option is required: DICT_FROM_REDO_LOGS or DICT_FROM_ONLINE_CATALOG")
    for option in _NOT_MODELLED:
        if option in chosen:
            raise OraError(3001, f"unimplemented feature: DBMS_LOGMNR.{option.name}")
    return chosen
