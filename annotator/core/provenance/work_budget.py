"""The limit on searching one document for the sources of its values."""

#: Characters searched for one document; values not found until then are unknown. Far above any dialogue that a person
#: reads.
MAX_WORK = 400_000_000
#: The cost, in characters, of more expensive operations: opening a text, a place whose beginning matches, comparing one
#: of many dates or words with a value.
LOOK, PLACE, ITEM = 1_000, 800, 200


class Work:
    """The budget left for one document, in characters."""

    __slots__ = ("left",)

    def __init__(self, left: int = MAX_WORK) -> None:
        self.left = left

    def spend(self, characters: int) -> bool:
        """Spend an amount; return whether it was available."""
        self.left -= characters
        return self.left > 0

    @property
    def spent(self) -> bool:
        """Whether the budget is spent, so that missing values are unknown."""
        return self.left <= 0
