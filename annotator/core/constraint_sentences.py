"""Sentences about constraints (``annotator/core/constraints``), as patterns for translation: see ``sentences.py``."""

from annotator.core.text import gettext_noop as _

#: Of the construction of cases (``annotator/core/case_construction``).
_CONSTRUCTION = (
    _("Only constrained cases have a query, a reference trajectory and the code of tools."),
    _("The case has no query."),
    _("The case has no reference answer."),
    _("The case does not say what its tools must return."),
    _("The case has no reference trajectory."),
    _("The reference trajectory has no call, or no accepted response at its end."),
    _("The constraints of the case cannot be read, so its trajectory cannot be judged."),
    _("The tool %(tool)s has no code."),
    _("The reference trajectory does not solve the query: no call of %(tool)s returns “%(text)s”."),
    _("The scenario has a single hop, so there is no order of calls."),
    _("The scenario has no parallel calls."),
    _("The trajectory calls no tool of the toolset."),
    _("The trajectory first calls all its tools in one round."),
    _("The trajectory has no two tools that it only calls together."),
    _("The trajectory makes no parallel calls."),
    _("No built-in validator fits the format of the response."),
    _("No built-in validator fits the content of the response."),
    _("Left out on request."),
    _("Not drawn."),
    _("No constraint remains with this seed. Use another seed, or a higher probability."),
    _("The reference trajectory violates it. %(told)s"),
    _("Its validator fails the trial. %(told_words)s"),
    # Of sentences that a model rewrites.
    _("No usable answer. %(why_words)s"),
    _("With the other sentence, the filter found: %(why_words)s"),
    _("The source has changed since the sentences were made."),
    _("The id of the case would have %(length)s characters. The limit is %(most)s."),
)

CONSTRAINTS = (
    *_CONSTRUCTION,
    _("The chains and groups of the constraints name %(number)s tools. The limit is %(most)s. Shorten them."),
    # The scenario.
    _(
        "At most %(most_words)s are allowed, but %(where_words)s takes at least %(needed)s, including the answer. "
        "Raise the limit."
    ),
    _(
        "At least %(low)s rounds are required, but %(where_words)s takes %(needed)s: one round of calls and the "
        "final response. Change the minimum to a maximum."
    ),
    _("%(where_words)s has no order of calls. Delete this constraint."),
    _("%(where_words)s has no parallel calls. Delete this constraint."),
    # The solution and the tools.
    _("At most %(most_words)s are allowed, but the solution needs %(total)s (%(shares)s). Raise the limit."),
    _("At most %(most_words)s are allowed, but the solution needs %(fewest)s, including the answer. Raise the limit."),
    _("%(tool)s may be called at most %(most_words)s, but the solution needs %(needed)s calls. Raise the limit."),
    _("No round may have a call, but the solution needs %(total)s (%(shares)s). Raise the limit."),
    _("%(number)s different tools are required in parallel, but the case has %(there_words)s. Lower the minimum."),
    _("At least %(low_words)s are required, but the limits per tool allow only %(room)s. Change one of them."),
    # The text and the parameters.
    _("The text counts %(said_words)s, but the parameters count %(unit_words)s. Make them agree."),
    _("The text names %(names)s, but the parameters do not. Make them agree."),
    _(
        "The system prompt has %(number)s characters. Only the first %(most)s are searched for constraints. Shorten "
        "the prompt."
    ),
    # Contradictions.
    _("This constraint requires at least %(low_words)s, but allows at most %(high_words)s. Change one of the bounds."),
    _(
        "%(one_words)s requires at least %(low_words)s, but %(other_words)s allows at most %(high_words)s. Change one "
        "of them."
    ),
    _(
        "%(one_words)s requires %(rounds)s rounds, so at least %(calls)s calls, but %(other_words)s allows %(most)s. "
        "Change one of them."
    ),
    _(
        "%(one_words)s requires a tool call, but %(other_words)s leaves no round for a call besides the final "
        "response. Change one of them."
    ),
    _(
        "%(one_words)s requires %(number)s parallel calls, but %(other_words)s allows %(most)s in total. Change one "
        "of them."
    ),
    _(
        "%(one_words)s requires %(number)s calls, but %(other_words)s and %(third_words)s leave room for %(room)s. "
        "Change one of them."
    ),
    _("%(one_words)s requires %(names)s in parallel, but %(other_words)s allows at most %(most)s. Change one of them."),
    _(
        "%(one_words)s requires %(calls_words)s of %(tool)s in parallel, but %(other_words)s allows at most %(most)s. "
        "Change one of them."
    ),
    _("The order is a cycle (%(circle)s), so none of these tools can be called."),
    _(
        "%(one_words)s puts one of %(names)s in an earlier round than the other, but %(other_words)s allows both only "
        "in one round. Neither can be called without violating one of them."
    ),
    _("This constraint contradicts itself: %(why_words)s. Change one of its parts."),
    _("This constraint contradicts %(other_words)s: %(why_words)s. Change one of them."),
    _("a response that is JSON as a whole cannot end with “%(end)s”"),
    _("a response that is JSON as a whole cannot begin with “%(start)s”"),
    _("a response that is JSON as a whole cannot be %(form_words)s"),
    _("a response cannot end with both “%(one)s” and “%(other)s”"),
    _("a response cannot begin with both “%(one)s” and “%(other)s”"),
)

#: Words inside these sentences.
CONSTRAINT_WORDS = (
    *(_("this constraint"), _("This constraint"), _("Constraint %(number)s (%(category)s)")),
    *(_("a single-hop case"), _("a parallel single-hop case")),
    *(_("a multi-hop case"), _("a parallel multi-hop case")),
    *(_("A single-hop case"), _("A parallel single-hop case")),
    *(_("A multi-hop case"), _("A parallel multi-hop case")),
    *(_("a table"), _("a list of bullets"), _("words"), _("characters")),
    *(_("%(number)s words"), _("%(number)s characters"), _("%(number)s round"), _("%(number)s rounds")),
    *(_("%(number)s time"), _("%(number)s times"), _("%(number)s tool"), _("%(number)s tools")),
)
