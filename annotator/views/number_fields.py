"""Form fields of numbers, which say which numbers are allowed."""

from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

#: With a lowest and a highest number, with one of them, and with none.
_WHOLE = (
    _("Enter a whole number from {low} to {high}."),
    _("Enter a whole number, {low} or more."),
    _("Enter a whole number, {high} or less."),
    _("Enter a whole number."),
)
_ANY = (
    _("Enter a number from {low} to {high}."),
    _("Enter a number, {low} or more."),
    _("Enter a number, {high} or less."),
    _("Enter a number."),
)


class WholeNumberField(forms.IntegerField):
    def __init__(self, *, min_value: int | None = None, max_value: int | None = None, **given: Any) -> None:
        super().__init__(min_value=min_value, max_value=max_value, **given)
        self.error_messages |= _refusals(_WHOLE, min_value, max_value)


class NumberField(forms.FloatField):
    def __init__(self, *, min_value: float | None = None, max_value: float | None = None, **given: Any) -> None:
        super().__init__(min_value=min_value, max_value=max_value, **given)
        self.error_messages |= _refusals(_ANY, min_value, max_value)


class DecimalNumberField(forms.DecimalField):
    def __init__(self, *, max_digits: int, decimal_places: int, min_value: int | None = None, **given: Any) -> None:
        super().__init__(max_digits=max_digits, decimal_places=decimal_places, min_value=min_value, **given)
        long = format_lazy(
            _("Enter a number below {limit} with at most {places} digits after the decimal point."),
            limit=f"{10 ** (max_digits - decimal_places):,}",
            places=decimal_places,
        )
        self.error_messages |= dict.fromkeys(("max_digits", "max_decimal_places", "max_whole_digits"), long)
        self.error_messages |= _refusals(_ANY, min_value, None)


def _refusals(sentences: tuple[Any, ...], low: float | None, high: float | None) -> dict[str, Any]:
    """Return what is said of a value that is no number, or not an allowed one."""
    sentence = sentences[2 * (low is None) + (high is None)]
    words = {
        name: f"{limit:,}".removesuffix(".0") for name, limit in (("low", low), ("high", high)) if limit is not None
    }
    return dict.fromkeys(("invalid", "min_value", "max_value"), format_lazy(sentence, **words))
