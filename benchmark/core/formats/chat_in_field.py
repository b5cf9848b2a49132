"""Chats in one of the fields of a record: exports of tools with which people label data.

The chat is the first field that is a list of messages; its name and the keys of its messages are kept with the
document, so it is written back into the same field. The other fields are kept as they are. Tools are in a field named
``tools``, as a list or as JSON text.
"""

from typing import Any, ClassVar

from annotator.core.schema import Problem
from benchmark.core.formats.chat import Chat, ChatFormat, said_in, spaced
from benchmark.core.formats.interface import Problems, describe, quote, read_json_text

#: The name of an author in lower case → the role.
_ROLES = {
    **dict.fromkeys(("user", "human", "customer", "client", "caller"), "user"),
    **dict.fromkeys(("assistant", "agent", "bot", "chatbot", "ai", "model", "gpt"), "assistant"),
    **dict.fromkeys(("tool", "function", "observation"), "tool"),
    "system": "system",
    "developer": "developer",
}
_CHAT = ("role", "content")
#: The key of a message for the author's own name.
_AUTHOR = "native_author"


class FieldFormat(ChatFormat):
    """``holders``: the fields of a record that may have tools; the first of them has the chat. ``spellings``: the keys
    of a message for its author and its text. ``prompts`` and ``replies``: the fields of an exchange in two texts.
    """

    holders: ClassVar[tuple[str, ...]]
    spellings: ClassVar[tuple[tuple[str, str], ...]] = (_CHAT,)
    prompts: ClassVar[tuple[str, ...]] = ()
    replies: ClassVar[tuple[str, ...]] = ()

    def to_chat(self, record: dict[str, Any], problems: Problems, warnings: list[Problem]) -> Chat:
        """See ``chat.ChatFormat``."""
        chat, holder = Chat(), self.holders[0]
        held = record[holder]
        if type(held) is not dict:
            problems.add(f"/{holder}", f"The field {holder} must be an object, not {describe(held)}.")
            return chat
        rest = dict(held)
        name, keys = self._find(held)
        prompt = next((one for one in self.prompts if type(held.get(one)) is str), None)
        reply = next((one for one in self.replies if type(held.get(one)) is str), None)
        if name is not None:
            chat.shape = {"field": name, "keys": list(keys)}
            _read_messages(chat, rest.pop(name), keys, f"/{holder}/{_escaped(name)}", problems)
        elif prompt is not None:
            chat.shape = {"prompt": prompt, "reply": reply}
            chat.add("user", rest.pop(prompt), f"/{holder}/{prompt}")
            if reply is not None:
                chat.add("assistant", rest.pop(reply), f"/{holder}/{reply}")
        else:
            texts = f" Texts may be in {' or '.join(self.prompts)}." if self.prompts else ""
            spelled = " or ".join(" and ".join(keys) for keys in self.spellings)
            problems.add(f"/{holder}", f"No field is a list of messages with {spelled}.{texts}")
        chat.beside[holder] = rest
        self._read_tools(record, chat, problems)
        return chat

    def _find(self, held: dict[str, Any]) -> tuple[str | None, tuple[str, str]]:
        """Return the name of the field with the chat, and the keys of its messages."""
        for keys in self.spellings:
            for name, value in held.items():
                if type(value) is list and any(type(one) is dict and set(keys) <= one.keys() for one in value):
                    return name, keys
        return None, _CHAT

    def _read_tools(self, record: dict[str, Any], chat: Chat, problems: Problems) -> None:
        for holder in self.holders:
            held = chat.beside.get(holder, record.get(holder))
            tools = held.get("tools") if type(held) is dict else None
            read = read_json_text(tools, f"/{holder}/tools", problems) if type(tools) is str else tools
            if type(held) is dict and type(read) is list and all(type(tool) is dict for tool in read):
                chat.tools = read
                chat.shape["tools"] = [holder, type(tools) is str]
                chat.beside[holder] = {key: value for key, value in held.items() if key != "tools"}
                return

    def from_chat(self, chat: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
        """See ``chat.ChatFormat``."""
        first = self.holders[0]
        tools = shape.get("tools")
        holder, as_text = tools if type(tools) is list and len(tools) == 2 else (first, True)
        holder = holder if holder in self.holders else first
        record = {one: dict(chat[one]) if type(chat.get(one)) is dict else {} for one in (first, holder)}
        held = record[first]
        exchange = self._as_exchange(chat["messages"], shape)
        if exchange is not None:
            held |= exchange
        else:
            name, keys = shape.get("field"), shape.get("keys")
            spelled = next((one for one in self.spellings if list(one) == keys), self.spellings[0])
            authors = shape.get("authors")
            held[name if type(name) is str else "chat"] = _write_messages(
                chat["messages"], spelled, authors if type(authors) is dict else {}
            )
        if chat["tools"] or type(tools) is list:
            record[holder]["tools"] = spaced(chat["tools"]) if as_text is True else chat["tools"]
        return {"id": chat["id"], **record}

    def _as_exchange(self, messages: list[dict[str, Any]], shape: dict[str, Any]) -> dict[str, Any] | None:
        """Return the two texts of an exchange; None unless the record had them and they can still represent it."""
        prompt, reply = shape.get("prompt"), shape.get("reply")
        roles = [message["role"] for message in messages]
        plain = all(type(one["content"]) is str and not one.keys() & {"tool_calls", "refusal"} for one in messages)
        if prompt not in self.prompts or not plain or roles not in (["user"], ["user", "assistant"]):
            return None
        if len(roles) == 1:
            return {prompt: messages[0]["content"]} if reply is None else None
        written = reply if reply in self.replies else self.replies[0]
        return {prompt: messages[0]["content"], written: messages[1]["content"]}


def _read_messages(chat: Chat, raws: list[Any], keys: tuple[str, str], here: str, problems: Problems) -> None:
    """Add the messages of a field. What else a message has is kept with it."""
    by, text = keys
    authors: dict[str, str] = {}
    for n, raw in enumerate(raws):
        place = f"{here}/{n}"
        author = raw.get(by) if type(raw) is dict else None
        role = _ROLES.get(author.strip().lower()) if type(author) is str else None
        if type(raw) is not dict:
            problems.add(place, f"A message must be an object, not {describe(raw)}.")
        elif role is None:
            known = ", ".join(_ROLES)
            problems.add(f"{place}/{by}", f"The author {quote(author)} is unknown. Rename it to one of: {known}.")
        else:
            authors.setdefault(role, str(author))
            more = {key: value for key, value in raw.items() if key not in (by, text, *_CHAT)}
            if author != role:
                more[_AUTHOR] = author
            chat.messages.append({"role": role, "content": raw.get(text), **more})
            chat.places.append(place)
    if any(author != role for role, author in authors.items()):
        chat.shape["authors"] = authors


def _write_messages(
    messages: list[dict[str, Any]], keys: tuple[str, str], authors: dict[str, Any]
) -> list[dict[str, Any]]:
    by, text = keys
    out = []
    for message in messages:
        role, author = message["role"], message.get(_AUTHOR)
        if type(author) is not str or _ROLES.get(author.strip().lower()) != role:
            # A new or an edited message.
            author = authors.get(role)
            author = author if type(author) is str else role
        content = message["content"] if keys == _CHAT else said_in(message)
        beside = {key: value for key, value in message.items() if key not in (_AUTHOR, *_CHAT)}
        out.append({by: author, text: content, **beside})
    return out


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
