"""All keys of the pages, in one table: templates, the shortcuts dialog, the settings and the docs read it. Pure.

A key is written as scripts name it: one character ("u", "!"), "Shift+U" for a letter or a digit with Shift, a named key
("Backspace"), or two characters one after the other ("g h").
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum, auto
from functools import cache
from itertools import combinations

from annotator.core.text import Message, message
from annotator.core.text import gettext_noop as _


class Place(StrEnum):
    """Where actions are available. What is active together shares a place."""

    #: My work, the page of a project, and other pages that give the next item.
    WORK = auto()
    #: Lists and all other pages outside the workspace.
    LIST = auto()
    DISPUTE = auto()
    TREE = auto()
    #: Pages that run, play or try something.
    TRIAL = auto()
    #: The workspace: with a task, a step or the whole dialogue in the editor, with another tab, or with a dialogue that
    #: is a case, a single task or a composite.
    TASK = auto()
    STEP = auto()
    CASE = auto()
    GRAPH = auto()
    REVIEW = auto()
    PANEL = auto()
    #: While the focus is inside: a custom field of a task, the checklist, the drawing of a graph. Their keys come first
    #: there, so they may repeat keys of the page.
    FIELD = auto()
    CHECKLIST = auto()
    DRAWING = auto()


WORKSPACE = frozenset({Place.TASK, Place.STEP, Place.CASE, Place.GRAPH, Place.REVIEW, Place.PANEL})
EDITOR = frozenset({Place.TASK, Place.STEP, Place.CASE})
FOCUSED = frozenset({Place.FIELD, Place.CHECKLIST, Place.DRAWING})
PAGES = frozenset({Place.WORK, Place.LIST, Place.DISPUTE, Place.TREE, Place.TRIAL})
EVERYWHERE = PAGES | WORKSPACE
_CHECKLIST = frozenset({Place.CHECKLIST})


@dataclass(frozen=True, slots=True)
class Action:
    """What a key does. ``held``: keys that do the same with Ctrl or Cmd. ``fixed``: a person can't change its key.

    ``scripted``: no element of a page is bound to it; a script asks the shortcuts dialog for its key. Labels and groups
    are translated where they are shown.
    """

    name: str
    key: str
    label: str
    held: tuple[str, ...] = ()
    places: frozenset[Place] = frozenset()
    fixed: bool = False
    scripted: bool = False
    group: str = ""


def _group(group: str, places: frozenset[Place], *actions: Action) -> list[Action]:
    return [replace(one, group=group, places=one.places or places) for one in actions]


ACTIONS: dict[str, Action] = {
    one.name: one
    for one in [
        *_group(
            _("Everywhere"),
            EVERYWHERE,
            Action("palette", "", _("Search actions, pages and dialogues"), held=("k",), fixed=True),
            Action("shortcuts", "?", _("Show keyboard shortcuts")),
            Action(
                "submit", "", _("Submit the form, or do the page’s main action"), ("Enter",), fixed=True, scripted=True
            ),
            Action("next-place", "j", _("Go to the next place"), scripted=True),
            Action("previous-place", "k", _("Go to the previous place"), scripted=True),
            Action("last-place", "Shift+J", _("Go to the last place"), scripted=True),
            Action("first-place", "Shift+K", _("Go to the first place"), scripted=True),
            Action("undo-submit", "z", _("Take back the last review")),
            Action("close", "Escape", _("Close the open dialog or menu, or go back"), fixed=True, scripted=True),
        ),
        *_group(
            _("Go to"),
            PAGES,
            Action("go-home", "g h", _("My work")),
            Action("go-project", "g p", _("Project or projects")),
            Action("go-dialogues", "g d", _("Dialogues")),
            Action("go-statistics", "g t", _("Statistics")),
            Action("go-coverage", "g v", _("Coverage")),
            Action("go-releases", "g r", _("Releases")),
            Action("go-guideline", "g g", _("Guideline")),
            Action("go-feedback", "g f", _("Feedback")),
            Action("go-protocol", "g o", _("Protocol")),
            Action("go-people", "g e", _("People")),
            Action("go-disputes", "g x", _("Disputes")),
            Action("go-gold", "g k", _("Gold")),
            Action("go-training", "g b", _("Training")),
            Action("go-history", "g y", _("History")),
            Action("go-assignments", "g a", _("Assignments")),
            Action("go-imports", "g i", _("Imports")),
            Action("go-toolsets", "g l", _("Toolsets")),
            Action("go-composites", "g c", _("Composites")),
            Action("go-generations", "g m", _("Generations")),
            Action("go-jobs", "g j", _("Jobs")),
            Action("go-settings", "g s", _("Settings")),
            Action("go-notices", "g n", _("Notices")),
        ),
        *_group(
            _("Lists and pages"),
            frozenset({Place.LIST}),
            Action("next-item", "n", _("Continue, or start the next item"), places=frozenset({Place.WORK})),
            Action("new", "n", _("Create a new one")),
            Action("search", "/", _("Search")),
            Action("edit-page", "e", _("Edit what the page shows")),
            Action("previous-page", "[", _("Previous page"), places=frozenset({Place.LIST, Place.TRIAL})),
            Action("next-page", "]", _("Next page"), places=frozenset({Place.LIST, Place.TRIAL})),
            Action("mark-read", "a", _("Mark all as read")),
            Action("change-selected", "c", _("Change selected dialogues")),
            Action("scores", "b", _("Scores")),
            Action("entries", "v", _("Entries")),
            Action("download", "d", _("Download archive")),
            Action("next-wrong", "w", _("Next wrong entry")),
        ),
        *_group(
            _("Draft"),
            WORKSPACE,
            Action("undo", "u", _("Undo"), held=("z",)),
            Action("redo", "Shift+U", _("Redo"), held=("y", "Shift+Z")),
            Action("findings", "f", _("All findings")),
            Action("next-finding", "]", _("Next finding")),
            Action("previous-finding", "[", _("Previous finding")),
            Action("waive", "w", _("Waive the finding")),
            Action("comment", "r", _("Comment"), places=WORKSPACE | {Place.LIST}),
            Action("graph", "g", _("Tool graph of the task"), places=WORKSPACE - {Place.CASE}),
            Action(
                "reference",
                "h",
                _("Reference: guideline, tools, examples, versions"),
                places=WORKSPACE | {Place.DISPUTE},
            ),
            Action("run", "y", _("Run, replay or play the draft"), places=frozenset({Place.CASE, Place.TRIAL})),
        ),
        *_group(
            _("Item"),
            WORKSPACE,
            Action("approve", "a", _("Approve or submit fixes")),
            Action("reject", "x", _("Reject"), places=WORKSPACE | {Place.DISPUTE}),
            Action("escalate", "Shift+E", _("Escalate")),
            Action("skip", "s", _("Skip this item for now"), places=WORKSPACE | {Place.DISPUTE}),
            Action("yes", "y", _("Answer yes, or add the suggested error"), places=_CHECKLIST, scripted=True),
            Action("no", "n", _("Answer no with a note, or drop the suggestion"), places=_CHECKLIST, scripted=True),
            Action("rest-yes", "Shift+Y", _("Answer the rest of the task yes"), places=_CHECKLIST, scripted=True),
        ),
        *_group(
            _("Editor"),
            EDITOR,
            Action("first-field", "Enter", _("Go to the first field"), places=WORKSPACE, scripted=True),
            Action("edit", "e", _("Edit the selected part"), places=WORKSPACE),
            Action("delete", "Backspace", _("Delete the selected part")),
            Action("message", "m", _("The message or text")),
            Action("arguments", "v", _("The arguments"), places=EDITOR | {Place.TRIAL}),
            Action("observation", "o", _("The observation")),
            Action("dependencies", "d", _("Go to the dependencies"), places=frozenset({Place.STEP})),
            Action("add", "c", _("Choose a tool or category to add"), places=frozenset({Place.TASK, Place.CASE})),
            Action("fix-policy", "p", _("Set the policy to match the steps")),
            *[
                Action(f"policy-{n}", str(n), text, places=frozenset({Place.TASK}))
                for n, text in enumerate(
                    [_("First policy"), _("Second policy"), _("Third policy"), _("Fourth policy")], 1
                )
            ],
            *[
                Action(f"information-{n}", f"Shift+{n}", text, places=frozenset({Place.TASK}))
                for n, text in enumerate(
                    [
                        _("First kind of information"),
                        _("Second kind of information"),
                        _("Third kind of information"),
                        _("Fourth kind of information"),
                    ],
                    1,
                )
            ],
            *[
                Action(f"option-{n}", str(n), text, places=frozenset({Place.STEP, Place.CASE, Place.FIELD}))
                for n, text in enumerate(
                    [
                        _("No answer to a custom field"),
                        _("First option of a custom field"),
                        _("Second option"),
                        _("Third option"),
                        _("Fourth option"),
                        _("Fifth option"),
                        _("Sixth option"),
                        _("Seventh option"),
                        _("Eighth option"),
                        _("Ninth option"),
                    ]
                )
            ],
            Action("accept", "i", _("Accept the suggestion"), places=EDITOR | {Place.GRAPH}),
            Action("refuse", "Shift+I", _("Refuse the suggestion"), places=EDITOR | {Place.GRAPH}),
            Action("next-suggestion", "q", _("Go to the next suggestion")),
        ),
        *_group(
            _("Tool graph"),
            frozenset({Place.DRAWING}),
            Action("graph-step", "t", _("Go to the current step of the graph"), places=frozenset({Place.GRAPH})),
            Action("accept-all", "y", _("Accept all strong suggestions"), places=frozenset({Place.GRAPH})),
            Action(
                "drawing-move",
                "ArrowRight",
                _("Go to the next step in this direction (any arrow key)"),
                fixed=True,
                scripted=True,
            ),
            Action("drawing-add", "d", _("Add a dependency: go to the other step, then press Enter"), scripted=True),
            Action("drawing-lines", "e", _("Go to the step’s dependencies"), scripted=True),
            Action("drawing-kind", "l", _("Switch the dependency between value and order only"), scripted=True),
            Action(
                "drawing-remove",
                "Delete",
                _("Remove the dependency, or refuse the suggestion"),
                fixed=True,
                scripted=True,
            ),
            Action("drawing-enter", "Enter", _("Edit the step or accept the suggestion"), fixed=True, scripted=True),
        ),
        *_group(
            _("Dispute"),
            frozenset({Place.DISPUTE}),
            Action("use-left", "1", _("Use the left side")),
            Action("use-right", "2", _("Use the right side")),
            Action("use-third", "3", _("Write a third version")),
            Action("use-neither", "4", _("Use neither")),
            Action("edit-third", "e", _("Edit the third version")),
            Action("reason", "r", _("Choose a reason")),
            Action("same-reason", "a", _("Use this reason for all following places")),
            Action("edit-whole", "w", _("Edit the whole dialogue")),
            Action("waive-result", "Shift+W", _("Waive the next warning about the result")),
            Action("decision-reason", "Shift+R", _("Give the reason of the decision")),
            Action("settle-close", "c", _("Settle and close")),
            Action("next-dispute", "Shift+N", _("Next dispute")),
            Action("previous-dispute", "Shift+P", _("Previous dispute")),
        ),
        *_group(
            _("Decision tree and trials"),
            frozenset({Place.TREE}),
            Action("tree-up", "u", _("Go back one batch")),
            Action("tree-start", "Shift+U", _("Go back to the start")),
            Action("tree-back", "Backspace", _("Go back one batch")),
            Action("tree-optimal", "o", _("Switch between all branches and optimal ones")),
            Action("previous-branches", "[", _("Previous branches")),
            Action("next-branches", "]", _("Next branches")),
            Action("load-optimal", "x", _("Load an optimal path")),
            Action("trajectory", "t", _("Calls as JSON")),
            Action("back", "e", _("Back to the draft"), places=frozenset({Place.TREE, Place.TRIAL})),
            Action("try", "t", _("Try the validator"), places=frozenset({Place.TRIAL})),
        ),
    ]
}

_NAMED = "Enter|Backspace|Delete|Insert|Home|End|PageUp|PageDown|F[1-9]|F1[0-2]"
_KEY = re.compile(rf"(?:Shift\+(?:[A-Z0-9]|{_NAMED})|{_NAMED}|[^\sA-Z]|[^\sA-Z] [^\sA-Z])")
#: Characters that are an accent waiting for a letter, or part of how keys are written here.
_UNUSABLE = frozenset("´`^~¨")


def key_problem(key: str) -> Message | None:
    """Return what is wrong with a key that a person typed; None if nothing is."""
    if _KEY.fullmatch(key) and not _UNUSABLE & set(key) and key.isprintable():
        return None
    return message(
        _(
            "“%(key)s” isn’t a key. Write one character that isn’t a capital letter, Shift+ and a capital letter or a "
            "digit, a name such as Backspace, or two characters with a space between them."
        ),
        key=key[:40],
    )


def effective(own: Mapping[str, str]) -> dict[str, str]:
    """Return the key of each action, with a person's own keys; blank: it has none.

    ``own``: {action: key}. Actions that no longer exist or can't be changed are ignored.
    """
    return {name: own[name] if name in own and not action.fixed else action.key for name, action in ACTIONS.items()}


def clash(keys: Mapping[str, str]) -> tuple[str, str] | None:
    """Return two actions with the same key where both are active; None if there are none.

    ``keys``: {action: key}. A key that begins another action’s pair of keys ("g" and "g h") is the same key. Where the
    focus is inside something with keys of its own, those come first, so they clash with each other only.
    """
    for first, second in _together():
        if _same(keys[first], keys[second]):
            return first, second
    return None


def _same(one: str, other: str) -> bool:
    return bool(one and other) and (one == other or other.startswith(f"{one} ") or one.startswith(f"{other} "))


@cache
def _together() -> list[tuple[str, str]]:
    """Return the pairs of actions that can be active together."""
    return [(one.name, other.name) for one, other in combinations(ACTIONS.values(), 2) if one.places & other.places]


def check_own(own: Mapping[str, str]) -> tuple[str, Message] | None:
    """Return the first action whose own key can't be used, and why; None if all can be used."""
    for name, key in own.items():
        if name not in ACTIONS:
            return name, message(_("There is no action “%(name)s”."), name=name[:40])
        if ACTIONS[name].fixed:
            sentence = _("The key of “%(label)s” can’t be changed.")
            return name, message(sentence, label=message(ACTIONS[name].label))
        if key and (problem := key_problem(key)):
            return name, problem
    keys = effective(own)
    found = clash(keys)
    if found is None:
        return None
    changed, other = found if found[0] in own else found[::-1]
    return changed, message(
        _(
            "“%(key)s” is already the key of “%(other)s”. Choose another key for “%(label)s”, or change the other one "
            "first."
        ),
        key=keys[changed],
        other=message(ACTIONS[other].label),
        label=message(ACTIONS[changed].label),
    )
