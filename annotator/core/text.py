"""Marks English text of pure modules for translation; pages translate it where they show it."""


def gettext_noop(message: str) -> str:
    """Return `message` as it is; the name tells `makemessages` to collect it."""
    return message
