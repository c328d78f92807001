"""Mutants of a module, by mutmut: one module that contains all of them, each chosen while the tests run.

mutmut makes the mutants; its own runner is not used. It copies the checkout and starts pytest once per mutant, for 3 to 10
seconds each, and it cannot keep a Spark session. mutmut does not mutate properties and other decorated functions, nor what a
module does when it is imported.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path

from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state

ROOT = Path(__file__).parents[2]
NAME = re.compile(r'"[a-z_]+(\.([a-z_]+|\*))?( > 0)?"')
TEXT = re.compile(r'"[^"]*"')


@dataclass(frozen=True)
class Mutant:
    """`name` is mutmut's; `function` and `change` are for people, and stay the same when other lines of the module change."""

    name: str
    function: str
    change: str

    @property
    def of_function(self) -> str:
        return self.name.partition("__mutmut_")[0]

    def __str__(self) -> str:
        return f"{self.function}: {self.change}"


@dataclass(frozen=True)
class Mutated:
    """A module with all its mutants."""

    module: str
    path: Path
    code: str
    mutants: tuple[Mutant, ...]


def mutated(file: str, is_tried: Callable[[str], bool] = bool, *, in_spark: bool = False) -> Mutated:
    """Return the mutants of a file of the checkout, in functions that are tried: `name`, or `Class.name`. With `in_spark` they
    build Spark's expressions."""
    path, module = ROOT / file, file.removeprefix("pipelines/").removesuffix(".py").replace("/", ".")
    made = mutate_file_contents(file, path.read_text())
    lines = made.code.splitlines()

    def source(name: str) -> list[str]:
        span = made.line_span_by_function_name[name]
        return [line.strip().replace(name, "") for line in lines[span.start - 1 : span.end]]

    mutants = []
    for name in made.mutant_names:
        whole = name.partition("__mutmut_")[0]
        function = whole.removeprefix("x_") if "ǁ" not in whole else ".".join(whole.split("ǁ")[1:])
        old, new = source(f"{whole}__mutmut_orig"), source(name)
        if is_tried(function) and not is_prose(old, new) and not (in_spark and is_same_name(old, new)):
            mutants.append(Mutant(f"{module}.{name}", function, changed(old, new)))
    return Mutated(module, path, made.code, tuple(numbered(mutants)))


def is_prose(old: Sequence[str], new: Sequence[str]) -> bool:
    """Return whether only a text of four words or more was changed: a message, whose words no test should repeat."""
    before, after = ("\n".join(lines) for lines in (old, new))
    if re.sub(TEXT, '""', before) != re.sub(TEXT, '""', after):
        return False
    texts = zip(re.findall(TEXT, before), re.findall(TEXT, after), strict=True)
    return all(len(was.split()) >= 4 for was, now in texts if was != now)


def is_same_name(old: Sequence[str], new: Sequence[str]) -> bool:
    """Return whether only the case of names was changed, which Spark ignores in the names of columns."""
    before, after = ("\n".join(lines) for lines in (old, new))
    texts = list(zip(re.findall(TEXT, before), re.findall(TEXT, after), strict=False))
    is_name = all(re.fullmatch(NAME, was) for was, now in texts if was != now)
    return is_name and before.casefold() == after.casefold()


def changed(old: Sequence[str], new: Sequence[str]) -> str:
    """Return the lines that differ, such as `a < b -> a <= b`."""
    removed: list[str] = []
    added: list[str] = []
    for tag, start, end, to_start, to_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            removed += old[start:end]
            added += new[to_start:to_end]
    return f"{' '.join(removed)} -> {' '.join(added)}"


def numbered(mutants: Iterable[Mutant]) -> Iterable[Mutant]:
    """Return the mutants, with a number where a change of a function would have the name of another one."""
    seen: dict[str, int] = {}
    for mutant in mutants:
        seen[str(mutant)] = number = seen.get(str(mutant), 0) + 1
        yield mutant if number == 1 else Mutant(mutant.name, mutant.function, f"{mutant.change} ({number})")


class _Loader(SourceLoader):
    """Loads a module's mutants from memory; without the stats of a file, Python keeps no byte code of it."""

    def __init__(self, module: Mutated) -> None:
        self._module = module

    def get_filename(self, fullname: str) -> str:
        return str(self._module.path)

    def get_data(self, path: str) -> bytes:
        return self._module.code.encode()


class _Finder(MetaPathFinder):
    def __init__(self, modules: Iterable[Mutated]) -> None:
        self._modules = {module.module: module for module in modules}

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        module = self._modules.get(fullname)
        return None if module is None else spec_from_loader(fullname, _Loader(module))


def put_in_place(modules: Sequence[Mutated]) -> None:
    """Let the product import these modules with their mutants. None of them may be imported yet."""
    early = [module.module for module in modules if module.module in sys.modules]
    assert not early, f"imported before they were mutated: {early}"
    sys.meta_path.insert(0, _Finder(modules))
    choose(None)


def choose(mutant: Mutant | None) -> None:
    """Let the product run with this mutant, or as it is."""
    set_mutant_under_test("" if mutant is None else mutant.name)


def record_calls() -> None:
    """Run the product as it is, and record which functions with mutants are called."""
    set_mutant_under_test("stats")


def calls() -> set[str]:
    """Return the functions called since this was last asked, as Mutant.of_function names them."""
    found = set(state()._stats)
    state()._stats.clear()
    return found
