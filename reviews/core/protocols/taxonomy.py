"""Error types that reviewers and experts name, in the words of the benchmarks' error analyses."""

from reviews.core.protocols.protocol import ErrorType

TAXONOMY: tuple[ErrorType, ...] = tuple(
    ErrorType(key=key, label=label, description=description)
    for key, label, description in (
        ("wrong_tool", "Wrong tool", "Another tool of the toolset is the one to call."),
        ("missing_call", "Missing call", "The task cannot be completed without a call that is not there."),
        ("superfluous_call", "Superfluous call", "The task is completed just as well without this call."),
        ("wrong_argument_value", "Wrong argument value", "The dialogue gives another value for this argument."),
        (
            "hallucinated_value",
            "Hallucinated value",
            "Nothing in the dialogue gives this value, nor can it be inferred.",
        ),
        ("missing_dependency", "Missing dependency", "This step needs the result, or the end, of an earlier one."),
        ("superfluous_dependency", "Superfluous dependency", "This step could run without waiting for the other."),
        ("wrong_policy_label", "Wrong policy label", "The steps follow another policy than the label says."),
        ("wrong_information_label", "Wrong information label", "What the task needs is hidden in another way, or not."),
        ("message_unnatural", "Message unnatural", "No user would write this; or tools are named, or languages mix."),
        ("information_not_hidden", "Information not hidden", "The message says what it should leave out."),
        ("observation_implausible", "Observation implausible", "The tool would not return this for that call."),
        ("answer_wrong", "Answer wrong or unsupported", "The answer says what the observations do not, or omits it."),
        (
            "clarification_wrong",
            "Clarification wrong",
            "It asks for what is known or needless, or not for what is missing.",
        ),
        ("other", "Other", "Say in the note what it is."),
    )
)
