"""dialogue.*: how the people in the dialogue speak."""

import re
from collections.abc import Iterator

from annotator.core.checks.context import Context
from annotator.core.checks.languages import foreign_text
from annotator.core.checks.placeholders import placeholder_in
from annotator.core.checks.registry import Found, check
from annotator.core.schema.value_words import cut

_LANGUAGES = {"en": "English", "zh": "Chinese"}


@check("dialogue.empty_message", "A user message is empty", "error")
def empty_message(context: Context) -> Iterator[Found]:
    """A task begins with a user message that has text."""
    for anchor, message in context.user_messages:
        if not message.strip():
            yield anchor, message, "Write the user message."


@check("dialogue.tool_named", "The user names a tool", "warning")
def tool_named(context: Context) -> Iterator[Found]:
    """The user names a tool as it is called in code. Real users do not do this, and it reveals the
    solution. Tool names that are ordinary words do not count.
    """
    names = context.toolset.distinctive_names
    for anchor, text in context.user_texts:
        lower = text.lower()
        for name, lowered in names:
            if lowered in lower and re.search(rf"(?<![a-z0-9_]){re.escape(lowered)}(?![a-z0-9_])", lower):
                yield anchor, text, f"The user names the tool “{cut(name)}”. Use words that a user would use."
                break


@check("dialogue.placeholder_text", "A text contains a placeholder", "warning")
def placeholder_text(context: Context) -> Iterator[Found]:
    """A message, question or answer contains a placeholder from a template: [Your name], {{city}}, lorem ipsum."""
    for texts in (context.user_texts, context.assistant_texts()):
        for anchor, text in texts:
            left = placeholder_in(text)
            if left is not None:
                yield anchor, text, f"The text contains the placeholder “{cut(left)}”. Replace it with real text."


@check("dialogue.language_mix", "A text is not in the dialogue’s language", "warning")
def language_mix(context: Context) -> Iterator[Found]:
    """A text is not in the dialogue's language. Names, quotations and a few words of another language are fine."""
    language = context.document["language"]
    if language is None:
        return
    for texts in (context.user_texts, context.assistant_texts()):
        for anchor, text in texts:
            foreign = foreign_text(text, language)
            if foreign is not None:
                message = f"The dialogue is in {_LANGUAGES[language]}, but this text is not: “{cut(foreign)}”."
                yield anchor, text, message
