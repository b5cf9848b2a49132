"""The category of a change between two releases, and whether it concerns the reference.

The reference is everything that a score is computed from or that a model reads: scores before and after such a change
cannot be compared.
"""

from enum import StrEnum

from annotator.core.comparison import Change, split
from annotator.core.comparison.anchors import label_key, named, ordered_list


class Category(StrEnum):
    USER_MESSAGE = "user_message"
    LABEL = "label"
    DEPENDENCY = "dependency"
    CALL = "call"
    ARGUMENT = "argument"
    OBSERVATION = "observation"
    ANSWER = "answer"
    CONSTRAINT = "constraint"
    TOOLS = "tools"
    OTHER = "other"


#: List of items with ids (blank: the document itself) → its field → category. Any other field: OTHER.
_FIELDS: dict[str, dict[str, Category]] = {
    "": {
        "language": Category.LABEL,
        "category": Category.LABEL,
        "composition": Category.LABEL,
        "scenario": Category.LABEL,
        "user_query": Category.USER_MESSAGE,
        "tasks": Category.USER_MESSAGE,
        "constraints": Category.CONSTRAINT,
        "reference_trajectory": Category.CALL,
        "answer": Category.ANSWER,
        "unsolved_set": Category.ANSWER,
        "tool_codes": Category.TOOLS,
    },
    "tasks": {
        "user_message": Category.USER_MESSAGE,
        "policy": Category.LABEL,
        "information": Category.LABEL,
        "native_information": Category.LABEL,
        "category": Category.LABEL,
        "steps": Category.CALL,
        "single": Category.CALL,
        "calls": Category.CALL,
    },
    "steps": {
        "name": Category.CALL,
        "arguments": Category.ARGUMENT,
        "observation": Category.OBSERVATION,
        "depends_on": Category.DEPENDENCY,
        "question": Category.ANSWER,
        "user_reply": Category.USER_MESSAGE,
        "text": Category.ANSWER,
        "answer_type": Category.LABEL,
    },
    "reference_trajectory": {"calls": Category.CALL, "final": Category.ANSWER},
    "calls": {"name": Category.CALL, "arguments": Category.ARGUMENT, "observation": Category.OBSERVATION},
}
#: The category of a whole item that was added, removed or replaced.
_WHOLE = {
    "tasks": Category.USER_MESSAGE,
    "constraints": Category.CONSTRAINT,
    "reference_trajectory": Category.CALL,
    "calls": Category.CALL,
}
#: Fields that no score uses and no model reads. The hashes in a composite follow its single tasks, which a release
#: lists themselves.
_BESIDE = frozenset(
    ("extra", "inferable", "candidate_messages", "chosen", "sha256", "toolset_sha256", "replaced")
)  # fmt: skip


def categorise(change: Change) -> tuple[Category, bool]:
    """Return the category of a change of a document, and whether it concerns the reference."""
    listed = ordered_list(change.anchor)
    parts = split(change.anchor if listed is None else listed)
    holder, rest = "", parts
    for length in (1, 3):
        if len(parts) > length and named(parts[:length]):
            holder, rest = parts[length - 1], parts[length + 1 :]
    if holder == "candidate_messages" or (rest and rest[0] in _BESIDE):
        return Category.OTHER, False
    if label_key(parts):
        # No score reads the values of custom fields.
        return Category.LABEL, False
    if rest:
        otherwise = Category.CONSTRAINT if holder == "constraints" else Category.OTHER
        return _FIELDS.get(holder, {}).get(rest[0], otherwise), True
    if holder == "steps":
        step = change.before if change.after is None else change.after
        return (Category.CALL if step.get("type") == "call" else Category.ANSWER), True
    return _WHOLE.get(holder, Category.OTHER), True
