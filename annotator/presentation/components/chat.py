"""A multi-turn dialogue, to read, as HTML: what stands at every task, step and value.

Functions, no templates: a page holds hundreds of these pieces and is read by everybody who reviews the dialogue. Every
text goes through ``escape``, and everything returned is finished HTML.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import quote

from annotator.presentation.components.anchors import dom_id, text_dom_id
from annotator.presentation.components.json_text import json_html
from annotator.presentation.components.labels import Label, label_of
from annotator.presentation.components.signs import ICON_HTML, badge_html, coded_html
from annotator.presentation.dialogue import DialogueView, StepView, TaskView

#: A value with more lines than this scrolls in a region of its own, which then takes the focus.
_MAX_LINES = 12
_ROLE_ICONS = {
    "user": "person", "call": "tool", "clarification": "question", "answer": "answer", "system": "info",
}  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """How a dialogue is shown: its language, and where its links lead to (see the tag ``dialogue_view``)."""

    language: str = ""
    links: str = ""
    paths: str = ""
    paths_query: str = ""


#: The talk so far has texts alone; what else a message of it held stays with the native record.
_NO_TEXT = {"assistant": "No text. If this turn called tools, the record keeps the calls; they are not shown here."}


def dialogue_html(view: DialogueView, how: Reading) -> str:
    """The environment, earlier messages and every task."""
    out = []
    if view.data["env_info"]:
        text = turn_text("/env_info", view.data["env_info"])
        out.append(turn_html("system", "Environment", text, language=how.language))
    for n, message in enumerate(view.data["context"]):
        text = turn_text(f"/context/{n}/content", message["content"], _NO_TEXT.get(message["role"], "No text."))
        role, note = message["role"], "before the first task"
        out.append(turn_html(role, role[:1].upper() + role[1:], text, note=note, language=how.language))
    return "\n".join(out + [task_html(task, how) for task in view.tasks])


def task_html(task: TaskView, how: Reading) -> str:
    """A task: what the user says, then its steps."""
    place, data = dom_id(task.anchor), task.data
    head = f'<h2 id="{place}-title">Task {task.number}</h2>\n{coded_html("policy", data["policy"])} '
    head += f"{coded_html('information', data['information'])} "
    if task.topology:
        head += coded_html("topology", task.topology)
    if how.paths and task.has_calls:
        head += (
            f' <a class="tree-link" href="{escape(how.paths)}{escape(task.id)}/paths/{escape(how.paths_query)}">'
            f'{ICON_HTML["mixed"]} Decision tree<span class="visually-hidden"> of task {task.number}</span></a>'
        )
    out = [
        f'<article class="task" id="{place}" aria-labelledby="{place}-title">',
        f'<header class="task-head">{head}</header>',
    ]
    if data["env_info"]:
        text = turn_text(f"{task.anchor}/env_info", data["env_info"])
        out.append(turn_html("system", "Environment", text, note="at this task", language=how.language))
    said = f"{task.anchor}/user_message"
    text = turn_text(said, data["user_message"]) + _edit_link(how, task.anchor, f"task {task.id}")
    out.append(
        turn_html("user", "User", text, id=dom_id(said), language=how.language, current=task.is_current)
        + findings_html(task.findings)
    )
    out += [_STEPS[step.type](step, task, how) for step in task.steps]
    return "\n".join([*out, "</article>"])


def _call(step: StepView, task: TaskView, how: Reading) -> str:
    data = step.data
    failed = f" {badge_html(Label('Tool error', 'bad', 'error'))}" if step.failed else ""
    if data["observation"] is None:
        observation = '<span class="missing">Not annotated</span>'
    else:
        place = text_dom_id(f"{step.anchor}/observation")
        observation = block_html(json_html(data["observation"]), f"Observation of {step.id}", "json", place)
    arguments = block_html(json_html(data["arguments"]), f"Arguments of {step.id}", "json")
    content = (
        f'\n<div class="row">{depends_html(step, task)}{failed}{_edit_step(how, step, task)}</div>\n'
        f'<div class="io"><div><h3>Arguments</h3>{arguments}</div>'
        f"<div><h3>Observation</h3>{observation}</div></div>\n{findings_html(step.findings)}\n"
    )
    return _step_turn("call", data["name"], content, step)


def _clarification(step: StepView, task: TaskView, how: Reading) -> str:
    question = turn_text(f"{step.anchor}/question", step.data["question"], "Question not annotated")
    reply = turn_text(f"{step.anchor}/user_reply", step.data["user_reply"], "Reply not annotated")
    asked = _step_turn("clarification", "Clarification", _said(question, step, task, how), step, how.language)
    return asked + turn_html("user", "User", reply, note="reply", language=how.language)


def _answer(step: StepView, task: TaskView, how: Reading) -> str:
    text = turn_text(f"{step.anchor}/text", step.data["text"], "Answer not annotated")
    return _step_turn("answer", "Answer", _said(text, step, task, how), step, how.language)


_STEPS = {"call": _call, "clarification": _clarification, "answer": _answer}


def _said(text: str, step: StepView, task: TaskView, how: Reading) -> str:
    row = f'<div class="row">{depends_html(step, task)}{_edit_step(how, step, task)}</div>'
    return f"\n{text}\n{row}\n{findings_html(step.findings)}\n"


def _step_turn(role: str, who: str, content: str, step: StepView, language: str = "") -> str:
    place = dom_id(step.anchor)
    return turn_html(role, who, content, id=place, note=step.id, language=language, current=step.is_current)


def _edit_step(how: Reading, step: StepView, task: TaskView) -> str:
    return _edit_link(how, step.anchor, f"{step.id} of task {task.id}")


def _edit_link(how: Reading, anchor: str, what: str) -> str:
    return edit_link(how.links, anchor, what) if how.links else ""


# --- pieces that templates have tags for -----------------------------------------------------------------------------


def turn_html(
    role: str,
    who: str,
    content: str,
    *,
    id: str = "",
    note: str = "",
    language: str = "",
    walk: bool = True,
    current: bool = False,
) -> str:
    """A turn of the chat around its content, which is HTML; see the tag ``turn``."""
    attributes = (
        (f' id="{escape(id)}"' if id else "")
        + (' data-nav-item tabindex="-1"' if walk else "")
        + (f' lang="{escape(language)}"' if language else "")
        + (' aria-current="true"' if current else "")
    )
    icon = ICON_HTML[_ROLE_ICONS.get(role, "assistant")]
    noted = f" <span>{escape(note)}</span>" if note else ""
    return (
        f'<div class="turn {escape(role)}"{attributes}><div class="turn-head">'
        f'<span class="who">{icon} {escape(who)}</span>{noted}</div>{content}</div>'
    )


def turn_text(anchor: str, text: str | None, missing: str = "") -> str:
    """A text of a turn, at its anchor. ``missing``: what to say where there is none."""
    words = escape(text or "") if text or not missing else f'<span class="missing">{missing}</span>'
    return f'<p class="turn-text" id="{text_dom_id(anchor)}">{words}</p>'


def edit_link(links: str, anchor: str, what: str) -> str:
    """Opens a place in the editor beside the dialogue. ``links``: the page's URL; ``what``: the place in words."""
    url = escape(f"{links}?at={quote(anchor, safe='')}")
    return (
        f'<a class="open-link" href="{url}" hx-get="{url}" hx-target="#edit-note" hx-swap="innerHTML" '
        'hx-replace-url="true" data-key="e" data-key-label="Edit what has the focus" data-key-group="Dialogue">'
        f'Edit<span class="visually-hidden"> {escape(what)}</span></a>'
    )


def depends_html(step: StepView, task: TaskView) -> str:
    """What a step depends on."""
    if step.depends_on is None:
        words = '<span class="missing">Dependencies not annotated</span>'
    elif not step.depends_on:
        words = "Depends on nothing"
    else:
        words = "After " + ", ".join(
            f'<a href="#{dom_id(task.anchor + "/steps/" + dep["id"])}">{escape(dep["id"])}</a>'
            + (" (order only)" if dep["kind"] == "logical" else "")
            for dep in step.depends_on
        )
    return f'<p class="depends muted">{words}</p>'


def block_html(html: str, label: str, css: str, id: str = "") -> str:
    """A value or a text as it is, in the fixed-width face; ``label`` names it where it scrolls and takes the focus."""
    scrolls = html.count("\n") >= _MAX_LINES or len(html) > 90 * _MAX_LINES
    region = f' tabindex="0" role="group" aria-label="{escape(label)}"' if scrolls else ""
    named = f' id="{escape(id)}"' if id else ""
    return f'<pre class="{css}"{named}{region}>{html}</pre>'


def findings_html(found: Iterable[Any], *, links: bool = False, places: bool = False, empty: str = "") -> str:
    """Findings, one below the other; see the tag ``findings``."""
    rows = [_finding(one, links, places) for one in found]
    if rows:
        return f'<ul class="findings">{"".join(rows)}\n</ul>'
    return f'<p class="muted">{escape(empty)}</p>' if empty else ""


def _finding(one: Any, links: bool, places: bool) -> str:
    label, waiver = label_of("severity", one.severity), getattr(one, "waiver", "")
    place = escape(getattr(one, "place", ""))
    about = f"<span>At {place}</span>" if places and place else ""
    about += f"<span>Reason: {escape(waiver)}</span>" if waiver else ""
    if links and one.anchor:
        about += f'<a href="#{dom_id(one.anchor)}">Go to {place or "the place"}</a>'
    check = getattr(one, "check_id", "") or getattr(one, "check", "")
    return (
        f'\n<li class="finding tone-{label.tone}{" waived" if waiver else ""}">{ICON_HTML[label.icon]}\n'
        f'<div><span class="severity">{label.text}{", waived" if waiver else ""}:</span> {escape(one.message)}</div>\n'
        f'<div class="about">{about}<code>{escape(check)}</code></div>\n</li>'
    )
