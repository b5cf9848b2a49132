"""Sample values for the style guide, in the same form as real ones."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms, template
from django.utils import timezone

from annotator.core.checks import Finding
from annotator.core.schema import read_document
from annotator.core.text import Message
from annotator.models import Job
from annotator.presentation.document import present

register = template.Library()

_DOCUMENT: dict[str, Any] = {
    "kind": "multi_turn",
    "language": "en",
    "env_info": "Today is Saturday, 14 March 2026. The user is in Paris.",
    "tasks": [
        {
            "id": "t1",
            "user_message": "Find two of us a flight from Paris to Lisbon on Monday. Will it rain there?",
            "policy": "multi_tool",
            "information": "explicit",
            "steps": [
                {
                    "id": "s1",
                    "type": "call",
                    "name": "search_flights",
                    "arguments": {
                        "origin": "CDG",
                        "destination": "LIS",
                        "date": "2026-03-16",
                        "passengers": 2,
                        "refundable": False,
                        "filters": {"max_price": 420, "airlines": ["AF", "TP"]},
                    },
                    "observation": {
                        "flights": [
                            {"id": "TP433", "departs": "2026-03-16T07:05", "price": 187, "refundable": True},
                            {"id": "AF1024", "departs": "2026-03-16T09:40", "price": 212, "refundable": False},
                        ]
                    },
                    "depends_on": [],
                },
                {
                    "id": "s2",
                    "type": "call",
                    "name": "get_weather",
                    "arguments": {"city": "Lisbon", "date": "2026-03-16"},
                    "observation": {"error": "timeout after 10 s"},
                    "depends_on": [],
                },
                {
                    "id": "s3",
                    "type": "answer",
                    "text": "TP433 leaves at 07:05 for 187 € a person. It will be dry in Lisbon.",
                    "answer_type": "tool",
                    "depends_on": [{"id": "s1", "kind": "parameter"}, {"id": "s2", "kind": "parameter"}],
                },
            ],
        },
        {
            "id": "t2",
            "user_message": "Book it.",
            "policy": "clarify",
            "information": None,
            "steps": [
                {
                    "id": "s1",
                    "type": "clarification",
                    "question": "Under which names should I book the two seats?",
                    "user_reply": "Ana and Boris Duarte.",
                    "depends_on": [],
                },
                {
                    "id": "s2",
                    "type": "call",
                    "name": "book_flight",
                    "arguments": {"flight_id": "TP433", "names": ["Ana Duarte", "Boris Duarte"]},
                    "observation": None,
                    "depends_on": [{"id": "s1", "kind": "parameter"}],
                },
                {"id": "s3", "type": "answer", "text": None, "answer_type": None, "depends_on": None},
            ],
        },
    ],
}

_FINDINGS = [
    Finding(
        check="trajectory.tool_error",
        severity="warning",
        anchor="/tasks/t1/steps/s2/observation",
        message="The tool returned an error, but the answer uses its result.",
        value_hash="0000000000000000",
    ),
    Finding(
        check="schema.unknown_argument",
        severity="error",
        anchor="/tasks/t2/steps/s2/arguments/names",
        message="book_flight has no argument “names”; did you mean “passengers”?",
        value_hash="0000000000000001",
    ),
    Finding(
        check="label.long_range",
        severity="info",
        anchor="/tasks/t2/information",
        message="Everything that this task needs is in the previous exchange.",
        value_hash="0000000000000002",
    ),
]

_CODE = '''def validate(response):
    """Three sections."""
    found = response.count("## ")
    return found == 3, "Write three sections."
'''


class SampleForm(forms.Form):
    """A form with one field of each kind."""

    name = forms.CharField(label="Name", max_length=40, help_text="What it is for, such as “nightly import”.")
    address = forms.SlugField(label="Address", required=False)
    description = forms.CharField(label="Description", required=False, widget=forms.Textarea(attrs={"rows": 2}))
    zone = forms.ChoiceField(label="Time zone", choices=[("utc", "UTC"), ("paris", "Europe/Paris")])
    expires = forms.DateField(label="Expires on", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    verdict = forms.ChoiceField(
        label="Verdict",
        choices=[("approve", "Approve"), ("fix", "Approve with fix"), ("reject", "Reject"), ("escalate", "Escalate")],
        widget=forms.RadioSelect,
    )
    agreed = forms.BooleanField(label="I have read the guideline")


@register.simple_tag
def samples() -> dict[str, Any]:
    """Return everything that the style guide shows, by name."""
    now = timezone.now()
    running = Job(
        kind="import", state="running", progress_done=61_400, progress_total=100_000, progress_note="Checking",
        public_id="sample000001", started_at=now - timedelta(seconds=20),
    )  # fmt: skip
    failed = Job(
        kind="import", state="failed", progress_done=812, public_id="sample000002",
        error_message=Message(
            "Line 813 is not UTF-8. Save the file as UTF-8 and import it again. Nothing was imported."
        ),
    )  # fmt: skip
    document = read_document(_DOCUMENT)
    waivers = {("trajectory.tool_error", "/tasks/t1/steps/s2/observation", "0000000000000000"): "The timeout is meant."}
    return {
        "tones": ["neutral", "good", "warn", "bad", "info", "special"],
        "people": ["Amina Haddad", "Boris Petrov", "Chen Wei", "Reviewer A"],
        "moment": datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC),
        "view": present(document, _FINDINGS),
        "findings": present(document, _FINDINGS, waivers).findings,
        "arguments": _DOCUMENT["tasks"][0]["steps"][0]["arguments"],
        "job": running,
        "failed_job": failed,
        "form": SampleForm(initial={"name": "nightly import", "verdict": "fix"}),
        "refused_form": SampleForm({"refused-address": "not an address"}, prefix="refused"),
        "stages": [
            {"name": "Self-check", "count": 41, "note": "12 open, 3 claimed", "tone": "info", "href": "#stages"},
            {"name": "Self-check, whole", "count": 18, "note": "18 open", "tone": "info", "href": "#stages"},
            {"name": "Cross-check", "count": 27, "note": "blind, 2 reviewers", "tone": "special", "current": True},
            {"name": "Expert", "count": 6, "note": "6 escalated", "tone": "warn", "href": "#stages"},
            {"name": "Audit", "count": 4, "note": "10 % of the approved", "tone": "special"},
            {"name": "Verified", "count": 104, "note": "52 % of all", "tone": "good", "href": "#stages"},
        ],
        "shares": [("Verified", 104, "good"), ("In review", 92, "info"), ("Escalated", 6, "warn")],
        "before": "Two flights match. TP433 is the cheapest at 187 €. Shall I book it?",
        "after": "Two flights match your dates. TP433 is the cheapest at 187 €, refundable. Do you want me to book it?",
        "chinese_before": "帮我查一下明天从北京到上海的高铁票。",
        "chinese_after": "帮我查一下后天上午从北京到上海的高铁票。",
        "filter_options": [("in_review", "In review"), ("verified", "Verified")],
        "cabins": [("", "(absent)"), ("economy", "economy"), ("business", "business")],
        "filters": '{\n  "max_price": 420,\n  "airlines": ["AF", "TP"]\n}',
        "reasons": [("", "Choose…"), ("wrong_value", "Wrong value"), ("hallucination", "Value without a source")],
        "code": _CODE,
        "guideline": (
            "# Labelling\n\nA task is **clarify** when the user has not said something the tool *requires*.\n\n"
            "- Ask for everything that is missing in one question.\n- Don’t ask for what the user already said.\n\n"
            "> When in doubt, escalate.\n\n"
            "| policy | calls |\n|---|---|\n| `single_tool` | one |\n| `multi_tool` | more |\n"
        ),
    }
