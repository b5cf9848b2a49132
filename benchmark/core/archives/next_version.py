"""The number that fits a release after another one."""

import re
from dataclasses import dataclass
from enum import StrEnum

from annotator.core.wording import counted

#: X.Y or X.Y.Z. Numbers with leading zeros are dates or the like, which have no next number.
_VERSION = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(?:\.(0|[1-9]\d{0,8}))?", re.ASCII)


class Level(StrEnum):
    MAJOR = "major"
    MINOR = "minor"
    PATCH = "patch"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Counts:
    """Dialogues by what happened to them."""

    added: int
    removed: int
    changed: int
    unchanged: int


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The fitting step and why, in a sentence. ``version``: the name; None if the older name is not X.Y or X.Y.Z."""

    level: Level
    version: str | None
    reason: str


def suggest(version: str, counts: Counts, *, references: int, examined: int) -> Suggestion:
    """Return the suggestion for the release after ``version``.

    ``references``: how many of the ``examined`` changed dialogues have a changed reference.
    """
    lost = []
    if counts.removed:
        lost.append(f"{counted(counts.removed, 'dialogue')} {_was(counts.removed)} removed")
    if references:
        least = "at least " if examined < counts.changed else ""
        lost.append(f"the reference of {least}{counted(references, 'dialogue')} changed")
    if lost:
        level = Level.MAJOR
        reason = f"Scores of the two releases cannot be compared: {' and '.join(lost)}."
    elif counts.added:
        level = Level.MINOR
        reason = f"{counted(counts.added, 'dialogue')} {_was(counts.added)} added, and no reference changed."
    elif counts.changed:
        level = Level.PATCH
        reason = f"Only fields that no score uses and no model reads changed, in {counted(counts.changed, 'dialogue')}."
    else:
        level = Level.SAME
        reason = "Both have the same dialogues with the same content."
    if level is not Level.MAJOR and examined < counts.changed:
        reason += (
            f" Only {examined:,} of the {counts.changed:,} changed dialogues were examined; "
            "manage.py diff_releases examines all."
        )
    return Suggestion(level, next_version(version, level), reason)


def next_version(version: str, level: Level) -> str | None:
    """Return the name after ``version``; None if it is not X.Y or X.Y.Z."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return None
    if level is Level.SAME:
        return version
    major, minor, patch = (int(part or 0) for part in match.groups())
    if level is Level.PATCH:
        return f"{major}.{minor}.{patch + 1}"
    above = (major + 1, 0) if level is Level.MAJOR else (major, minor + 1)
    return ".".join(map(str, above if match[3] is None else (*above, 0)))


def _was(count: int) -> str:
    return "was" if count == 1 else "were"
