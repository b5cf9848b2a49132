"""What a person can work on: languages, and skills that the tags of a dialogue ask for."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

#: A tag with this prefix asks for the skill that follows it: “skill-medicine” for “medicine”.
PREFIX = "skill-"
#: The most languages, and the most skills, of one person.
MAX_LANGUAGES, MAX_SKILLS = 20, 50


@dataclass(frozen=True)
class Abilities:
    """A person's languages and skills in one project. Empty: nothing is restricted."""

    languages: frozenset[str] = frozenset()
    skills: frozenset[str] = frozenset()

    @property
    def restrict(self) -> bool:
        """Return whether the person does not get everything."""
        return bool(self.languages or self.skills)

    def lacks_language(self, language: str) -> bool:
        """Return whether a dialogue in this language is not for them. Blank: the dialogue has none, so it is."""
        return bool(self.languages and language) and language not in self.languages

    def missing_skills(self, tags: Iterable[str]) -> list[str]:
        """Return the skills, by name, that a dialogue with these tags asks for and that they don't have."""
        return sorted(required_skills(tags) - self.skills) if self.skills else []


ANYTHING = Abilities()


def required_skills(tags: Iterable[str]) -> set[str]:
    """Return the skills that a dialogue with these tags asks for."""
    return {tag.removeprefix(PREFIX) for tag in tags if tag.startswith(PREFIX) and tag != PREFIX}


def tags_of(skills: Collection[str]) -> list[str]:
    """Return the tags that ask for these skills, by name."""
    return sorted(PREFIX + skill for skill in skills)
