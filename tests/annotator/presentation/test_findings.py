"""A document as pages show it: every finding is at one place, and nothing is left out."""

from annotator.core.checks import Finding
from annotator.presentation.dialogue import FindingView, pretty, worst
from annotator.presentation.document import present
from annotator.presentation.findings import arrange_findings, find_alike
from tests.factories import make_document


def finding(anchor, severity="error", check="test.check", value_hash="h"):
    return Finding(check=check, severity=severity, anchor=anchor, message=f"at {anchor}", value_hash=value_hash)


def test_findings_stand_where_they_mean():
    document = make_document(tasks=12)
    anchors = [
        "",
        "/env_info",
        "/tasks/t1",
        "/tasks/t1/policy",
        "/tasks/t1/steps/s0/arguments/city",
        "/tasks/t1/steps/s1",
        "/tasks/t11/user_message",
        "/tasks/gone/steps/s0",
    ]
    view = present(document, [finding(anchor) for anchor in anchors])
    first = view.tasks[0]
    assert [f.anchor for f in first.findings] == ["/tasks/t1", "/tasks/t1/policy"]
    assert [[f.anchor for f in step.findings] for step in first.steps] == [
        ["/tasks/t1/steps/s0/arguments/city"],
        ["/tasks/t1/steps/s1"],
    ]
    assert [f.anchor for f in view.tasks[10].findings] == ["/tasks/t11/user_message"]
    assert [f.anchor for f in view.general] == ["", "/env_info", "/tasks/gone/steps/s0"]
    assert len(view.findings) == len(anchors)


def test_steps_of_one_id_are_told_apart_by_their_tasks():
    view = present(make_document(tasks=3), [finding("/tasks/t2/steps/s0/text")])
    assert [len(task.steps[0].findings) for task in view.tasks] == [0, 1, 0]


def test_a_waiver_holds_for_the_value_it_was_about():
    findings = [finding("/tasks/t1", "warning", value_hash=value) for value in ("old", "new")]
    view = present(make_document(), findings, {("test.check", "/tasks/t1", "old"): "It is meant so."})
    assert [(f.value_hash, f.waiver, f.blocks) for f in view.findings] == [
        ("old", "It is meant so.", False),
        ("new", "", True),
    ]
    assert [f.value_hash for f in view.open_warnings] == ["new"]


def test_severities():
    findings = [finding("", severity) for severity in ("info", "warning", "error")]
    view = present(make_document(), findings)
    assert (len(view.errors), len(view.warnings), len(view.infos)) == (1, 1, 1)
    assert [f.blocks for f in view.findings] == [False, True, True]


def test_the_gravest_that_still_asks_for_something():
    def view(severity, waiver=""):
        return FindingView("c", severity, "", "m", "h", waiver)

    assert worst([]) == worst([view("info")]) == worst([view("warning", "fine")]) == ""
    assert worst([view("info"), view("warning")]) == "warning"
    assert worst([view("warning"), view("error", "no waiver helps")]) == "error"


def test_numbers():
    task, follow_up = present(make_document(tasks=2), []).tasks
    assert (task.number, follow_up.number) == (1, 2)
    assert [(step.number, step.id, step.type) for step in task.steps] == [(1, "s0", "call"), (2, "s1", "answer")]


def test_a_call_that_failed_says_so():
    check = finding("/tasks/t1/steps/s0/observation", "info", "trajectory.tool_error")
    task = present(make_document(), [check]).tasks[0]
    assert [step.failed for step in task.steps] == [True, False]


def test_values_as_people_read_them():
    assert pretty("just text") == "just text"
    assert pretty({"city": "根特", "n": 1.5}) == '{\n  "city": "根特",\n  "n": 1.5\n}'
    step = present(make_document(), []).tasks[0].steps[0]
    assert step.arguments_text == '{\n  "city": "Ghent"\n}'
    document = make_document()
    document["tasks"][0]["steps"][0]["observation"] = None
    assert present(document, []).tasks[0].steps[0].observation_text == ""


def test_the_list_is_sorted_by_severity_and_place_and_many_of_one_check_are_a_group():
    places = ["/tasks/t2/steps/s1/text", "/tasks/t1/steps/s0", "/tasks/t1/steps/s1", "/tasks/t1"]
    found = [
        finding("", "info", "a.note"),
        *(finding(place, "warning", "b.many") for place in places),
        finding("/tasks/t2", "warning", "c.one"),
        finding("/tasks/t1", "warning", "c.one"),
        finding("/tasks/t2/steps/s0", "error", "d.last"),
        finding("/tasks/t1/policy", "error", "d.last"),
        finding("/tasks/t2", "warning", "b.many", "waived"),
    ]
    waivers = {("b.many", "/tasks/t2", "waived"): "Wanted."}
    view = present(make_document(tasks=2), found, waivers)
    listed = arrange_findings(view)
    assert [(group.check, [one.anchor for one in group.findings]) for group in listed.groups] == [
        ("d.last", ["/tasks/t1/policy"]),
        ("d.last", ["/tasks/t2/steps/s0"]),
        ("b.many", ["/tasks/t1", "/tasks/t1/steps/s0", "/tasks/t1/steps/s1", "/tasks/t2/steps/s1/text"]),
        ("c.one", ["/tasks/t1"]),
        ("c.one", ["/tasks/t2"]),
        ("a.note", [""]),
    ]
    assert [group.many for group in listed.groups] == [False, False, True, False, False, False]
    assert [one.waiver for one in listed.waived] == ["Wanted."]
    assert listed.steps == listed.open
    assert arrange_findings(view, visits_waived=True).steps == [*listed.open, *listed.waived]
    assert [one.row for one in listed.open] == list(dict.fromkeys(one.row for one in listed.open))
    many = next(group for group in listed.groups if group.many)
    assert sorted(find_alike(view.findings, "b.many")) == sorted(
        (f.check, f.anchor, f.value_hash) for f in many.findings
    )
