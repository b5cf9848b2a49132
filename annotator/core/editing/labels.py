"""Edits of labels, the values of custom fields."""

from annotator.core.comparison.anchors import can_have_labels, join
from annotator.core.comparison.placing import ABSENT
from annotator.core.editing.scope import Edit


def set_label(edit: Edit) -> str:
    """Set the label at the anchor; null, a blank text and the empty list remove it."""
    *above, _, _ = parts = edit.parts()
    part = edit.at(join(above))
    if not can_have_labels(tuple(above)) or part.get("type") == "clarification":
        edit.refuse("This part cannot have labels.", join(parts))
    value = edit.value()
    if isinstance(value, str):
        value = edit.as_text(value)
    empty = value is None or value == [] or (isinstance(value, str) and not value.strip())
    return edit.put(edit.anchor, ABSENT if empty else value)
