"""The parts pages are made of: words for values, ids for places, differences, fields."""

import html
import json
import re

import pytest
from django import forms
from django.template import Context, Template
from django.test import RequestFactory
from django.utils.safestring import mark_safe
from django.utils.translation import override
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.schema.documents import Information, Policy
from annotator.models import JobState, Role
from annotator.models.content import DialogueStatus
from annotator.presentation.components.anchors import dom_id
from annotator.presentation.components.icons import ICONS
from annotator.presentation.components.jinja import macros
from annotator.presentation.components.json_text import folded, pretty_json
from annotator.presentation.components.labels import LABELS, Label, label_of
from annotator.presentation.components.marking import Mark, marked_json
from benchmark.models import ReleaseState
from reviews.models import ClaimState, SlotState, Verdict

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def render(source: str, **context: object) -> str:
    request = RequestFactory().get("/?status=open&cursor=abc")
    return Template("{% load components %}" + source).render(Context({"request": request, **context}))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("policy", Policy),
        ("information", Information),
        ("status", DialogueStatus),
        ("job", JobState),
        ("role", Role),
        ("slot", SlotState),
        ("claim", ClaimState),
        ("verdict", Verdict),
        ("release", ReleaseState),
    ],
)
def test_every_value_has_a_label(kind, values):
    assert {str(value.value) for value in values} <= set(LABELS[kind])


def test_every_label_names_a_tone_and_an_icon_that_exist():
    labels = [label for kind in LABELS.values() for label in kind.values()]
    assert {label.tone for label in labels} <= {"good", "warn", "bad", "info", "special", "neutral"}
    assert {label.icon for label in labels if label.icon} <= set(ICONS)


def test_a_value_nobody_described_is_shown_in_its_own_words():
    assert label_of("outcome", "back_to_author").text == "Back to author"


def test_null_is_said_not_left_blank():
    assert label_of("information", None).text == "Information not annotated"


def test_a_tag_escapes_what_it_is_given_even_after_the_same_text_marked_safe():
    assert "<i>" not in render("{% badge text %}", text=mark_safe("<i>x</i>"))
    assert "&lt;i&gt;x" in render("{% badge text %}", text="<i>x</i>")


@given(st.text(), st.text())
def test_places_differ_when_anchors_do(one, other):
    assert (dom_id(one) == dom_id(other)) == (one == other)


@given(st.text())
def test_a_place_needs_no_escaping_in_a_selector(anchor):
    assert re.fullmatch(r"at[A-Za-z0-9_-]*", dom_id(anchor))


def test_a_difference_shows_what_was_taken_away_and_what_came():
    html_text = Template('{% load components %}{% text_diff "book <it> now" "book them now" %}').render(Context())
    assert "book <del>&lt;it&gt;</del> now" in html_text
    assert "book <ins>them</ins> now" in html_text


@given(JSON)
def test_shown_json_is_the_value(value):
    assert json.loads(pretty_json(value)) == value


def as_read(shown):
    """Return the text of a value's HTML, which is what is copied."""
    return html.unescape(re.sub(r"<[^>]*>", "", shown))


@given(JSON)
def test_a_value_is_shown_as_its_escaped_text(value):
    assert as_read(macros("values").json(value)) == pretty_json(value)


@given(st.recursive(st.integers(), lambda one: st.lists(one, max_size=30) | st.dictionaries(st.text("ab"), one)))
def test_a_folded_value_is_the_same_text(value):
    parts = folded(pretty_json(value))
    assert "".join(part.text for part in parts) == pretty_json(value)
    assert all(part.text.count("\n") == part.lines for part in parts if part.lines)
    assert as_read(macros("values").json(value)) == pretty_json(value)


def test_a_long_list_is_folded_after_its_first_items():
    rows = [{"flight": f"XQ{number}", "from": "Lisbon", "to": "Bergen Flesland"} for number in range(6)]
    page = macros("values").json({"flights": rows, "total": 6})
    before, after = page.split('<span class="folded" hidden="until-found">')
    inside, rest = after.split("\n</span>")
    assert [name for name in map(str, range(6)) if f"XQ{name}" in before] == ["0", "1"]
    assert [name for name in map(str, range(6)) if f"XQ{name}" in inside] == ["2", "3", "4", "5"]
    assert 'aria-label="20 more lines"' in before
    assert "total" in rest
    # A list that would hide only a few lines, and an object of any length, show whole.
    assert "folded" not in macros("values").json(rows[:3])
    assert "folded" not in macros("values").json({f"name {number}": "Bergen Flesland" for number in range(60)})


def test_what_is_marked_is_not_folded():
    rows = [{"flight": f"XQ{number}", "from": "Lisbon", "to": "Bergen Flesland"} for number in range(6)]
    assert "folded" in marked_json(rows, [Mark(None, "/1/flight")])
    assert "folded" not in marked_json(rows, [Mark(None, "/5/flight")])


def test_short_values_stay_on_one_line():
    assert pretty_json({"city": "Lisbon", "days": [1, 2]}) == '{"city": "Lisbon", "days": [1, 2]}'


def test_only_a_long_value_takes_the_focus():
    assert "tabindex" not in render("{% json_block value 'x' %}", value={"a": 1})
    assert 'tabindex="0"' in render("{% json_block value 'x' %}", value=list(range(1000)))


class _Form(forms.Form):
    name = forms.CharField(label="Name", help_text="What it is for.")
    note = forms.CharField(label="Note", required=False)


def test_a_field_points_at_its_hint_and_its_error():
    text = render("{% form_fields form %}", form=_Form({}))
    described = re.search(r'aria-describedby="([^"]+)"', text)
    assert described is not None
    assert described[1].split() == ["id_name_helptext", "id_name_error"]
    assert all(f'id="{one}"' in text for one in described[1].split())
    assert 'href="#id_name"' in text  # the summary leads to the field


def test_a_field_that_may_stay_empty_says_so():
    assert render("{% field form.note %}", form=_Form()).count("optional") == 1


def test_a_table_has_a_name_and_a_head_for_each_column():
    source = '{% table label=name %}{% heads %}{% th first "B" css="number" %}{% endheads %}<tr></tr>{% endtable %}'
    text = " ".join(render(source, name='"All"', first="<A>").split())
    assert 'tabindex="0" role="group" aria-label="&#34;All&#34;"' in text
    assert '<th scope="col" class="number">&lt;A&gt;</th>' in text
    assert '<th scope="col" class="number">B</th>' in text
    assert text.count("<tr>") == 2
    assert 'aria-labelledby="people"' in render('{% table labelledby="people" %}{% endtable %}')


def test_a_notice_has_the_icon_of_its_tone_unless_it_names_another():
    def icons(source):
        return re.findall(r'path d="([^"]+)"', render(f"{source}<b>x</b>{{% endnotice %}}"))

    assert icons('{% notice "warn" %}') == [ICONS["warning"]]
    assert icons('{% notice "warn" icon="stop" %}') == [ICONS["stop"]]
    assert icons('{% notice "warn" icon="" %}') == []
    assert icons('{% notice "info" dismissible=True %}') == [ICONS["info"], ICONS["cross"]]
    assert "<b>x</b>" in render('{% notice "good" %}<b>x</b>{% endnotice %}')


def test_a_choice_may_be_left_blank():
    text = render('{% input "kind" "Kind" chosen "select" options=kinds blank="Any" %}', chosen="b", kinds=["ab", "bc"])
    assert re.findall(r'<option value="(\w*)"( selected)?>(\w+)<', text) == [
        ("", "", "Any"),
        ("a", "", "b"),
        ("b", " selected", "c"),
    ]


def test_shares_fill_the_bar():
    text = render("{% proportions rows 'Dialogues' %}", rows=[("a", 1, "good"), ("b", 3, "bad"), ("c", 0, "info")])
    assert re.findall(r'width="([\d.]+)"', text) == ["25.000", "75.000", "0.000"]


def test_nothing_is_shared_out_without_a_division_by_zero():
    assert 'width="0.000"' in render("{% proportions rows 'Dialogues' %}", rows=[("a", 0, "good")])


def test_markdown_cannot_bring_a_script():
    assert "<script" not in render("{{ text|markdown }}", text="<script>alert(1)</script> **bold**")


few_words = st.lists(st.sampled_from(["a", "b", "c.", "<d>"]), max_size=6).map(" ".join)


@given(before=few_words, after=few_words)
def test_a_change_in_one_piece_spells_both_texts(before: str, after: str) -> None:
    shown = str(
        Template("{% load components %}{% inline_diff before after %}").render(
            Context({"before": before, "after": after})
        )
    )
    assert html.unescape(re.sub(r"<ins>.*?</ins>|</?del>", "", shown)) == before
    assert html.unescape(re.sub(r"<del>.*?</del>|</?ins>", "", shown)) == after


def test_a_tag_is_in_the_language_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LABELS["policy"], "first", Label("Monday"))
    for language, word in (("de", "Montag"), ("en", "Monday")):
        with override(language):
            assert word in render('{% tag "policy" "first" %}')


@pytest.mark.parametrize(
    ("value", "shown"), [(["a"], "[&#x27;a&#x27;]"), (1, "1"), (True, "True"), (None, "Policy not annotated")]
)
def test_a_tag_shows_any_value_of_a_document(value: object, shown: str) -> None:
    assert shown in render('{% tag "policy" value %}', value=value)


def test_a_form_that_saves_itself_escapes_its_addresses() -> None:
    source = '<form {% autosave url "#x" anchor %}>'
    assert "<b>" not in render(source, url="<b>", anchor='"<b>')
    assert "data-anchor" not in render(source, url="/x/", anchor=None)


def test_a_form_of_the_workspace_says_what_it_edits() -> None:
    context = {"edit_url": "/edit/", "csrf_token": "secret", "anchor": "/<b>"}
    page = render('{% edit "set" anchor saves="/c" at=None value="" by=-1 %}<p>{% endedit %}', **context)
    for part in ('action="/edit/"', 'data-anchor="/&lt;b&gt;/c"', 'class="form"', "needs-no-script", "<p>"):
        assert part in page
    token, *inputs = re.findall(r'<input type="hidden" name="(\w+)" value="(.*?)">', page)
    assert token == ("csrfmiddlewaretoken", "secret")
    assert inputs == [("op", "set"), ("anchor", "/&lt;b&gt;"), ("value", ""), ("by", "-1")]
    page = render('{% edit url="/undo/" at="/" css="row" %}<p>{% endedit %}', **context)
    for part in ('action="/undo/"', 'class="row"'):
        assert part in page
    for part in ("data-anchor", "id=", 'name="op"', 'name="anchor"', "needs-no-script"):
        assert part not in page
