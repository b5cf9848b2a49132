"""Protocols that programs send or people paste: their limits, and all problems of one."""

from typing import Any

from django.utils.translation import gettext as _

from annotator.core.schema.errors import Problem
from annotator.core.schema.exact_json import dumps
from annotator.errors import Invalid
from reviews.core.protocols import Protocol
from reviews.core.protocols.drafting import MAX_BYTES, MAX_VALUES, check, complete, has_too_many_values


def read_definition(value: dict[str, Any]) -> tuple[Protocol | None, list[Problem]]:
    """Return the protocol of a JSON object, if it can be read, and all its problems.

    Rows without keys get keys from their names, as in the editor.
    """
    if has_too_many_values(value):
        return None, [Problem("", too_many_values())]
    if len(dumps(value)) > MAX_BYTES:
        return None, [Problem("", too_long(MAX_BYTES))]
    return check(complete(value))


def require_definition(value: dict[str, Any]) -> Protocol:
    """Return the protocol of a JSON object. Raises Invalid with all problems."""
    protocol, problems = read_definition(value)
    if protocol is None or problems:
        raise Invalid(
            _("The protocol has problems: %(problem)s") % {"problem": problems[0].message},
            problems=[{"pointer": problem.pointer, "message": problem.message} for problem in problems],
        )
    return protocol


def too_many_values() -> str:
    """Return why a protocol with more values than the editor can show is refused."""
    sentence = _("The protocol has more than %(limit)s values. Remove stages, rows or questions.")
    return sentence % {"limit": f"{MAX_VALUES:,}"}


def too_long(limit: int) -> str:
    """Return why a protocol of more than ``limit`` bytes is refused."""
    sentence = _("The protocol is longer than %(limit)s bytes. Remove stages, rows or questions.")
    return sentence % {"limit": f"{limit:,}"}
