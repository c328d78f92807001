"""The procedures, functions and packages that the driver's tests call, in Python: the stand-in runs no stored PL/SQL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from standin.engine.plsql import Parameter, procedures
from standin.engine.session import EngineSession
from standin.interface import Rows


def register() -> None:
    number = Parameter("a_number")
    text, amount = Parameter("a_string"), Parameter("a_extraamount")
    values = (Parameter("a_invalue"), Parameter("a_inoutvalue", direction="IN OUT"), Parameter("a_outvalue", direction="OUT"))
    cursor = Parameter("a_cursor", direction="OUT")
    _register("PROC_TEST", _lengths, *values)
    _register("PROC_TEST2", _lengths_and_flag, *values)
    _register("PROC_TESTNOARGS", lambda session: None)
    _register("FUNC_TEST", lambda session, a_string, a_extraamount: len(a_string) + a_extraamount, text, amount)
    _register("FUNC_TEST2", _with_flag, text, amount, Parameter("a_boolean"))
    _register("FUNC_TESTNOARGS", lambda session: 712)
    _register("MYREFCURSORPROC", _temporary_cursor, cursor)
    _register("PKG_TESTREFCURSORS.TESTOUTCURSOR", _strings_cursor, Parameter("a_maxintvalue"), cursor)
    _register("PKG_TESTREFCURSORS.TESTRETURNCURSOR", _strings, Parameter("a_maxintvalue"))
    _register("PKG_TESTREFCURSORS.TESTLOBCURSOR", _lob_cursor, Parameter("a_value"), cursor)
    _register("PKG_TESTREFCURSORS.TESTINCURSOR", lambda session, a_cursor: f"{a_cursor.take()[0]} (Modified)", "a_cursor")
    _register("PKG_TESTREFCURSORS.TESTCLOSECURSOR", lambda session, a_cursor: a_cursor.close(), "a_cursor")
    echoed = Parameter("a_valueout", direction="OUT")
    _register("PKG_TESTBOOLEANS.ECHOVALUE", lambda session, a_value: a_value, "a_value")
    _register("PKG_TESTBOOLEANS.ECHOVALUEOUT", lambda session, a_value, a_valueout: {"a_valueout": a_value}, "a_value", echoed)
    _register("PKG_TESTBOOLEANS.GETSTRINGREP", lambda session, a_number: str(a_number).upper().replace("NONE", "NULL"), number)
    _register("PKG_TESTBOOLEANS.ISLESSTHAN10", lambda session, a_number: a_number < 10, number)
    _register("PKG_TESTBOOLEANS.TESTOUTVALUENULL", lambda session: None)
    _register("PKG_TESTBOOLEANS.TESTINARRAYS", lambda session, a_number: sum(map(bool, a_number)), number)
    _register("PKG_TESTBOOLEANS.TESTOUTARRAYS", _flags, Parameter("a_numelements"), Parameter("a_value", direction="OUT"))
    _register("PKG_TESTLOBS.GETSIZE", _size, "a_lob", Parameter("a_size", direction="OUT"))
    _register("PKG_TESTLOBS.TESTINOUT", _replaced, Parameter("a_clob", direction="IN OUT"), "a_searchvalue", "a_replacevalue")
    _register("PKG_TESTLOBS.GETLOB", lambda session, a_num, a_format: a_format.replace("{}", str(a_num)), "a_num", "a_format")
    _register_arrays()


def _register_arrays() -> None:
    """Register the packages with a function of an array, and procedures that change and return one."""
    start, base, given = Parameter("a_startingvalue"), Parameter("a_basedate"), Parameter("a_array")
    count = Parameter("a_numelems")
    changed, filled = Parameter("a_array", direction="IN OUT"), Parameter("a_array", direction="OUT")
    for kind, letter in (("STRING", ""), ("UNICODE", "\u3042 ")):
        package = f"PKG_TEST{kind}ARRAYS"
        _register(f"{package}.TESTINARRAYS", _summed_lengths, Parameter("a_startinglength"), given)
        _register(f"{package}.TESTINOUTARRAYS", _described(letter), count, changed)
        _register(f"{package}.TESTOUTARRAYS", _named(letter), count, filled)
    _register("PKG_TESTSTRINGARRAYS.TESTINDEXBY", lambda session, a_array: {"a_array": []}, filled)
    _register(
        "PKG_TESTNUMBERARRAYS.TESTINARRAYS",
        lambda session, a_startingvalue, a_array: a_startingvalue + sum(a_array),
        start,
        given,
    )
    _register("PKG_TESTNUMBERARRAYS.TESTINOUTARRAYS", _changed(lambda value: value * 10), count, changed)
    _register("PKG_TESTNUMBERARRAYS.TESTOUTARRAYS", _filled(lambda i: i * 100), count, filled)
    _register("PKG_TESTDATEARRAYS.TESTINARRAYS", _summed_days, start, base, given)
    _register("PKG_TESTDATEARRAYS.TESTINOUTARRAYS", _changed(lambda value: value + timedelta(days=7)), count, changed)
    _register(
        "PKG_TESTDATEARRAYS.TESTOUTARRAYS", _filled(lambda i: datetime(2002, 12, 12) + i * timedelta(days=1.2)), count, filled
    )


def _register(name: str, run: Any, *parameters: Parameter | str) -> None:
    procedures.register(name, run, parameters, public=True)


def _lengths(session: EngineSession, a_invalue: str, a_inoutvalue: Any, a_outvalue: Any) -> Mapping[str, Any]:
    return {"a_inoutvalue": a_inoutvalue * len(a_invalue), "a_outvalue": len(a_invalue)}


def _lengths_and_flag(session: EngineSession, a_invalue: str, a_inoutvalue: Any, a_outvalue: Any) -> Mapping[str, Any]:
    return {"a_inoutvalue": a_inoutvalue * len(a_invalue), "a_outvalue": len(a_invalue) >= 2}


def _with_flag(session: EngineSession, a_string: str, a_extraamount: Any, a_boolean: bool | None) -> Any:
    return len(a_string) + (a_extraamount if a_boolean else -a_extraamount)


def _query(session: EngineSession, sql: str, *binds: Any) -> Rows:
    found = session.execute(sql, [list(binds)] if binds else ())
    assert isinstance(found, Rows)
    return found


def _temporary_cursor(session: EngineSession, a_cursor: Any) -> Mapping[str, Any]:
    return {"a_cursor": _query(session, "SELECT * FROM TestTempTable")}


def _strings(session: EngineSession, a_maxintvalue: Any) -> Rows:
    return _query(session, "SELECT IntCol, StringCol FROM TestStrings WHERE IntCol <= :1 ORDER BY IntCol", a_maxintvalue)


def _strings_cursor(session: EngineSession, a_maxintvalue: Any, a_cursor: Any) -> Mapping[str, Any]:
    return {"a_cursor": _strings(session, a_maxintvalue)}


def _lob_cursor(session: EngineSession, a_value: str, a_cursor: Any) -> Mapping[str, Any]:
    return {"a_cursor": _query(session, "SELECT TO_CLOB(:1) FROM dual", a_value)}


def _flags(session: EngineSession, a_numelements: Any, a_value: Any) -> Mapping[str, Any]:
    return {"a_value": [i % 2 == 1 for i in range(1, int(a_numelements) + 1)]}


def _size(session: EngineSession, a_lob: str | bytes, a_size: Any) -> Mapping[str, Any]:
    return {"a_size": len(a_lob)}


def _replaced(session: EngineSession, a_clob: str, a_searchvalue: str | None, a_replacevalue: str | None) -> Mapping[str, Any]:
    return {"a_clob": a_clob.replace(a_searchvalue, a_replacevalue or "") if a_searchvalue else a_clob}


def _summed_lengths(session: EngineSession, a_startinglength: Any, a_array: list[str]) -> Any:
    return a_startinglength + sum(map(len, a_array))


def _summed_days(session: EngineSession, a_startingvalue: Any, a_basedate: datetime, a_array: list[datetime]) -> Any:
    return a_startingvalue + sum(Decimal((day - a_basedate) / timedelta(days=1)) for day in a_array)


def _described(letter: str) -> Any:
    def run(session: EngineSession, a_numelems: Any, a_array: list[str]) -> Mapping[str, Any]:
        texts = [
            f"Converted element {letter}# {i} originally had length {len(text)}"
            for i, text in enumerate(a_array[: int(a_numelems)], 1)
        ]
        return {"a_array": texts + a_array[len(texts) :]}

    return run


def _named(letter: str) -> Any:
    return _filled(lambda i: f"Test out element {letter}# {i}")


def _changed(change: Any) -> Any:
    def run(session: EngineSession, a_numelems: Any, a_array: list[Any]) -> Mapping[str, Any]:
        last = int(a_numelems)
        return {"a_array": [change(value) for value in a_array[:last]] + a_array[last:]}

    return run


def _filled(value: Any) -> Any:
    def run(session: EngineSession, a_numelems: Any, a_array: Any) -> Mapping[str, Any]:
        return {"a_array": [value(i) for i in range(1, int(a_numelems) + 1)]}

    return run
