"""Error types that reviewers choose from, named as in the benchmarks' error analyses."""

from annotator.core.text import gettext_noop as _
from reviews.core.protocols.protocol import ErrorType

_OTHER = ("other", _("Other"), _("Describe the error in the note."))


def _types(*rows: tuple[str, str, str]) -> tuple[ErrorType, ...]:
    return tuple(ErrorType(key=key, label=label, description=description) for key, label, description in rows)


TAXONOMY = _types(
    ("wrong_tool", _("Wrong tool"), _("A different tool in the toolset should be called.")),
    ("missing_call", _("Missing call"), _("The task can’t be completed without an additional call.")),
    ("superfluous_call", _("Unnecessary call"), _("The task can be completed without this call.")),
    (
        "wrong_argument_value",
        _("Wrong argument value"),
        _("The dialogue gives a different value for this argument."),
    ),
    (
        "hallucinated_value",
        _("Hallucinated value"),
        _("The value doesn’t appear in the dialogue and can’t be inferred from it."),
    ),
    (
        "missing_dependency",
        _("Missing dependency"),
        _("This step needs the result or the completion of an earlier step."),
    ),
    (
        "superfluous_dependency",
        _("Unnecessary dependency"),
        _("This step could run without waiting for the other one."),
    ),
    ("wrong_policy_label", _("Wrong policy label"), _("The steps follow a different policy from the label.")),
    (
        "wrong_information_label",
        _("Wrong information label"),
        _("The information isn’t hidden, or it is hidden in a different way from what the label says."),
    ),
    (
        "message_unnatural",
        _("Unnatural message"),
        _("No user would write this: for example, it names tools or mixes languages."),
    ),
    ("information_not_hidden", _("Information not hidden"), _("The message says what it should leave out.")),
    (
        "observation_implausible",
        _("Implausible observation"),
        _("The tool wouldn’t return this result for this call."),
    ),
    (
        "answer_wrong",
        _("Wrong or unsupported answer"),
        _("The answer says something that the observations don’t support, or leaves out something important."),
    ),
    (
        "clarification_wrong",
        _("Wrong clarification"),
        _("The question asks for something that is known or unnecessary, or doesn’t ask for what is missing."),
    ),
    _OTHER,
)
#: Errors in toolsets.
TOOLSET_TAXONOMY = _types(
    ("unclear_description", _("Unclear description"), _("It doesn’t say what the function or parameter does.")),
    (
        "wrong_type",
        _("Wrong type or format"),
        _("The schema allows values that the function can’t take, or the reverse."),
    ),
    (
        "wrong_required",
        _("Wrong required parameters"),
        _("A parameter is required without need, or isn’t though it is."),
    ),
    ("values_in_prose", _("Values only in prose"), _("The allowed values should be listed in the schema.")),
    ("duplicate_function", _("Duplicate function"), _("Another function of the toolset does the same.")),
    ("missing_function", _("Missing function"), _("Realistic tasks need a function that the toolset doesn’t have.")),
    _OTHER,
)
