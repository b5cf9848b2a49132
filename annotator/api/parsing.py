"""Bodies of API requests: JSON, checked at the door for whatever no field could store."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from rest_framework import status
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import JSONParser

from annotator.core.schema import SchemaProblem
from annotator.core.schema.canonical import encode_faithful, normalise
from annotator.core.schema.exact_json import JsonError, holds_more_values, loads

#: Commas and opening brackets of a body: eight megabytes of brackets would take 400 MB and seconds.
MAX_VALUES = 1_000_000


class TooLarge(APIException):
    """The body is larger, or holds more, than the server reads into memory."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


class StrictJSONParser(JSONParser):
    """JSON in UTF-8, of bounded size and depth, without NUL, half characters, NaN or a key twice in one object.

    With these refused here, once, no endpoint can hand them to the database or back to the sender.
    """

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The body as an object. Raises ParseError or TooLarge."""
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        raw: bytes = stream.read(limit + 1)
        if len(raw) > limit:
            raise TooLarge(f"The body is larger than {limit // 2**20} MB; send less at once, or import it as a file.")
        if holds_more_values(raw, MAX_VALUES):
            raise TooLarge(
                f"The body holds more than {MAX_VALUES:,} values; send less at once, or import it as a file."
            )
        try:
            value = loads(raw.decode("utf-8-sig"))
            if encode_faithful(value) is None:
                value = normalise(value)
        except UnicodeDecodeError:
            raise ParseError("The body is not UTF-8 text; encode it so.") from None
        except JsonError as error:
            raise ParseError(str(error)) from None
        except SchemaProblem as problem:
            first = problem.problems[0]
            raise ParseError(f"At {first.pointer[:200] or '/'}: {first.message}") from None
        except ValueError as error:
            raise ParseError(f"The body is not JSON: {str(error)[:200]}.") from None
        if not isinstance(value, dict):
            raise ParseError("The body must be one JSON object, such as {}.")
        return value
