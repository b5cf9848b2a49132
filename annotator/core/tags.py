"""Tags: short names by which a project groups its dialogues."""

import unicodedata

#: Characters of a tag, and tags of one dialogue.
MAX_LENGTH, MAX_TAGS = 40, 20


def tag_of(text: str) -> str:
    """Return the tag that a text names, in lower case and Unicode's composed form; blank if it is not a tag.

    A tag has letters of any script with their marks, digits, hyphens and underscores, and starts with a letter or a
    digit.
    """
    # Long texts are refused before they are normalised.
    tag = unicodedata.normalize("NFC", text[: 4 * MAX_LENGTH].strip().lower())
    if not tag or len(text) > 4 * MAX_LENGTH or len(tag) > MAX_LENGTH or not tag[0].isalnum():
        return ""
    fits = all(char.isalnum() or char in "-_" or unicodedata.category(char).startswith("M") for char in tag)
    return tag if fits else ""
