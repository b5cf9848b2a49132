"""The reason why an edit was refused, for the editor."""


class EditProblem(ValueError):
    """An edit that was refused: its place and a sentence that says what to do.

    ``circle``: the ids of the steps that would wait for each other, in that order; the first is also the last.
    ``field``: the name of the form field that is wrong, if the edit has the fields of a form.
    """

    def __init__(self, anchor: str, message: str, circle: tuple[str, ...] = (), field: str = "") -> None:
        super().__init__(message)
        self.anchor = anchor
        self.message = message
        self.circle = circle
        self.field = field
