"""The unused fields of a native record, kept with a revision. Nobody chooses between them: they follow their part."""

from collections.abc import Iterator
from typing import Any

from annotator.core.comparison.anchors import Document, split
from annotator.core.comparison.changes import ChangeKind, apply_changes, diff, same_value
from annotator.core.comparison.discrepancies import is_remainder
from annotator.core.comparison.placing import copied

_REMAINDER = ("extra", "native_information")
#: Fields whose parts have their own remainder, and the fields of parts inside these.
_INNER = {"tasks": "steps", "constraints": "", "reference_trajectory": "calls", "tools": ""}
_PARTS = ("tasks", "steps", "constraints", "reference_trajectory", "calls", "tools")


def differ_in_remainder_only(left: Document, right: Document) -> bool:
    """Return whether two versions differ only in the remainder of a native record."""
    return same_value(_said(left), _said(right))


def with_remainder_of(document: Document, base: Document) -> Document:
    """Return ``document`` with the remainders of ``base``, for all parts that both have."""
    lost = []
    for change in diff(document, base):
        parts = split(change.anchor)
        in_parameters = parts[:1] == ("constraints",) and "parameters" in parts[2:-1]
        if is_remainder(parts) or (in_parameters and change.kind is ChangeKind.ADDED):
            lost.append(change)
    return apply_changes(document, lost)


def with_fitting_remainder(settled: Document, base: Document, left: Document, right: Document) -> Document:
    """Return ``settled``, in which each part has the remainder of the version with the same content."""
    was, *sides = (dict(_parts(document)) for document in (base, left, right))
    if all({key: _rest(part) for key, part in one.items()} == {key: _rest(part) for key, part in was.items()}
           for one in sides):  # fmt: skip
        return settled
    result: Document = copied(settled)
    for key, part in _parts(result):
        alike = [one[key] for one in sides if key in one and same_value(_said(one[key]), _said(part))]
        if key in was and same_value(_said(was[key]), _said(part)):
            alike = [one for one in alike if not same_value(_rest(one), _rest(was[key]))] or [was[key]]
        if alike:
            part.update(copied(_rest(alike[0])))
    return result


def _parts(document: Document) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield the document and every part that can have a remainder, each with its path."""
    yield (), document
    for name, inner in _INNER.items():
        for part in document.get(name) or ():
            yield (name, part["id"]), part
            for below in part.get(inner, ()):
                yield (name, part["id"], below["id"]), below


def _rest(part: dict[str, Any]) -> dict[str, Any]:
    return {key: part[key] for key in _REMAINDER if key in part}


def _said(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part without its remainder and those of its inner parts."""
    return {
        key: [_said(one) for one in value] if key in _PARTS and isinstance(value, list) else value
        for key, value in part.items()
        if key not in _REMAINDER
    }
