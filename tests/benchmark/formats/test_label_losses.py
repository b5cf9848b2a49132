"""Labels of custom fields in other formats: the neutral one keeps them, all others name their loss."""

import pytest

from annotator.core.schema.exact_json import dumps
from benchmark.core.files.reading import RawLine
from benchmark.core.formats.converting import Converted, Converter
from tests.annotator.core.test_custom_fields import labelled
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
