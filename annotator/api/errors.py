"""Errors of the API: always ``{"error": code, "sentence": …, "details": {…}}``."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework.exceptions import APIException, NotAuthenticated, ValidationError
from rest_framework.response import Response
from rest_framework.views import exception_handler

from annotator.errors import Busy, DomainError


def handle(exception: Exception, context: dict[str, Any]) -> Response | None:
    """Map domain errors and the framework's own to one shape. Others are left to Django (500)."""
    if isinstance(exception, DomainError):
        return Response(
            {"error": exception.code, "sentence": exception.sentence, "details": exception.details},
            status=exception.status,
            headers={"Retry-After": "10"} if isinstance(exception, Busy) else None,
        )
    response = exception_handler(exception, context)
    if response is None:
        return None
    details: Any = {}
    if isinstance(exception, Http404):
        code, sentence = "not_found", "There is nothing here, or it is not yours to see."
    elif isinstance(exception, PermissionDenied):
        code, sentence = "denied", "You may not do this."
    elif isinstance(exception, ValidationError):
        code, sentence, details = "invalid", "Some fields are missing or wrong; see details.", response.data
    elif isinstance(exception, NotAuthenticated):
        code = exception.default_code
        sentence = "Send a token as “Authorization: Bearer …”, or sign in; you make one under API tokens."
    elif isinstance(exception, APIException):
        code, sentence = str(exception.default_code), str(exception.detail)
    else:
        code, sentence = "refused", "The request was refused."
    response.data = {"error": code, "sentence": sentence, "details": details}
    return response
