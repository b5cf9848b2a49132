"""Fields of numbers say which numbers are allowed."""

import pytest
from django.core.exceptions import ValidationError
from django.utils.translation import override

from annotator.views.number_fields import DecimalNumberField, NumberField, WholeNumberField


@pytest.mark.parametrize(
    ("field", "typed", "says"),
    [
        (WholeNumberField(min_value=1, max_value=20_000), "0", "Enter a whole number from 1 to 20,000."),
        (WholeNumberField(min_value=1, max_value=20_000), "20001", "Enter a whole number from 1 to 20,000."),
        (WholeNumberField(min_value=1, max_value=20_000), "1.5", "Enter a whole number from 1 to 20,000."),
        (WholeNumberField(min_value=0), "-1", "Enter a whole number, 0 or more."),
        (WholeNumberField(max_value=9), "10", "Enter a whole number, 9 or less."),
        (WholeNumberField(), "ten", "Enter a whole number."),
        (NumberField(min_value=0, max_value=2.0), "2.1", "Enter a number from 0 to 2."),
        (DecimalNumberField(max_digits=9, decimal_places=4, min_value=0), "-1", "Enter a number, 0 or more."),
        (
            DecimalNumberField(max_digits=9, decimal_places=4),
            "123456",
            "Enter a number below 100,000 with at most 4 digits after the decimal point.",
        ),
        (
            DecimalNumberField(max_digits=9, decimal_places=4),
            "0.00001",
            "Enter a number below 100,000 with at most 4 digits after the decimal point.",
        ),
    ],
)
def test_a_refusal_says_which_numbers_are_allowed(field, typed, says):
    with override("en"), pytest.raises(ValidationError) as refusal:
        field.clean(typed)
    assert refusal.value.messages == [says]


def test_allowed_numbers_pass():
    assert WholeNumberField(min_value=1, max_value=3).clean("3") == 3
    assert WholeNumberField(required=False, min_value=1).clean("") is None
    assert NumberField(max_value=2).clean("0.5") == 0.5
    assert str(DecimalNumberField(max_digits=9, decimal_places=4).clean("99999.1234")) == "99999.1234"
