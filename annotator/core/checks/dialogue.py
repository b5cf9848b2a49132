"""dialogue.*: how the people in the dialogue speak."""

import re
from collections.abc import Iterator

from annotator.core.checks.context import Context
from annotator.core.checks.languages import foreign_text
from annotator.core.checks.placeholders import placeholder_in
from annotator.core.checks.registry import Check, register
from annotator.core.findings import Finding
from annotator.core.schema.value_words import cut

_LANGUAGES = {"en": "English", "zh": "Chinese"}


@register
class EmptyMessage(Check):
    """A task begins with a user message that has text."""

    id = "dialogue.empty_message"
    title = "A user message is empty"
    severity = "error"

    def run(self, context: Context) -> Iterator[Finding]:
        for anchor, message in context.user_messages:
            if not message.strip():
                yield self.finding(context, anchor, message, "Write the user message.")


@register
class ToolNamed(Check):
    """The user names a tool as it is called in code. Real users do not do this, and it reveals the
    solution. Tool names that are ordinary words do not count.
    """

    id = "dialogue.tool_named"
    title = "The user names a tool"
    severity = "warning"

    def run(self, context: Context) -> Iterator[Finding]:
        names = context.toolset.distinctive_names
        for anchor, text in context.user_texts:
            lower = text.lower()
            for name, lowered in names:
                if lowered in lower and re.search(rf"(?<![a-z0-9_]){re.escape(lowered)}(?![a-z0-9_])", lower):
                    message = f"The user names the tool “{cut(name)}”. Use words that a user would use."
                    yield self.finding(context, anchor, text, message)
                    break


@register
class PlaceholderText(Check):
    """A message, question or answer contains a placeholder from a template: [Your name], {{city}}, lorem ipsum."""

    id = "dialogue.placeholder_text"
    title = "A text contains a placeholder"
    severity = "warning"

    def run(self, context: Context) -> Iterator[Finding]:
        for texts in (context.user_texts, context.assistant_texts()):
            for anchor, text in texts:
                left = placeholder_in(text)
                if left is not None:
                    message = f"The text contains the placeholder “{cut(left)}”. Replace it with real text."
                    yield self.finding(context, anchor, text, message)


@register
class LanguageMix(Check):
    """A text is not in the dialogue's language. Names, quotations and a few words of another language are fine."""

    id = "dialogue.language_mix"
    title = "A text is not in the dialogue’s language"
    severity = "warning"

    def run(self, context: Context) -> Iterator[Finding]:
        language = context.document["language"]
        if language is None:
            return
        for texts in (context.user_texts, context.assistant_texts()):
            for anchor, text in texts:
                foreign = foreign_text(text, language)
                if foreign is not None:
                    message = f"The dialogue is in {_LANGUAGES[language]}, but this text is not: “{cut(foreign)}”."
                    yield self.finding(context, anchor, text, message)
