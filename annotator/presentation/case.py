"""A constrained case for pages: its prompt with the constraints marked, its rounds, the state of constraints."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotator.core.comparison.anchors import below, covers
from annotator.core.constraints.anchoring import Span, stating_spans
from annotator.core.constraints.reading_case import constraints_of, replay_of
from annotator.core.constraints.replay import Replay
from annotator.core.constraints.taxonomy import find_category, proposed_text
from annotator.core.fields import CustomField
from annotator.presentation.components.labels import texts_of
from annotator.presentation.dialogue import DialogueView, FindingView, Placing, label_words, pretty, worst

SCENARIO_LABELS = texts_of("scenario")
#: The fields with an editor of their own.
FIELDS = {
    "system_prompt": gettext_noop("System prompt"),
    "user_query": gettext_noop("Query"),
    "scenario": gettext_noop("Scenario"),
    "constraints": gettext_noop("Constraints"),
    "answer": gettext_noop("Reference answer"),
    "unsolved_set": gettext_noop("Unsolved set"),
    "reference_trajectory": gettext_noop("Reference trajectory"),
    "tool_codes": gettext_noop("Tool code"),
}


@dataclass
class PartView:
    """A part of a case that can be selected. ``type`` determines its editor."""

    anchor: str
    type: str
    title: str
    data: Any
    findings: list[FindingView] = field(default_factory=list)
    is_current: bool = False

    @property
    def worst(self) -> str:
        return worst(self.findings)

    @property
    def text(self) -> str:
        """The value as a text, for a field."""
        return "" if self.data is None else pretty(self.data)


@dataclass
class CallView(PartView):
    """A call of a round."""

    #: The project's custom fields, whose titles its labels have.
    custom_fields: Sequence[CustomField] = ()

    @property
    def labels(self) -> list[str]:
        return label_words(self.data, self.custom_fields)

    @property
    def observation_text(self) -> str:
        """The result of the tool for a field: a text as it is, anything else as JSON."""
        return "" if self.data["observation"] is None else pretty(self.data["observation"])

    @property
    def observation_kind(self) -> str:
        """``text`` or ``json``; a missing observation is expected to be text."""
        return "text" if isinstance(self.data["observation"], str | None) else "json"


@dataclass
class ConstraintView(PartView):
    """A constraint. ``status``: its state after the reference trajectory; blank without one.

    ``spans``: the number of places in the system prompt that state it. ``rule``: its parameters as a sentence.
    ``proposal``: a proposed text that differs from its text.
    """

    number: int = 0
    status: str = ""
    spans: int = 0
    rule: str = ""
    proposal: str = ""

    @property
    def differs(self) -> bool:
        """Whether its text and its parameters disagree."""
        return any(one.check == "constraint.wording" for one in self.findings)

    @property
    def parameters_text(self) -> str:
        return "" if self.data["parameters"] is None else pretty(self.data["parameters"])

    @property
    def needs_validator(self) -> bool:
        category = find_category(self.data["category"])
        return self.data["validator"] is not None or bool(category and category.needs == "validator")

    @property
    def validator(self) -> dict[str, Any]:
        """The constraint's validator; one without content if it has none."""
        return self.data["validator"] or {"form": None, "function": None, "code": None}


@dataclass
class RoundView(PartView):
    """A round of the reference trajectory. ``feedback``: messages of the constraints about it."""

    number: int = 0
    calls: list[CallView] = field(default_factory=list)
    feedback: tuple[str, ...] = ()


@dataclass(frozen=True)
class PromptPiece:
    """A part of the system prompt and the constraints it states; ``ends`` are those whose span ends here."""

    text: str
    constraints: tuple[ConstraintView, ...] = ()
    ends: tuple[ConstraintView, ...] = ()


@dataclass
class CaseView(DialogueView):
    """A whole case, ready for a template. It has no tasks."""

    template: ClassVar[str] = "components/case.html"

    fields: dict[str, PartView] = field(default_factory=dict)
    constraints: list[ConstraintView] = field(default_factory=list)
    rounds: list[RoundView] = field(default_factory=list)
    pieces: list[PromptPiece] = field(default_factory=list)

    @property
    def codes(self) -> list[tuple[str, str, str]]:
        """Anchor, tool and source of each tool's code."""
        return [(below("/tool_codes", name), name, code) for name, code in self.data["tool_codes"].items()]

    @property
    def parts(self) -> Iterator[PartView]:
        """Everything that can be selected, inner parts first."""
        yield from self.constraints
        for each in self.rounds:
            yield from each.calls
            yield each
        yield from self.fields.values()

    def select(self, at: str | None) -> tuple[Any, str]:
        """See ``DialogueView``. The default is the query."""
        for part in self.parts:
            if covers(part.anchor, at or "/user_query"):
                part.is_current = True
                return part, part.anchor
        return None, "/"


def present_case(document: dict[str, Any], views: list[FindingView]) -> CaseView:
    """Arrange a case with its findings for pages."""
    placing = Placing(views)
    at = placing.take
    replayed = replay_of(document)
    prompt = document["system_prompt"] or ""
    places = [stating_spans(prompt, one) for one in constraints_of(document)]
    constraints = [_constraint(document, n, at, replayed, len(spans)) for n, spans in enumerate(places)]
    rounds = [_round(document, n, at, replayed) for n in range(len(document["reference_trajectory"] or ()))]
    fields = {
        name: PartView(f"/{name}", name, _(title), document[name], at(f"/{name}")) for name, title in FIELDS.items()
    }
    return CaseView(
        data=document,
        tasks=[],
        findings=views,
        general=placing.rest(),
        fields=fields,
        constraints=constraints,
        rounds=rounds,
        pieces=_pieces(prompt, list(zip(constraints, places, strict=True))),
    )


def _constraint(document: dict[str, Any], n: int, at: Any, replayed: Replay | None, spans: int) -> ConstraintView:
    data = document["constraints"][n]
    anchor = f"/constraints/{data['id']}"
    category = find_category(data["category"])
    proposal = proposed_text(data["category"], data["parameters"])
    return ConstraintView(
        anchor=anchor,
        type="constraint",
        title=_("Constraint %(number)d") % {"number": n + 1},
        data=data,
        findings=at(anchor),
        number=n + 1,
        status=replayed.statuses[n].value if replayed else "",
        spans=spans,
        rule=proposal if category and not category.needs else "",
        proposal=proposal if proposal != (data["text"] or "").strip() else "",
    )


def _round(document: dict[str, Any], n: int, at: Any, replayed: Replay | None) -> RoundView:
    data = document["reference_trajectory"][n]
    anchor = f"/reference_trajectory/{data['id']}"
    calls: list[CallView] = []
    for call in data["calls"]:
        place = f"{anchor}/calls/{call['id']}"
        title = _("Call %(call)d of round %(round)d") % {"call": len(calls) + 1, "round": n + 1}
        calls.append(CallView(place, "call", title, call, at(place)))
    return RoundView(
        anchor=anchor,
        type="round",
        title=_("Round %(number)d") % {"number": n + 1},
        data=data,
        findings=at(anchor),
        number=n + 1,
        calls=calls,
        feedback=replayed.turns[n].feedback if replayed else (),
    )


def _pieces(prompt: str, places: list[tuple[ConstraintView, list[Span]]]) -> list[PromptPiece]:
    """Split the prompt where the span of a constraint begins or ends; one that is stated twice is marked twice."""
    spans = [(span, one) for one, found in places for span in found]
    cuts = sorted({0, len(prompt), *(span.start for span, _ in spans), *(span.end for span, _ in spans)})
    return [
        PromptPiece(
            prompt[start:end],
            tuple(one for span, one in spans if span.start <= start and end <= span.end),
            tuple(one for span, one in spans if span.end == end),
        )
        for start, end in pairwise(cuts)
    ]
