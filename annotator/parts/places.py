"""Anchors as DOM ids, so that a finding can link to the place it means."""

import re

_NOT_PLAIN = re.compile(r"[^A-Za-z0-9]")


def place_id(anchor: str) -> str:
    """The DOM id of an anchor: ``/tasks/t1/user_message`` -> ``at-tasks-t1-user_5f_message``.

    Different anchors have different ids, and an id needs no escaping in a CSS selector. The whole document is ``at``.
    """
    return "at" + _NOT_PLAIN.sub(lambda found: "-" if found[0] == "/" else f"_{ord(found[0]):x}_", anchor)
