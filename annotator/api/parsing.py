"""JSON bodies of API requests, checked for content that no field could store."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework import status
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import JSONParser

from annotator.core.schema import SchemaProblem
from annotator.core.schema.canonical import encode_faithful, normalise
from annotator.core.schema.exact_json import JsonError, holds_more_values, loads

#: Commas and opening brackets in a body: parsing eight megabytes of brackets would take seconds and 400 MB.
MAX_VALUES = 1_000_000


class TooLarge(APIException):
    """The body is larger or has more values than the server reads into memory."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


class StrictJSONParser(JSONParser):
    """Accepts JSON in UTF-8 with limited size and depth, without NUL, lone surrogates, NaN and duplicate keys.

    So no endpoint can pass these to the database or return them.
    """

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Parse the body as an object. Raises ParseError or TooLarge."""
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        raw: bytes = stream.read(limit + 1)
        if len(raw) > limit:
            sentence = _("The body is larger than %(most)d MB. Send less at a time, or import it as a file.")
            raise TooLarge(sentence % {"most": limit // 2**20})
        if holds_more_values(raw, MAX_VALUES):
            sentence = _("The body has more than %(most)s values. Send less at a time, or import it as a file.")
            raise TooLarge(sentence % {"most": f"{MAX_VALUES:,}"})
        try:
            value = loads(raw.decode("utf-8-sig"))
            if encode_faithful(value) is None:
                value = normalise(value)
        except UnicodeDecodeError:
            raise ParseError(_("The body isn’t encoded in UTF-8.")) from None
        except JsonError as error:
            raise ParseError(str(error)) from None
        except SchemaProblem as problem:
            first = problem.problems[0]
            words = {"place": first.pointer[:200] or "/", "problem": first.message}
            raise ParseError(_("At %(place)s: %(problem)s") % words) from None
        except ValueError as error:
            raise ParseError(_("The body isn’t valid JSON: %(error)s.") % {"error": str(error)[:200]}) from None
        if not isinstance(value, dict):
            raise ParseError(_("The body must be a JSON object, such as {}."))
        return value
