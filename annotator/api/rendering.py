"""JSON responses. Stored documents are included as text without being parsed."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from annotator.core.schema.exact_json import dumps, load_stored


class FastJSONRenderer(JSONRenderer):
    """Encodes JSON with orjson; other types, such as decimals, use the framework's encoder."""

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        if data is None:
            return b""
        try:
            return orjson.dumps(data, default=_encode_rest, option=orjson.OPT_UTC_Z)
        except TypeError:
            # Errors in lists have integer keys, and integers may exceed orjson's range.
            return dumps(data, default=_encode_rest, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS)


class FileNegotiation(DefaultContentNegotiation):
    """For addresses that answer with a file: a client may accept only its type. Refusals are JSON nevertheless."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> tuple[Any, str]:
        return renderers[0], renderers[0].media_type


def stored_json(text: str) -> orjson.Fragment:
    """Return canonical text as part of a response."""
    return orjson.Fragment(text)


@lru_cache(maxsize=256)
def stored_tools(content: str) -> orjson.Fragment:
    """Return the tools of a toolset revision's content as part of a response."""
    return orjson.Fragment(dumps(load_stored(content)["tools"]))


def _encode_rest(value: Any) -> Any:
    return JSONRenderer.encoder_class().default(value)
