"""Anchors as DOM ids, so that a finding can link to its place."""

import re
from functools import lru_cache

#: Fields of a constrained case that are shown separately.
_CASE_PARTS = frozenset(
    {"system_prompt", "user_query", "scenario", "constraints", "answer", "unsolved_set", "tool_codes"}
    | {"reference_trajectory"}
)
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9]")


@lru_cache(maxsize=4096)  # most dialogues use the same ids of tasks and steps
def dom_id(anchor: str) -> str:
    """Return the DOM id of an anchor: ``/tasks/t1/user_message`` -> ``at-tasks-t1-user_5f_message``.

    Different anchors have different ids, and an id needs no escaping in a CSS selector. The whole document is ``at``.
    """
    return "at" + _NOT_PLAIN.sub(lambda found: "-" if found[0] == "/" else f"_{ord(found[0]):x}_", anchor)


def text_dom_id(anchor: str) -> str:
    """Return the DOM id of the text at an anchor, inside the part of the page with the id ``dom_id(anchor)``."""
    return f"text-{dom_id(anchor)}"


def visible_dom_id(anchor: str) -> str:
    """Return the DOM id of the part of a dialogue's page that shows an anchor: its step or message, else its task.

    Of a toolset: its tool.
    """
    parts = anchor.strip("/").split("/")
    if parts[0] in _CASE_PARTS:
        return dom_id("/" + "/".join(parts[: 4 if parts[2:3] == ["calls"] else 2]))
    if parts[0] == "tools" and len(parts) > 1:
        return dom_id("/" + "/".join(parts[:2]))
    if parts[0] != "tasks" or len(parts) < 2:
        return "at"
    if len(parts) > 3 and parts[2] == "steps":
        return dom_id("/" + "/".join(parts[:4]))
    return dom_id("/" + "/".join(parts[:3] if parts[2:3] == ["user_message"] else parts[:2]))
