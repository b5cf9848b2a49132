"""Input made while an answer is on its way stays: no answer overwrites what was changed since."""

import pytest
from playwright.sync_api import expect

from annotator.models import Draft
from annotator.services.dialogues.drafts import edit_draft
from tests.journeys.browser_window import hold
from tests.journeys.test_case_editor import desk_at
from tests.journeys.workspaces import CALL, start_self_check, steps_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def parameters(number=0):
    return Draft.objects.get().document()["constraints"][number]["parameters"]


@pytest.mark.parametrize("sent", [False, True], ids=["while typing", "after leaving the field"])
def test_a_refusal_leaves_what_was_typed_in_the_field_beside_it(window_of, team, page_problems, sent):
    """“75” became “505”: the refusal of one field put the form back as it had been sent."""
    page_problems.allow("status of 422")
    window = desk_at(window_of, team, "/constraints/c0")
    page, note = window.page, window.page.locator("#edit-note")
    most, least = window.inspector.get_by_label("At most"), window.inspector.get_by_label("At least")
    most.fill("x")
    release_requests = hold(page, lambda: most.press("Tab"))
    least.fill("")
    least.press("1")
    if sent:
        least.press("Tab")  # waits to be sent
    release_requests()
    expect(note).to_contain_text("At most: Enter a whole number")
    expect(least).to_have_value("1")
    least.press("End")
    least.press("2")
    expect(least).to_have_value("12")
    expect(most).to_have_value("x")
    most.fill("40")
    most.press("Tab")
    window.expect_state("saved")
    assert parameters() == {"min_callTimes": 12, "max_callTimes": 40}
    expect(note).to_have_text("")


def test_no_answer_takes_away_what_was_chosen_since(window_of, team, page_problems):
    """A select fell back to what it had shown, and that was stored with the next change."""
    page_problems.allow("status of 422")
    window = desk_at(window_of, team, "/constraints/c3")
    page, form = window.page, window.inspector.locator("#f-parameters")
    most, unit = form.get_by_label("At most"), form.get_by_role("combobox")
    other = unit.locator("option:not(:checked)").last.get_attribute("value")
    new = window.inspector.locator("#f-add-constraint select")
    most.fill("x")
    release_requests = hold(page, lambda: most.press("Tab"))
    unit.select_option(other)
    release_requests()
    expect(page.locator("#edit-note")).to_contain_text("At most: Enter a whole number")
    expect(unit).to_have_value(other)
    most.fill("7")
    release_requests = hold(page, lambda: most.press("Tab"))
    # Its own button sends this one.
    new.select_option("sequential dependencies")
    release_requests()
    window.expect_state("saved")
    expect(unit).to_have_value(other)
    expect(new).to_have_value("sequential dependencies")
    assert parameters(3) | {"max_responseLength": 7, "unit": other} == parameters(3)


def test_a_form_that_an_answer_makes_anew_holds_what_was_typed_meanwhile(window_of, team):
    """It showed what was stored, and typing more saved a mixture of both."""
    window = start_self_check(window_of, team)
    window.open_place(CALL)
    page, kind = window.page, window.page.locator("#f-observation select[name=as], #f-observation input[name=as]")
    city = page.locator("#f-arguments [name='arg:/city']")
    release_requests = hold(page, lambda: kind.select_option("text"))
    city.fill("")
    city.press("G")
    release_requests()
    expect(page.locator("#f-observation textarea#observation")).to_be_visible()
    assert city.input_value() == "G"
    city.press("End")
    city.press("o")
    city.press("Tab")
    window.expect_state("saved")
    assert steps_of(team)[0]["arguments"]["city"] == "Go"


def test_the_decision_between_two_windows_leaves_what_was_typed_in_the_field_beside_it(window_of, team, page_problems):
    page_problems.allow("status of 409")
    window = start_self_check(window_of, team)
    window.open_place(CALL)
    page = window.page
    city, day = (page.locator(f"#f-arguments [name='arg:/{name}']") for name in ("city", "date"))

    def in_another_window(city):
        draft = Draft.objects.get()
        value = steps_of(team)[0]["arguments"] | {"city": city}
        operation = {"op": "set_arguments", "anchor": "/tasks/t1/steps/s0", "value": value}
        edit_draft(actor=team.annotator, draft=draft, operation=operation, seen=draft.version, edit_id=city)

    in_another_window("Bruges")
    city.fill("Ghent")
    release_requests = hold(page, lambda: city.press("Tab"))
    day.fill("2026-05")
    release_requests()
    window.expect_state("conflict")
    expect(day).to_have_value("2026-05")
    mine = page.get_by_role("button", name="Use mine")
    in_another_window("Antwerp")
    with window.saving(status=409):
        mine.click()
    expect(page.locator("[data-merge]")).to_contain_text("Antwerp")
    expect(mine).to_have_count(1)
    release_requests = hold(page, mine.click)
    day.press("End")
    day.press_sequentially("-04")
    release_requests()
    day.press("Tab")
    window.expect_state("saved")
    expect(day).to_have_value("2026-05-04")
    assert steps_of(team)[0]["arguments"] == {"city": "Ghent", "date": "2026-05-04"}


def test_a_field_put_right_before_its_refusal_comes_is_saved(window_of, team, page_problems):
    """The refused word came back into the field, and “Not saved” stayed."""
    page_problems.allow("status of 422")
    window = desk_at(window_of, team, "/constraints/c0")
    most = window.inspector.get_by_label("At most")
    most.fill("x")
    release_requests = hold(window.page, lambda: most.press("Tab"))
    most.fill("3")
    most.press("Tab")
    release_requests()
    window.expect_state("saved")
    expect(most).to_have_value("3")
    expect(window.inspector.get_by_role("button", name="Discard")).to_have_count(0)
    assert parameters()["max_callTimes"] == 3
