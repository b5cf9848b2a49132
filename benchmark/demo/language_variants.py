"""A dialogue of the demo in English and Chinese. Its English text has changed since, so one place is stale."""

from annotator.models import Dialogue
from benchmark.demo.reviewing import SINGLE, Scenario, review

FILE, NAME = "variants.jsonl", "museum-visit-01"
#: Task whose answer the reviewer rewrites, and the new text.
TASK = 2
TEXT = (
    "Charts like these show water depths, currents and safe channels. Ask the guide for the sandbank that has wandered "
    "round the whole bay."
)


def play(scenario: Scenario) -> None:
    """Let a reviewer change an answer of the English variant."""
    dialogue = Dialogue.objects.select_related("head").get(project=scenario.project, variant_group=NAME, language="en")
    if dialogue.head is None:
        raise ValueError("the dialogue has just been imported")
    document = dialogue.head.document()
    document["tasks"][TASK]["steps"][-1]["text"] = TEXT
    person = scenario.annotators[2]
    review(scenario, person, dialogue, SINGLE, "fix", document=document, reason="The answer was vague.")
