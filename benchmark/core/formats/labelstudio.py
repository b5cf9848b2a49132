"""Tasks of Label Studio's JSON export: ``{"id", "data": {field: [messages]}, "annotations", "predictions", …}``.

Messages are spelled as in the OpenAI chat API (the Chat tag), or with an author and a text (the Paragraphs tag).
"""

from benchmark.core.formats.chat_in_field import FieldFormat


class LabelStudioFormat(FieldFormat):
    name = "labelstudio"
    known = frozenset(("id", "data"))
    needs = (("data",), "an object with a list of messages")
    holders = ("data", "meta")
    spellings = (
        ("role", "content"),
        *((author, text) for author in ("author", "speaker", "from", "role", "name") for text in ("text", "content")),
        ("from", "value"),
    )
