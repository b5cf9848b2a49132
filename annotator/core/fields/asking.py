"""Which custom fields are asked in a document, and with what values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.fields.definitions import SCOPES_OF, Condition, CustomField, Scope
from annotator.core.schema.labels import labelled_parts


@dataclass(frozen=True, slots=True)
class Asked:
    """One field at one part of a document. ``shown``: whether its condition is met. ``value`` is None if absent."""

    anchor: str
    part: dict[str, Any]
    field: CustomField
    value: Any
    shown: bool

    @property
    def place(self) -> str:
        """The anchor of the value."""
        return f"{self.anchor}/labels/{self.field.key}"


def asked(fields: Sequence[CustomField], document: dict[str, Any]) -> Iterator[Asked]:
    """Yield every field at every part that it is about, in the order of the document and of the fields."""
    if not fields:
        return
    by_scope = {scope: [field for field in fields if field.scope is scope] for scope in Scope}
    #: Scope → the values of its shown fields, at the part that was last reached.
    shown_values: dict[Scope, dict[str, Any]] = {}
    for anchor, name, part in labelled_parts(document):
        scope = Scope(name)
        if not by_scope[scope]:
            shown_values[scope] = {}
            continue
        labels = part.get("labels", {})
        around: dict[str, Any] = {}
        for outer in SCOPES_OF[scope][:-1]:
            around |= shown_values.get(outer, {})
        own: dict[str, Any] = {}
        shown_values[scope] = own
        for field in by_scope[scope]:
            value = labels.get(field.key)
            shown = field.shown_if is None or _is_met(field.shown_if, around | own)
            if shown and value is not None:
                own[field.key] = value
            yield Asked(anchor, part, field, value, shown)


def _is_met(condition: Condition, values: Mapping[str, Any]) -> bool:
    value = values.get(condition.key)
    given = value if isinstance(value, list) else [] if value is None else [value]
    return any(str(one) in condition.values for one in given)


def unknown_labels(fields: Sequence[CustomField], document: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (anchor, value) of each label whose field is not defined for its part."""
    known = {(field.scope.value, field.key) for field in fields}
    for anchor, scope, part in labelled_parts(document):
        for key, value in part.get("labels", {}).items():
            if (scope, key) not in known:
                yield f"{anchor}/labels/{key}", value
