"""Recognise observations that are empty, report an error, or list items with ids."""

import re
from typing import Any

import orjson

from annotator.core.schema.exact_json import dumps

_ENVELOPE_KEYS = frozenset({"response", "result", "results", "data", "output"})
_STATUS_KEYS = frozenset({"status_code", "statusCode", "http_status", "status"})
_ERROR_KEYS = frozenset({"error", "errors", "exception", "traceback", "error_message", "errorMessage"})
_READ_KEYS = _STATUS_KEYS | _ERROR_KEYS | _ENVELOPE_KEYS | {"success"}
_ERROR_TEXT = re.compile(
    r"\s*(?:[\w.]{0,60}(?:error|exception)\s*[:：]|traceback \(most recent|internal server error|错误\s*[:：])",
    re.IGNORECASE,
)
_NAME_KEYS = ("name", "title", "label", "名称", "标题")
#: Answers often paraphrase shorter lists, and do not repeat longer ones.
_MIN_ROWS, _MAX_ROWS = 2, 30
#: Objects and lists that are searched in one observation.
_MAX_SEARCHED = 60


def is_empty(observation: Any) -> bool:
    """Return whether an observation is empty, even inside an envelope such as {"response": []}."""
    if not observation:
        return isinstance(observation, str | list | dict)
    if isinstance(observation, str):
        return not observation.strip()
    if not isinstance(observation, dict) or len(observation) > 1 + len(_STATUS_KEYS):
        return False
    enveloped = False
    for key, part in observation.items():
        if key in _ENVELOPE_KEYS:
            if part is not None and not is_empty(part):
                return False
            enveloped = True
        elif key not in _STATUS_KEYS:
            return False
    return enveloped


def error_in(observation: Any) -> str | None:
    """Return the error that an observation reports, else None. A field such as error_rate is not an error."""
    if isinstance(observation, str):
        return _error_in_text(observation)
    if not isinstance(observation, dict):
        return None
    for key, value in observation.items():
        if key not in _READ_KEYS:
            continue
        if key in _ENVELOPE_KEYS:
            error = error_in(value) if isinstance(value, dict) else None
        elif key in _STATUS_KEYS:
            error = _error_in_status(key, value, observation)
        elif key in _ERROR_KEYS:
            error = _error_in_field(key, value)
        else:
            error = str(observation.get("message") or "success is false") if value is False else None
        if error is not None:
            return error
    return None


def _error_in_text(text: str) -> str | None:
    if _ERROR_TEXT.match(text):
        return text
    # A result that was stored as JSON text.
    if text.startswith("{") and len(text) < 20_000 and "rror" in text:
        try:
            return error_in(orjson.loads(text))
        except orjson.JSONDecodeError:
            return None
    return None


def _error_in_status(key: str, status: Any, observation: dict[str, Any]) -> str | None:
    if type(status) is int and 400 <= status <= 599:
        return f"{key} {status}"
    if key == "status" and isinstance(status, str) and status.lower() == "error":
        return str(observation.get("message") or "status error")
    return None


def _error_in_field(key: str, error: Any) -> str | None:
    if error is True:
        return f"{key} is true"
    if isinstance(error, str):
        return error or None
    return dumps(error).decode() if error and isinstance(error, dict | list) else None


def lost_ids(observation: Any, text: str) -> list[str]:
    """Return the ids of a listed result that the answer omits, if the answer clearly lists the items.

    An item counts as listed if the text has its id or its name. Answers that pick from a list are not reported: at
    least half of the items must be listed, and an item without id and name counts as lost only if four fifths of the
    others are listed.
    """
    for items in _short_lists(observation):
        key = _id_key(items)
        if key is None:
            continue
        ids = [str(item[key]) for item in items]
        with_id = [_contains_word(item_id, text) for item_id in ids]
        shown = [has or _contains_name(item, text) for item, has in zip(items, with_id, strict=True)]
        listed = sum(shown)
        if listed < _MIN_ROWS or listed * 2 < len(items):
            continue
        whole = listed * 5 >= len(items) * 4
        lost = [
            item_id for item_id, has, there in zip(ids, with_id, shown, strict=True) if not has and (there or whole)
        ]
        if lost:
            return lost
    return []


def _short_lists(observation: Any) -> list[list[Any]]:
    """Yield the lists of objects that are short enough to be repeated in an answer, at any depth below objects."""
    found = []
    stack = [observation]
    left = _MAX_SEARCHED
    while stack and left:
        value = stack.pop()
        left -= 1
        if type(value) is dict:
            for part in value.values():
                if type(part) is dict or type(part) is list:
                    stack.append(part)
        elif _MIN_ROWS <= len(value) <= _MAX_ROWS and type(value[0]) is dict:
            found.append(value)
    return found


def _id_key(items: list[Any]) -> str | None:
    """Return the key under which every item has its own id: order_id, showId, or "id" if it is not just a number."""
    keys: dict[str, Any] = items[0]
    for key, first in keys.items():
        if key == "id":
            if type(first) is not str:
                continue
        elif not key.endswith(("_id", "Id", "ID")):
            continue
        if not all(type(item) is dict for item in items):
            return None
        ids = [item.get(key) for item in items]
        if all(type(item_id) is str or (type(item_id) is int and key != "id") for item_id in ids):
            words = {str(item_id) for item_id in ids}
            if len(words) == len(items) and (key != "id" or min(map(len, words)) >= 3):
                return key
    return None


def _contains_word(word: str, text: str) -> bool:
    """Return whether the text contains this whole word, not just as a part of a longer one."""
    # A regular expression would have to be compiled for every word.
    at = text.find(word) if word else -1
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(word) : at + len(word) + 1]
        if not (before.isascii() and before.isalnum()) and not (after.isascii() and after.isalnum()):
            return True
        at = text.find(word, at + 1)
    return False


def _contains_name(item: dict[str, Any], text: str) -> bool:
    return any(isinstance(item.get(key), str) and len(item[key]) > 1 and item[key] in text for key in _NAME_KEYS)
