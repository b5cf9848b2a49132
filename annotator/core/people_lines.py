"""Read pasted lines that name people: “Name <address>”, “name, address”, an address alone, or CSV with a header."""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass

from annotator.core.roles import Role
from annotator.core.text import Message, message

MAX_LINE = 500
"""Characters of a line."""

_ADDRESS = re.compile(r"[^\s@<>,;:\"]+@[^\s@<>,;:\"]+")
_HEADS = {
    "name": "name", "full name": "name", "display name": "name", "person": "name",
    "address": "address", "email": "address", "e-mail": "address", "mail": "address", "email address": "address",
    "e-mail address": "address", "role": "roles", "roles": "roles",
}  # fmt: skip


@dataclass(frozen=True)
class PersonLine:
    """One line; `number` counts from 1. `roles` is empty if the line names none.

    `problem` says why the line can't be used.
    """

    number: int
    text: str
    name: str = ""
    address: str = ""
    roles: tuple[Role, ...] = ()
    problem: Message | None = None

    @property
    def label(self) -> str:
        """The person as “Name <address>”, or as whichever of the two there is."""
        return f"{self.name} <{self.address}>" if self.name else self.address


@dataclass(frozen=True)
class PeopleLines:
    """The lines of a text that are not blank, without the header, which is empty if there is none."""

    header: str
    lines: list[PersonLine]


def read_people(text: str) -> PeopleLines:
    """Read a text with a person on each line."""
    header, columns = "", None
    earlier: dict[str, int] = {}
    people: list[PersonLine] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.replace("\ufeff", "").strip()
        if not line:
            continue
        if not people and not header:
            columns = _header(line)
            if columns is not None:
                header = line
                continue
        person = _read(number, line, columns)
        key = person.address.casefold()
        if person.problem is None and key in earlier:
            problem = message("This address is already on line %(line)s.", line=f"{earlier[key]}")
            person = PersonLine(number, line, person.name, person.address, problem=problem)
        elif person.problem is None:
            earlier[key] = number
        people.append(person)
    return PeopleLines(header, people)


def _header(line: str) -> Mapping[str, int] | None:
    """Return the position of each known column, or None if the line is not a header."""
    cells = [cell.casefold() for cell in _cells(line)]
    columns = {_HEADS[cell]: place for place, cell in reversed([*enumerate(cells)]) if cell in _HEADS}
    return columns if "address" in columns else None


def _read(number: int, line: str, columns: Mapping[str, int] | None) -> PersonLine:
    if len(line) > MAX_LINE:
        limit = message("This line is longer than %(limit)s characters.", limit=f"{MAX_LINE}")
        return PersonLine(number, line, problem=limit)
    if columns is not None:
        cells = _cells(line)
        name, address, roles = (
            cells[columns[column]] if columns.get(column, len(cells)) < len(cells) else ""
            for column in ("name", "address", "roles")
        )
    else:
        name, address, roles = _split(line)
    return _check(number, line, name, address, roles)


def _split(line: str) -> tuple[str, str, str]:
    """Return name, address and roles of a line without a header; the address is empty if there is none."""
    before, opening, rest = line.partition("<")
    if opening:
        address, _, after = rest.partition(">")
        return before.strip(" \t,;\"'"), address.strip(), after.strip(" \t,;")
    cells = _cells(line)
    places = [place for place, cell in enumerate(cells) if "@" in cell]
    if not places:
        return line, "", ""
    return " ".join(cells[: places[0]]).strip(), cells[places[0]], ";".join(cells[places[0] + 1 :])


def _cells(line: str) -> list[str]:
    """Return the cells of a line of CSV, which has tabs, semicolons or commas."""
    delimiter = next((mark for mark in "\t;" if mark in line), ",")
    try:
        [cells] = csv.reader([line], delimiter=delimiter, skipinitialspace=True)
    except (csv.Error, ValueError):
        cells = line.split(delimiter)
    return [cell.strip() for cell in cells]


def _check(number: int, line: str, name: str, address: str, roles: str) -> PersonLine:
    if not address:
        problem = message("This line has no email address. Write it like “Amina Diallo <amina@example.org>”.")
        return PersonLine(number, line, name, problem=problem)
    if len(address) > 254 or not _ADDRESS.fullmatch(address):
        return PersonLine(number, line, name, address, problem=_no_address(address))
    found: list[Role] = []
    for word in re.split(r"[;,|/]", roles):
        key = "_".join(word.split()).casefold()
        if key in set(Role):
            found.append(Role(key))
        elif key:
            known = ", ".join(role.value for role in Role)
            problem = message("There is no role “%(role)s”. Use: %(roles)s.", role=word.strip(), roles=known)
            # A comma in place of a dot divides an address.
            if "." not in address.rpartition("@")[2]:
                problem = _no_address(address)
            return PersonLine(number, line, name, address, problem=problem)
    return PersonLine(number, line, " ".join(name.split()), address, tuple(dict.fromkeys(found)))


def _no_address(text: str) -> Message:
    return message("“%(address)s” isn’t an email address.", address=text)
