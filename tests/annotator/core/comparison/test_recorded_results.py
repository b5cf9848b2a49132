from copy import deepcopy

import pytest

from annotator.core.comparison.recorded_results import answers_another_call
from tests.factories import make_document

CALL = "/tasks/t1/steps/s0"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, False),
        ({"arguments": {"city": "Bruges"}}, True),
        ({"name": "get_tide"}, True),
        ({"arguments": {"city": "Bruges"}, "observation": {"sky": "grey"}}, False),
        ({"arguments": {"city": "Bruges"}, "observation": None}, False),
        ({"depends_on": None}, False),
    ],
)
def test_a_result_is_older_than_its_call_if_only_the_call_was_changed(change, expected):
    before = make_document()
    after = deepcopy(before)
    after["tasks"][0]["steps"][0] |= change
    assert answers_another_call(before, after, CALL) is expected
    assert not answers_another_call(before, after, "/tasks/t1/steps/new")
