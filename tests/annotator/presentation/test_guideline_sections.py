"""The section of a guideline about an error type."""

from hypothesis import given
from hypothesis import strategies as st

from annotator.core.guideline_sections import find_reference, read_sections
from annotator.presentation.markdown import render_markdown

TEXT = """Before all headings.

# Arguments

Take values from what the user said. Never invent one: an *invented* value is a **hallucinated value**.

## Dates

- Write them as in 2026-05-31.

## Dates

Once more.
"""


def test_sections_hold_the_bare_text_below_their_heading() -> None:
    sections = read_sections(TEXT)
    assert [(one.slug, one.title) for one in sections] == [
        ("s-arguments", "Arguments"), ("s-dates", "Dates"), ("s-dates-2", "Dates"),
    ]  # fmt: skip
    assert sections[1].lines == ("Write them as in 2026-05-31.",)


def test_a_named_heading_wins_then_a_heading_that_says_it_then_a_sentence() -> None:
    named = find_reference(TEXT, heading="dates", words=["hallucinated value"])
    assert named is not None
    assert (named.slug, named.sentence) == ("s-dates", "Write them as in 2026-05-31.")
    heading = find_reference(TEXT, heading="", words=["Dates"])
    assert heading is not None
    assert heading.slug == "s-dates"
    sentence = find_reference(TEXT, heading="", words=["Hallucinated value"])
    assert sentence is not None
    assert sentence.sentence == "Never invent one: an invented value is a hallucinated value."
    assert find_reference(TEXT, heading="", words=["wrong tool"]) is None


def test_headings_of_the_page_have_the_ids_that_are_linked_to() -> None:
    html = render_markdown(TEXT, anchors=True)
    for section in read_sections(TEXT):
        assert f'id="{section.slug}"' in html
    assert "id=" not in render_markdown(TEXT)


@given(st.text(max_size=300))
def test_any_text_has_sections_with_ids_of_their_own_that_the_page_has(text: str) -> None:
    slugs = [section.slug for section in read_sections(text)]
    assert len(slugs) == len(set(slugs))
    html = render_markdown(text, anchors=True)
    assert all(f'id="{slug}"' in html for slug in slugs)
