"""Records of Argilla: ``{"id", "fields": {name: [messages] or text}, "metadata", "suggestions", "responses", …}``."""

from benchmark.core.formats.chat_in_field import FieldFormat


class ArgillaFormat(FieldFormat):
    name = "argilla"
    known = frozenset(("id", "fields"))
    needs = (("fields",), "an object with a chat, or with a prompt and a response")
    holders = ("fields", "metadata")
    prompts = ("prompt", "instruction", "question")
    replies = ("response", "completion", "answer")
