"""Rules for all request bodies: no unknown fields or values, no numbers in place of texts."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from rest_framework import serializers
from rest_framework.request import Request

#: Unknown fields, and wrong entries of a list or an object, that a refusal names.
_MOST_NAMED = 10
_TOO_MANY = gettext_noop("There are more than %(most)d entries. Send fewer.")


class Input(serializers.Serializer[Any]):
    """A request body. Unknown fields are refused, so that a misspelt one is not ignored."""

    def get_fields(self) -> dict[str, Any]:
        """Return the fields; those with choices list them when they refuse a value."""
        fields = super().get_fields()
        for outer in fields.values():
            field: Any = outer
            while field is not None:
                if isinstance(field, serializers.ChoiceField):
                    known = ", ".join(f"“{value}”" for value in field.choices)
                    sentence = _("Unknown value. Use one of: %(known)s.") % {"known": known}
                    field.error_messages["invalid_choice"] = sentence.replace("{", "{{").replace("}", "}}")
                field = getattr(field, "child", None)
        return fields

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = sorted(set(map(str, data)) - set(self.fields))
            if unknown:
                sentence = _("Unknown field. Use: %(fields)s.") % {"fields": ", ".join(self.fields)}
                raise serializers.ValidationError({name[:100]: [sentence] for name in unknown[:_MOST_NAMED]})
        return super().to_internal_value(data)


def read_fields(shape: type[Input], request: Request) -> dict[str, Any]:
    """Return the request's fields. Raises ValidationError (400), which names each wrong field."""
    sent: dict[str, Any] = _reader(shape).run_validation(request.data)
    return sent


@cache
def _reader(shape: type[Input]) -> Input:
    """Return a serializer that reads requests; it keeps no request, so all share one and its fields are built once."""
    return shape()


class StrictCharField(serializers.CharField):
    """A text. Numbers are refused, not converted."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            raise serializers.ValidationError("This must be text.")
        return super().to_internal_value(data)


def _validated(child: Any, entries: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return the places and values of entries. Raises ValidationError for the first wrong ones: with a million of them,
    an answer would need a gigabyte.
    """
    found, wrong = [], {}
    for place, value in entries:
        try:
            found.append((place, child.run_validation(value)))
        except serializers.ValidationError as error:
            wrong[place] = error.detail
            if len(wrong) == _MOST_NAMED:
                break
    if wrong:
        raise serializers.ValidationError(wrong)
    return found


class BoundedListField(serializers.ListField):
    """A list of at most ``max_length`` entries, which are counted before they are read."""

    def __init__(self, *, max_length: int, **options: Any) -> None:
        super().__init__(max_length=max_length, **options)
        self.most = max_length

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, list) and len(data) > self.most:
            raise serializers.ValidationError(_(_TOO_MANY) % {"most": self.most})
        return super().to_internal_value(data)

    def run_child_validation(self, data: list[Any]) -> list[Any]:
        return [value for _place, value in _validated(self.child, enumerate(data))]


class BoundedDictField(serializers.DictField):
    """An object of at most ``most`` entries."""

    most = 500

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and len(data) > self.most:
            raise serializers.ValidationError(_(_TOO_MANY) % {"most": self.most})
        return super().to_internal_value(data)

    def run_child_validation(self, data: Mapping[str, Any]) -> dict[str, Any]:
        return dict(_validated(self.child, ((str(key), value) for key, value in data.items())))


class StrictBooleanField(serializers.BooleanField):
    """true, false, or null if allowed; not "yes" or 1."""

    def to_internal_value(self, data: Any) -> Any:
        if data is not None and not isinstance(data, bool):
            raise serializers.ValidationError(_("This must be true, false or null."))
        return data
