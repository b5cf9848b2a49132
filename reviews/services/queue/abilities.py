"""Which dialogues are not for a person because of their languages and skills.

This applies to what people are given: the queues, plans of assignments and claims of a certain item. A slot that is
reserved for a person is theirs all the same, and so is what they have claimed already.
"""

from collections.abc import Collection, Mapping

from django.utils.translation import gettext as _

from annotator.core.abilities import Abilities
from annotator.models import Dialogue
from annotator.services.dialogues.listing import LANGUAGES
from annotator.services.dialogues.tags import read_tags
from annotator.services.history.event_chain import in_portions


def unfit(abilities: Abilities, dialogues: Collection[int]) -> dict[int, str]:
    """Return key → why it is not for a person with these abilities, as a sentence, of those dialogues that are not."""
    return unfit_for({0: abilities}, dialogues)[0]


def unfit_for(people: Mapping[int, Abilities], dialogues: Collection[int]) -> dict[int, dict[int, str]]:
    """Return the same for several people: key of a person → key of a dialogue → sentence."""
    out: dict[int, dict[int, str]] = {person: {} for person in people}
    keys, languages = sorted(set(dialogues)), dict[int, str]()
    if not any(one.restrict for one in people.values()):
        return out
    if any(one.languages for one in people.values()):
        for portion in in_portions(keys):
            languages.update(Dialogue.objects.filter(pk__in=portion).values_list("pk", "language"))
    tags = read_tags(keys) if any(one.skills for one in people.values()) else {}
    for person, abilities in people.items():
        for key in keys:
            if sentence := _sentence(abilities, languages.get(key, ""), tags.get(key, [])):
                out[person][key] = sentence
    return out


def _sentence(abilities: Abilities, language: str, tags: Collection[str]) -> str:
    # Tags are for people who oversee the project: the sentence does not name the skill.
    if abilities.lacks_language(language):
        return _("This dialogue is in %(language)s, which isn’t one of the languages set on People.") % {
            "language": LANGUAGES.get(language, language)
        }
    if abilities.missing_skills(tags):
        return _("This dialogue needs a skill that isn’t set on People.")
    return ""
