"""The procedures, functions and packages that the driver's tests call, in Python: the stand-in runs no stored PL/SQL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from standin.composites import to_plain
from standin.engine.sessions.procedures import Parameter, procedures
from standin.engine.sessions.session import EngineSession
from standin.interface import Rows


def register() -> None:
    number = Parameter("a_number")
    text, amount = Parameter("a_string", type="VARCHAR2"), Parameter("a_extraamount", type="NUMBER")
    values = (
        Parameter("a_invalue", type="VARCHAR2"),
        Parameter("a_inoutvalue", direction="IN OUT", type="NUMBER"),
        Parameter("a_outvalue", direction="OUT"),
    )
    cursor = Parameter("a_cursor", direction="OUT")
    _register("PROC_TEST", _lengths, *values, kind="PROCEDURE")
    _register("PROC_TEST2", _lengths_and_flag, *values, kind="PROCEDURE")
    _register("PROC_TESTNOARGS", lambda session: None)
    _register(
        "FUNC_TEST", lambda session, a_string, a_extraamount: len(a_string) + a_extraamount, text, amount, kind="FUNCTION"
    )
    _register("FUNC_TEST2", _with_flag, text, amount, Parameter("a_boolean", type="BOOLEAN"), kind="FUNCTION")
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
    _register_objects()


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
    holes = {-1048576: "First element", -576: "Second element", 284: "Third element", 8388608: "Fourth element"}
    _register("PKG_TESTSTRINGARRAYS.TESTINDEXBY", lambda session, a_array: {"a_array": holes}, filled)
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


def _register_objects() -> None:
    """Register the packages whose parameters are objects, records and collections."""
    given, made = Parameter("a_object"), Parameter("a_object", direction="OUT")
    number, text = Parameter("a_numbervalue"), Parameter("a_stringvalue")
    records = Parameter("a_records")
    _register("PKG_TESTBINDOBJECT.GETSTRINGREP", lambda session, a_object: _object_text(a_object), given)
    _register("PKG_TESTBINDOBJECT.BINDOBJECTOUT", _made_object, number, text, made)
    _register("PKG_TESTRECORDS.GETSTRINGREP", lambda session, a_object: _record_text(a_object), given)
    _register("PKG_TESTRECORDS.TESTOUT", _made_record, made)
    _register("PKG_TESTRECORDS.TESTINARRAYS", lambda session, a_records: "; ".join(map(_record_text, a_records)), records)
    _register("PKG_TESTRECORDS.TESTINOUTARRAYS", _with_record, number, text, Parameter("a_records", direction="IN OUT"))
    _register("PKG_TESTNESTEDRECORDS.GETOUTER", _nested_records, "a_value1", "a_value2")
    _register("PKG_NESTEDTABLE.GETVARRAYOFNUMBER", lambda session: [10, 20, 30])
    _register("PKG_NESTEDTABLE.GETTABLEOFNUMBER", lambda session: [15, 25, 35, 45])
    _register("PKG_NESTEDTABLE.GETTABLEOFVARRAYOFNUMBER", lambda session: [[10, 20], [30, 40]])


def _nested_records(session: EngineSession, a_value1: Any, a_value2: Any) -> Mapping[str, Any]:
    return {"INNER1": {"ATTR1": None, "ATTR2": a_value1}, "INNER2": {"ATTR1": None, "ATTR2": a_value2}}


def _object_text(value: Mapping[str, Any] | None) -> str:
    if value is None:
        return "null"
    inner = value["SUBOBJECTVALUE"]
    shown = "null" if inner is None else f"udt_SubObject({_shown(inner['SUBNUMBERVALUE'])}, {_shown(inner['SUBSTRINGVALUE'])})"
    names = ("NUMBERVALUE", "STRINGVALUE", "FIXEDCHARVALUE")
    days = f"{_day_text(value['DATEVALUE'])}, {_time_text(value['TIMESTAMPVALUE'])}"
    return f"udt_Object({', '.join(_shown(value[name]) for name in names)}, {days}, {shown}, null)"


def _record_text(value: Mapping[str, Any]) -> str:
    front = ", ".join(_shown(value[name]) for name in ("NUMBERVALUE", "STRINGVALUE"))
    days = f"{_day_text(value['DATEVALUE'])}, {_time_text(value['TIMESTAMPVALUE'])}"
    back = ", ".join(_shown(value[name]) for name in ("BOOLEANVALUE", "PLSINTEGERVALUE", "BINARYINTEGERVALUE"))
    return f"udt_Record({front}, {days}, {back})"


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    return f"'{value}'" if isinstance(value, str) else str(value).lower()


def _day_text(value: datetime | None) -> str:
    return "null" if value is None else f"to_date('{value:%Y-%m-%d}', 'YYYY-MM-DD')"


def _time_text(value: datetime | None) -> str:
    return "null" if value is None else f"to_timestamp('{value:%Y-%m-%d %H:%M:%S}', 'YYYY-MM-DD HH24:MI:SS')"


def _made_object(session: EngineSession, a_numbervalue: Any, a_stringvalue: Any, a_object: Any) -> Mapping[str, Any]:
    return {"a_object": {"NUMBERVALUE": a_numbervalue, "STRINGVALUE": a_stringvalue}}


def _made_record(session: EngineSession, a_object: Any) -> Mapping[str, Any]:
    at = datetime(2016, 2, 16, 18, 23, 55)
    made = {"NUMBERVALUE": 25, "STRINGVALUE": "String in record", "DATEVALUE": at.replace(hour=0, minute=0, second=0)}
    made |= {"TIMESTAMPVALUE": at, "BOOLEANVALUE": True, "PLSINTEGERVALUE": 45, "BINARYINTEGERVALUE": 10}
    return {"a_object": made}


def _with_record(session: EngineSession, a_numbervalue: Any, a_stringvalue: Any, a_records: list[Any]) -> Mapping[str, Any]:
    return {"a_records": [*a_records, {"NUMBERVALUE": a_numbervalue, "STRINGVALUE": a_stringvalue}]}


def _register(name: str, run: Any, *parameters: Parameter | str, kind: str = "") -> None:
    def run_plainly(session: EngineSession, **given: Any) -> Any:
        return run(session, **{parameter: to_plain(value) for parameter, value in given.items()})

    procedures.register(name, run_plainly, parameters, public=True, kind=kind)


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
