"""Answers of the API as JSON. Stored documents are put in as the text they are, without being read."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson
from rest_framework.renderers import JSONRenderer

from annotator.core.schema.exact_json import dumps, load_stored


class FastJSONRenderer(JSONRenderer):
    """JSON by a fast encoder; what it does not know (lazy texts, decimals) is left to the framework’s."""

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        if data is None:
            return b""
        try:
            return orjson.dumps(data, default=_encode_rest, option=orjson.OPT_UTC_Z)
        except TypeError:
            # Details of errors in a list have its indexes as keys; integers may be longer than the encoder takes.
            return dumps(data, default=_encode_rest, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS)


def stored_json(text: str) -> orjson.Fragment:
    """Canonical text as a part of an answer."""
    return orjson.Fragment(text)


@lru_cache(maxsize=256)
def stored_tools(content: str) -> orjson.Fragment:
    """The list of tools of a toolset revision's content as a part of an answer."""
    return orjson.Fragment(dumps(load_stored(content)["tools"]))


def _encode_rest(value: Any) -> Any:
    return JSONRenderer.encoder_class().default(value)
