"""Which fields that Assay does not know an edit drops: as docs/formats.md has it."""

import copy
from typing import Any

from benchmark.core.formats.outdated_remainder import forget_outdated
from tests.factories import make_document


def kept(before: dict[str, Any], after: dict[str, Any]) -> tuple[Any, ...]:
    result = forget_outdated(after, before)
    steps = result["tasks"][0]["steps"]
    return result["extra"], *(part["extra"] for part in (*result["tasks"], *steps))


def test_an_edit_drops_what_holds_the_old_value_anywhere_and_all_of_the_edited_step() -> None:
    before = make_document("x", tasks=2)
    before["extra"] = {"home": "Ghent X", "list": ["a", {"b": "Ghent x"}], "note": "In Ghent x, today.", "n": "x"}
    before["tasks"][1]["extra"] = {"town": "ghent_x"}
    before["tasks"][0]["steps"][0]["extra"] = {"any": "thing"}
    before["tasks"][0]["steps"][1]["extra"] = {"any": "thing"}
    edited = copy.deepcopy(before)
    edited["tasks"][0]["steps"][0]["arguments"]["city"] = "Bruges"
    own = {"note": "In Ghent x, today.", "n": "x"}
    assert kept(before, edited) == (own, {}, {}, {}, {"any": "thing"})
    # Said elsewhere in the dialogue, it was not edited away.
    edited["tasks"][1]["user_message"] = "Ghent x"
    assert kept(before, edited) == (before["extra"], {}, {"town": "ghent_x"}, {}, {"any": "thing"})


def test_another_dependency_drops_nothing() -> None:
    before = make_document("x")
    before["tasks"][0]["steps"][1]["extra"] = {"any": "thing"}
    edited = copy.deepcopy(before)
    edited["tasks"][0]["steps"][1]["depends_on"] = []
    assert kept(before, edited)[-1] == {"any": "thing"}
