"""Errors of the API: always ``{"error": code, "sentence": …, "details": {…}}``."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.translation import gettext as _
from rest_framework.exceptions import APIException, NotAuthenticated, ValidationError
from rest_framework.response import Response
from rest_framework.views import exception_handler

from annotator.errors import Busy, DomainError, TooMany
from annotator.services.archiving import as_refusal

#: Problems of a body that a sentence names; details have all of them.
_MOST_NAMED = 3


def handle(exception: Exception, context: dict[str, Any]) -> Response | None:
    """Map domain errors and those of the framework to one format. Django handles others (500)."""
    exception = as_refusal(exception) or exception
    if isinstance(exception, DomainError):
        return Response(
            {"error": exception.code, "sentence": exception.sentence, "details": exception.details},
            status=exception.status,
            headers=_when_to_retry(exception),
        )
    response = exception_handler(exception, context)
    if response is None:
        return None
    details: Any = {}
    if isinstance(exception, Http404):
        code, sentence = "not_found", _("This doesn’t exist, or you don’t have access to it.")
    elif isinstance(exception, PermissionDenied):
        code, sentence = "denied", _("You aren’t allowed to do this.")
    elif isinstance(exception, ValidationError):
        code, sentence, details = "invalid", _in_words(response.data), response.data
    elif isinstance(exception, NotAuthenticated):
        code = exception.default_code
        sentence = _("Sign in, or send a token as “Authorization: Bearer …”. Create tokens under “API tokens”.")
    elif isinstance(exception, APIException):
        code, sentence = str(exception.default_code), str(exception.detail)
    else:
        code, sentence = "refused", _("The request was refused.")
    response.data = {"error": code, "sentence": sentence, "details": details}
    return response


def _when_to_retry(refusal: DomainError) -> dict[str, str] | None:
    if isinstance(refusal, TooMany):
        return {"Retry-After": str(refusal.retry_after)}
    return {"Retry-After": "10"} if isinstance(refusal, Busy) else None


def _in_words(details: Any) -> str:
    """Return a sentence with the first problems of a body: its fields, and what is wrong with them."""
    words = [
        f"“{place}”: {message}" if place else message for place, message in islice(_problems(details), _MOST_NAMED)
    ]
    return " ".join([_("Some fields are missing or invalid."), *words])


def _problems(details: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield the place and the sentence of each problem in the framework's lists and objects."""
    if isinstance(details, dict):
        for key, inner in details.items():
            name = "" if key == "non_field_errors" else str(key)
            yield from _problems(inner, f"{place}/{name}" if place and name else place or name)
    elif isinstance(details, list):
        for inner in details:
            yield from _problems(inner, place)
    else:
        yield place[:100], str(details)
