"""Turn names of the source, of a form or of a command into path segments, and tell which paths of pipelines.yml are fit.

A name is data: whoever may create a table in Oracle chooses it. Every segment that is made of a name comes from here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable
from hashlib import sha256
from typing import TypeVar

# Names of these characters, which Oracle takes without quotes, stay as they are; so do blanks and hyphens inside of a name.
PLAIN = re.compile(r"[A-Za-z0-9$#-][\w$#-]*", re.ASCII)
KEPT = frozenset("_$#- ")
LONGEST = 200  # bytes; file systems take 255, and unfinished files have a suffix
# What Windows opens in place of a file of that name; its shares and some stores refuse it.
DEVICES = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|clock\$|com\d|lpt\d)", re.IGNORECASE | re.ASCII)
ESCAPE = "~"  # unreserved in URLs, and no pattern of Hadoop, Spark or fsspec


def segment(name: str, keep: str = "") -> str:
    """Return one segment for a name; different names have different ones. It is no `..`, has no separator, no pattern, no
    control character, no leading `.` or `_` (Spark hides such files), no trailing dot or blank, and is no device.

    The characters in `keep` stay inside of the name as well. `~XX` stands for a byte of UTF-8; a name that is too long ends in
    `~~` and its hash.
    """
    if PLAIN.fullmatch(name) and len(name) <= LONGEST and not DEVICES.fullmatch(name):
        return name
    is_composed = unicodedata.normalize("NFC", name) == name  # else a store may take two names for one
    last = len(name) - 1

    def is_kept(number: int, character: str) -> bool:
        if character in KEPT or character in keep:
            return (number > 0 or character not in "_. ") and (number < last or character not in ". ")
        is_letter = unicodedata.category(character)[0] == "L" or character.isdecimal()
        return is_letter and (is_composed or character.isascii())

    found = "".join(c if is_kept(number, c) else escape(c) for number, c in enumerate(name))
    if DEVICES.fullmatch(found):
        found = escape(found[0]) + found[1:]
    return shorten(found, name) if found else ESCAPE


def escape(text: str) -> str:
    return "".join(f"{ESCAPE}{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))


def shorten(path: str, name: str) -> str:
    """Return the segment, cut and with the name's hash where it is too long for a file system."""
    return path if len(path.encode()) <= LONGEST else add_hash(path.encode()[: LONGEST // 2].decode(errors="ignore"), name)


def add_hash(path: str, name: str) -> str:
    """Return the segment with the name's hash, which no other name has."""
    return f"{path}{ESCAPE * 2}{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


# --- Paths of pipelines.yml ------------------------------------------------------------------------------------------


# Hadoop reads some of these as patterns, and then other folders beside this one; `%` and `?` change a URL, `:` chains file
# systems, and Windows refuses most.
MOST_BYTES = 255
UNFIT = re.compile(r'[*?\[\]{}\\^%:|<>"`\x00-\x1f\x7f-\x9f]')
PROTOCOL = re.compile(r"[a-z][a-z0-9+.-]*://")


def unfit_place(place: str) -> str | None:
    """Return why a folder or URL cannot be a landing or lake; None if it can."""
    found = PROTOCOL.match(place)
    rest = place[found.end() :] if found else place
    is_folder = found is None or found[0] in ("file://", "local://")
    if is_folder and not rest.startswith("/"):
        return "is not absolute: each process would look for it below its own working folder; write the whole path"
    if ".." in rest.split("/"):
        return "contains `..`: write the path without it"
    if "#" in rest:
        return "contains #, which ends the path of a URL: use another folder"
    host, _, path = rest.partition("/")
    return unfit_characters(rest if is_folder else path) or (None if found is None or is_folder else unfit_host(host, found[0]))


def unfit_host(host: str, protocol: str) -> str | None:
    """Return why the part of a URL up to the path is none. A port, and a container of Azure, may be in it."""
    user, at, _ = host.rpartition("@")
    if at and (":" in user or not protocol.startswith(("abfs", "wasb"))):
        return (
            "has a user or a key before @, which records, lineage and messages would show: give it to the processes as the "
            "store's own settings say (environment, instance role)"
        )
    return None if re.fullmatch(r"[\w.$@:-]*", host, re.ASCII) else "names a bucket or host that no URL can contain"


def unfit_characters(path: str) -> str | None:
    """Return why Hadoop, Spark or a URL would read the path as another one."""
    if found := UNFIT.search(path):
        shown = found[0] if found[0].isprintable() else f"the character U+{ord(found[0]):04X}"
        return f"contains {shown}, which Spark or a URL reads as something else: use another folder"
    if any(part != part.strip() or part.endswith(".") for part in path.split("/") if part != "."):
        return "has a name that begins or ends with a blank or ends with a dot, which some stores remove: use another folder"
    if any(len(part.encode()) > MOST_BYTES for part in path.split("/")):
        return f"has a name of more than {MOST_BYTES} bytes, which file systems do not take: use a shorter one"
    return None


def unfit_target(target: str) -> str | None:
    """Return why a path below the lake cannot be a table's `target`; None if it can."""
    parts = target.rstrip("/").split("/")
    if target.startswith("/") or PROTOCOL.match(target):
        return "is not below `lake`: write a path without a leading /"
    if "." in parts or ".." in parts or not any(parts):
        return "contains `.` or `..`, or nothing: write the path without it"
    if hidden := next((part for part in parts if part.startswith(("_", "."))), None):
        return f"contains {hidden}: Spark hides what begins with _ or ., and Redolake's own folders do; use another name"
    return unfit_characters(target)


# --- Folders that are one --------------------------------------------------------------------------------------------

ALIASES = {"file": "", "local": "", "s3a": "s3", "gcs": "gs", "abfs": "abfss"}  # protocols of one store
Member = TypeVar("Member", bound=Hashable)


def fold(path: str) -> tuple[str, ...]:
    """Return the path's segments as the least distinguishing store sees them: without case, in one form of Unicode."""
    protocol, separator, rest = path.partition("://")
    text = f"{ALIASES.get(protocol, protocol)}/{rest}" if separator else path
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", text).casefold())
    return tuple(part.rstrip(". ") for part in text.split("/") if part not in ("", "."))


def find_crowded(folders: Iterable[tuple[str, Member]]) -> dict[Member, Member]:
    """Return the members whose folder is that of an earlier member, or lies in it or around it, with that member. VACUUM
    removes files below a table's folder that the table does not own."""
    owners, below = dict[tuple[str, ...], Member](), dict[tuple[str, ...], Member]()
    found = dict[Member, Member]()
    for folder, member in folders:
        parts = fold(folder)
        above = [parts[:length] for length in range(1, len(parts) + 1)]
        other = next((owners[part] for part in above if part in owners), below.get(parts))
        if other is not None:
            found[member] = other
            continue
        owners[parts] = member
        below.update((part, member) for part in above if part not in below)
    return found
