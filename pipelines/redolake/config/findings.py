"""Turn the errors of a settings model into findings in plain words: where in the file, what is wrong, and what to write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from redolake.errors import Finding

PLAIN: Mapping[str, str] = {
    "missing": "is missing",
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping of names to values",
    "model_type": "must be a mapping of settings to values",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
}
PAGE = "docs/reference/configuration.md lists the settings"

FROM_ELSEWHERE = {"name", "matches"}  # in the file, these are the key of the pipeline, and patterns in `tables`

Locate = Callable[[tuple[int | str, ...]], tuple[int | str, ...]]


def findings_of_errors(
    errors: Sequence[ErrorDetails],
    model: type[BaseModel],
    raw: object,
    file: str,
    locate: Locate,
    line_of: Callable[[Sequence[int | str]], int | None] = lambda _: None,
) -> Iterator[Finding]:
    """Yield one finding for each place. `locate` returns the place in the file of a place in the model, `line_of` its line."""
    by_place: dict[tuple[int | str, ...], list[ErrorDetails]] = {}
    for error in errors:
        by_place.setdefault(place_of(locate(error["loc"]), raw, error["type"]), []).append(error)
    for place, found in by_place.items():
        where = place_text(place) or file
        if found[0]["type"] == "extra_forbidden":
            yield unknown_setting(where, place, model, file)
        else:
            what = " or ".join(dict.fromkeys(plain(error) for error in found))
            line = line_of(place)
            at = "" if line is None else f", line {line}"
            yield Finding(where, what.replace(" or must be ", " or "), f"correct {file}{at}; {PAGE}")


def place_text(place: Sequence[int | str]) -> str:
    """Return `pipelines.shop.tables[3].key`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")


def place_of(loc: Sequence[int | str], raw: object, kind: str) -> tuple[int | str, ...]:
    """Return the part of an error's location that is in the file; the rest names a type that was tried."""
    place: list[int | str] = []
    for part in loc:
        if not (part in raw if isinstance(raw, dict) else isinstance(raw, list) and isinstance(part, int) and part < len(raw)):
            return (*place, part) if kind == "missing" else tuple(place)
        raw = raw[part]  # type: ignore[index]
        place.append(part)
    return tuple(place)


def plain(error: ErrorDetails) -> str:
    text = PLAIN.get(error["type"])
    return error["msg"].removeprefix("Value error, ") if text is None else text.format(**error.get("ctx", {}))


def unknown_setting(where: str, place: Sequence[int | str], model: type[BaseModel], file: str) -> Finding:
    known = names_at(place[:-1], model)
    if near := nearest(str(place[-1]).lower(), known):
        return Finding(where, "is no setting", f"did you mean `{near}`?")
    return Finding(where, "is no setting", f"remove it from {file}; known here: {', '.join(known)}" if known else f"see {PAGE}")


def nearest(name: str, known: Sequence[str]) -> str | None:
    """Return the known name that alone has all words of the name; else the one that is spelled most alike; else the one that
    has most of its words, if there is one."""
    whole = [one for one in known if set(name.split("_")) <= set(one.split("_"))]
    if len(whole) == 1:
        return whole[0]
    if near := get_close_matches(name, known, n=1):
        return near[0]
    words = set(name.split("_"))
    shared = {one: len(words & set(one.split("_"))) for one in known}
    most = max(shared.values(), default=0)
    best = [one for one, number in shared.items() if number == most]
    return best[0] if most and len(best) == 1 else None


def names_at(place: Sequence[int | str], model: type[BaseModel]) -> list[str]:
    """Return the settings that a place of the file may have."""
    models: list[type[BaseModel]] = [model]
    for part in place:
        fields = [m.model_fields[part].annotation for m in models if isinstance(part, str) and part in m.model_fields]
        models = [found for field in fields for found in models_in(field)] or models
    return sorted({name for m in models for name in m.model_fields} - FROM_ELSEWHERE)


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the models inside an annotation such as `dict[str, Pipeline]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in models_in(part)]
