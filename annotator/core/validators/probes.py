"""Responses with a single Markdown element: a validator that rejects them may be too strict."""

from annotator.core.constraints.demands import only_examples, read_demands

#: One Markdown element each; with prose around it, as in a response.
_MARKDOWN = {
    "a heading": "# Answer\n\n{text}",
    "a list": "The answer:\n\n- {text}\n- Nothing else",
    "emphasis": "The answer is **{text}**",
}


def single_elements(text: str, reference: str) -> dict[str, str]:
    """Return element → the reference with only that Markdown element, if the sentence ``text`` names several as
    examples.

    Otherwise empty. Each of these responses is as correct as the reference.
    """
    if read_demands(text).form != "markdown" or not only_examples(text):
        return {}
    # A sign that begins a line or a word is Markdown; one within a word is not.
    plain = " ".join(word.lstrip("#>-") for word in reference.replace("*", "").split()).strip() or "Answer"
    return {name: probe.replace("{text}", plain) for name, probe in _MARKDOWN.items()}
