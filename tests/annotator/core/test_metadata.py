"""Metadata of documents: which of a record's unknown fields are found, shown and searched."""

from annotator.core.metadata import (
    MAX_ENTRIES,
    MAX_SEARCHED,
    MAX_VALUE,
    Field,
    metadata_entries,
    metadata_fields,
    searched_metadata,
)
from annotator.core.schema.exact_json import loads
from annotator.core.search import describe_document
from tests.factories import make_document


def having(**extra):
    return make_document() | {"extra": extra}


def test_values_are_entries_and_objects_and_lists_are_opened():
    document = having(
        source="web", model={"name": "example-1", "temperature": loads("0.70"), "seed": 40}, tags=["a", "b", "a"],
        checked=True, **{"@native": {"format": "openai", "envelope": {"batch": "nine"}}},
    )  # fmt: skip
    assert metadata_entries(document) == [
        ("batch", "nine"),
        ("checked", "true"),
        ("model.name", "example-1"),
        ("model.seed", "40"),
        ("model.temperature", "0.7"),
        ("source", "web"),
        ("tags", "a"),
        ("tags", "b"),
    ]


def test_a_document_without_unknown_fields_has_none():
    document = make_document()
    assert (metadata_entries(document), metadata_fields(document), list(searched_metadata(document))) == ([], [], [])


def test_what_cannot_be_a_filter_is_left_out_of_the_entries_but_shown():
    document = having(
        long="x" * (MAX_VALUE + 1), lines="a\nb", empty="", nothing=None, spans=[{"id": 1}], huge=10**900,
        **{"a=b": "c"}, ok="x" * MAX_VALUE,
    )  # fmt: skip
    assert metadata_entries(document) == [("ok", "x" * MAX_VALUE)]
    shown = {field.key: field for field in metadata_fields(document)}
    assert shown["spans"] == Field("spans", '{"id":1}', "")
    assert shown["lines"] == Field("lines", "a\nb", "")
    assert shown["ok"].filter == f"ok={'x' * MAX_VALUE}"
    assert len(shown["huge"].text) == 500


def test_entries_depth_and_searched_characters_are_bounded():
    many = having(**{f"k{n:03}": f"v{n}" for n in range(500)}, list=["y" * 100] * 3)
    assert len(metadata_entries(many)) == MAX_ENTRIES
    deep = value = {}
    for _ in range(200):
        value["a"] = {}
        value = value["a"]
    value["b"] = "c"
    assert metadata_entries(having(deep=deep)) == []
    assert sum(map(len, searched_metadata(having(**{f"k{n}": "z" * 150 for n in range(9)})))) <= MAX_SEARCHED


def test_values_are_found_by_the_search_even_if_the_dialogue_is_long():
    document = having(source="Zebra Archive")
    document["tasks"][0]["user_message"] = " ".join(f"word{n}" for n in range(5_000))
    assert describe_document(document).search_text.split()[:2] == ["zebra", "archive"]
