"""Labels of custom fields in other formats: the neutral one keeps them, all others name their loss."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from annotator.core.schema.exact_json import dumps
from benchmark.core.files.reading import RawLine
from benchmark.core.formats import FORMATS
from benchmark.core.formats.converting import Converted, Converter
from benchmark.core.formats.outdated_remainder import forget_outdated
from tests.annotator.core.test_custom_fields import labelled
from tests.benchmark.formats.format_records import c3_record, wild_record
from tests.factories import WEATHER_TOOLS, make_document


def converted(target: str) -> Converted:
    document = labelled({"difficulty": "hard"}, make_document())
    line = dumps({"id": "d", "document": document, "tools": WEATHER_TOOLS})
    return Converter("neutral", target).convert(RawLine(1, "", line, len(line), True))


def test_the_neutral_format_keeps_labels() -> None:
    done = converted("neutral")
    assert (done.problems, done.losses) == ([], [])
    assert '"labels":{"difficulty":"hard"}' in done.lines[0]


@pytest.mark.parametrize("target", ["c3", "wild", "openai"])
def test_other_formats_name_the_loss(target: str) -> None:
    done = converted(target)
    assert done.problems == []
    assert [loss.pointer for loss in done.losses if "labels" in loss.pointer] == ["/tasks/t1/labels/difficulty"]


@pytest.mark.parametrize("record", [c3_record, wild_record])
def test_a_label_leaves_the_native_record_as_it_is(record: Callable[[], Any]) -> None:
    name = record.__name__.removesuffix("_record")
    before = FORMATS[name].read(record())[0].document
    labelled_before, labelled_after = copy.deepcopy(before), copy.deepcopy(before)
    for document, value in ((labelled_before, "easy"), (labelled_after, "hard")):
        task = document["tasks"][0]
        for part in (document, task, *(step for step in task["steps"] if step["type"] != "clarification")):
            part["labels"] = {"difficulty": value}
            part["extra"]["note"] = "easy"
    assert forget_outdated(labelled_after, labelled_before) == labelled_after
    before_labels = copy.deepcopy(before)
    before_labels["tasks"][0]["labels"] = {"difficulty": "hard"}
    assert forget_outdated(before_labels, before) == before_labels
