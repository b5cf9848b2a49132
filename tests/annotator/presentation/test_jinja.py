"""The Jinja2 templates: what they say can be translated, and nothing that they are given becomes markup."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.utils.translation.template import templatize
from jinja2 import UndefinedError

from annotator.presentation.components.jinja import macros

FOLDER = Path(settings.BASE_DIR, "templates", "jinja2")


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.html")), ids=lambda path: path.stem)
def test_makemessages_finds_every_text_that_is_marked(path: Path) -> None:
    """It reads them as Django's templates: a text after “{{-”, or inside a call, would be passed over."""
    source = path.read_text(encoding="utf-8")
    marked = re.compile(r'\b_\(("[^"]*")\)')
    assert marked.findall(templatize(source)) == marked.findall(source)


def test_what_a_macro_is_given_is_escaped() -> None:
    assert "<b>" not in macros("badges").badge("<b>", "<b>")
    assert "<b>" not in macros("values").marked_text([(None, "<b>"), ("mark", "<b>"), ("del", "<b>"), ("ins", "<b>")])
    assert "<b>" not in macros("turns").open_link("<b>", "<b>", "<b>")
    forms, editor = macros("forms"), macros("parts", "reviews/workspace")
    assert "<b>" not in forms.edit(*["<b>"] * 4, {"<b>": "<b>"}, "<b>", "<b>", True, caller=lambda: "")
    assert "<b>" not in forms.tiles([("<b>", "<b>", "undo", "<b>")], "<b>")
    assert "<b>" not in editor.move("<b>", "<b>", "<b>", "<b>", "<b>", "<b>")
    ghost = dict.fromkeys(("label", "public_id", "detail", "shown", "by"), "<b>")
    for refused in (False, True):
        assert "<b>" not in editor.suggested([ghost | {"refused": refused}], "<b>", "<b>", {"<b>": "<b>"})


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        macros("badges").icon("no such icon")
