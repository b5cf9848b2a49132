"""How much of one document is searched for the sources of its values."""

#: Characters searched for one document; what is not found until then is not known. No dialogue that a person reads
#: comes near.
MAX_WORK = 400_000_000
#: The cost, in characters, of operations dearer than reading on by a character: looking into a text at all, a place
#: that matches at first, comparing one of many dates or words with a value.
LOOK, PLACE, ITEM = 1_000, 800, 200


class Work:
    """The budget left for one document, in characters."""

    __slots__ = ("left",)

    def __init__(self, left: int = MAX_WORK) -> None:
        self.left = left

    def spend(self, characters: int) -> bool:
        """Spend that much; return whether it was still there."""
        self.left -= characters
        return self.left > 0

    @property
    def spent(self) -> bool:
        """Whether the budget is spent, so that what was not found is unknown."""
        return self.left <= 0
