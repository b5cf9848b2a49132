"""The sentences that pure modules write, as patterns for translation.

Findings, places and refusals of edits are stored, sent and released in English. A page shows them in the reader's
language: it finds the pattern of a sentence and fills in the translation of the pattern. A value is shown as it is,
unless its name ends in ``_words``: then it is a sentence, a list or a word of these modules itself.
"""

from annotator.core.text import gettext_noop as _

#: Sentences of checks (``annotator/core/checks``) and of what they call.
FINDINGS = (
    _(
        "“%(title)s” applies to more than %(most)s places. Only the first ones are listed; correct these to "
        "see the others."
    ),
    _("Write the user message."),
    _("The user names the tool “%(tool)s”. Use words that a user would use."),
    _("The text contains the placeholder “%(text)s”. Replace it with real text."),
    _("The dialogue is in %(language_words)s, but this text is not: “%(text)s”."),
    _(
        "The user’s messages overlap by %(percent)s %% with those of “%(other)s”. Change them, or reject one of "
        "the two dialogues."
    ),
    _("The user’s messages are the same as those of “%(other)s”. Change them, or reject one of the two dialogues."),
    _(
        "The user’s messages are the same as those of “%(other)s” but for values such as names and numbers. Change "
        "them, or reject one of the two dialogues."
    ),
    _("The arguments are the text “%(text)s”, not a JSON object. Write them as an object."),
    _("The toolset has no tool “%(tool)s”. %(hint_words)s"),
    _("Did you mean “%(meant)s”?"),
    _("It has %(names_words)s."),
    _("%(problem_words)s This call is not checked."),
    _("%(tool)s is only partly checked. %(notes)s"),
    _("“%(path)s” is %(value)s, but a latitude must be between −%(low)s and %(high)s."),
    _(
        "“%(path)s” is %(value)s, but a latitude must be between −%(low)s and %(high)s; latitude and longitude may "
        "be swapped."
    ),
    _("“%(path)s” is %(value)s, but a longitude must be between −%(low)s and %(high)s."),
    _(
        "The arguments were not checked because there are too many for the schema of %(tool)s. Remove some, or "
        "simplify the schema."
    ),
    _("“%(path)s” lacks “%(key)s”, which the schema requires."),
    _("%(tool)s requires the argument “%(key)s”."),
    _("%(tool)s requires the argument “%(key)s” (%(type_words)s)."),
    _("“%(path)s” must be %(wanted_words)s, not %(value_words)s."),
    _("%(tool)s has no argument “%(key)s”. Did you mean “%(meant)s”?"),
    _("%(tool)s has no argument “%(key)s”. It takes %(names_words)s."),
    _("%(tool)s takes no arguments. Remove “%(key)s”."),
    _("“%(path)s” contains “%(key)s”, which its schema does not list."),
    _("“%(path)s” is %(value_words)s, which fits none of the forms that its schema allows."),
    _("“%(path)s” must fit exactly one of the forms that its schema allows, but it fits several."),
    _(
        "The task has %(calls)s calls in %(steps)s steps. The limit is %(most_calls)s calls and %(most_steps)s "
        "steps. Split the task."
    ),
    _("These steps depend on each other in a cycle: %(circle)s. Remove one of the dependencies."),
    _("%(step)s depends on “%(needs)s”, but this task has no such step."),
    _("%(step)s depends on itself. Remove that dependency."),
    _("%(step)s lists its dependency on %(needs)s twice. Remove one."),
    _("Choose what %(step)s depends on, or “nothing”."),
    _(
        "The dependency of %(step)s on %(needs_words)s is implied by its other dependencies. Remove it unless it "
        "passes a value."
    ),
    _("The answer %(answer)s must be the last step, but %(step)s comes after it."),
    _("%(step)s depends on the answer, which ends the task. Remove that dependency."),
    _("The task has %(number)s answers. Keep one, as its last step."),
    _(
        "The published evaluators may reject some legal paths of this task, because they merge calls to the same "
        "tool. The decision tree shows these paths."
    ),
    _(
        "The published evaluators of C3-Bench and WildToolBench reject the same %(missing)s of %(legal)s legal paths, "
        "because they merge calls to the same tool. The decision tree shows these paths."
    ),
    _(
        "WildToolBench’s published evaluator rejects %(wild)s of %(legal)s legal paths. How many C3-Bench’s rejects "
        "is not known. The decision tree shows these paths."
    ),
    _(
        "WildToolBench’s published evaluator rejects %(wild)s of %(legal)s legal paths, because it takes calls to the "
        "same tool in file order. C3-Bench’s accepts all. The decision tree shows these paths."
    ),
    _(
        "Of %(legal)s legal paths, C3-Bench’s published evaluator rejects %(c3)s and WildToolBench’s %(wild)s, because "
        "they merge calls to the same tool. The decision tree shows these paths."
    ),
    # Stored findings of earlier versions, which counted for both evaluators at once.
    _(
        "The published evaluators reject %(missing)s of %(legal)s legal paths, because they merge calls to the "
        "same tool. The decision tree shows these paths."
    ),
    _("Choose the policy: single_tool, multi_tool, clarify or chat."),
    _("Choose the information label: explicit, or how the message hides what it needs."),
    _(
        "The policy is %(policy_words)s (%(meaning_words)s), but the task has %(steps_words)s. Correct the steps, "
        "or change the policy to %(other_words)s."
    ),
    _("The first task is labelled %(label_words)s, but nothing comes before it. It should be explicit."),
    _("Every task after the first should leave out something that was said before, but this one is labelled explicit."),
    _(
        "A long-range dependency goes back beyond the previous exchange, but only %(number)s task came before this "
        "one. Correct the label."
    ),
    _(
        "A long-range dependency goes back beyond the previous exchange, but only %(number)s tasks came before "
        "this one. Correct the label."
    ),
    _(
        "A long-range dependency goes back at least three user messages, but only %(number)s came before this one. "
        "Correct the label."
    ),
    _("%(against_words)s Correct the label, the message or the call."),
    _("The label is explicit, but %(values_words)s appears only before this message."),
    _("The label is explicit, but %(values_words)s appear only before this message."),
    _("The label is %(label_words)s, but this message has every value that the task needs from the user."),
    _(
        "The label is long_range_dependency, but %(values_words)s can be found within the previous exchange, and "
        "the task needs nothing from farther back."
    ),
    _(
        "The label is long_range_dependency, but %(values_words)s can be found within two user messages back, and "
        "the task needs nothing from farther back."
    ),
    _("Choose the answer type: tool if the answer is based on tool results, otherwise chat."),
    _("The policy is %(policy_words)s, so the answer type should be %(wanted_words)s, not %(type_words)s."),
    _("The answer does not wait for %(names_words)s. Add the missing dependency."),
    _("%(step)s asks the user while %(names_words)s could run. Add a dependency that says which comes first."),
    _(
        "%(path)s %(value)s does not appear earlier in the conversation. Correct it, or mark it as inferable and "
        "give the reason."
    ),
    _(
        "Only the first %(number)s values of this call were traced to their sources. The limit is %(most)s in a "
        "call and %(most_of_all)s in a dialogue."
    ),
    _("The dialogue is too long to search completely, so the sources of some values are not known."),
    _("%(why_words)s Add %(needs)s to the dependencies of %(step)s."),
    _("%(call)s (%(tool)s) returned “%(value)s”."),
    _("%(call)s (%(tool)s) returned “%(value)s” at %(path)s."),
    _(
        "%(step)s is marked as using a value from %(needs_words)s, but uses none. Choose “order only” if the order "
        "matters, or remove the dependency."
    ),
    _("%(step)s repeats %(earlier)s: same tool, same arguments. Delete one, or explain why both are needed."),
    _("Add what %(tool)s returned."),
    _("%(tool)s returned nothing. Fill in the observation, or explain why it is empty."),
    _("%(tool)s returned an error (%(error)s). Use a call that works."),
    _("“%(path)s” is the placeholder “%(value)s”. Enter the real value."),
    _("The task has no answer. Add one as its last step."),
    _("Write the answer."),
    _("Write the question to the user."),
    _("Write the user's reply."),
    _("The answer lists the result of %(step)s but omits the ids %(names_words)s. Add them."),
    _("Answer “%(title)s”."),
    _("The project has no field %(key)s for this place. Remove the label, or define the field."),
    _("“%(title)s” is not asked here, because its condition is not met. Remove the label."),
    _("“%(title)s”: The text changed after “%(text)s” was marked. Remove this span and mark it again."),
    _("“%(title)s”: %(value)s is not among the options. Choose one of them."),
    _("“%(title)s”: %(value)s is not on the scale from %(low)s to %(high)s. Choose a number again."),
    # Constrained cases.
    _("Write the system prompt that states the constraints."),
    _("Choose the scenario."),
    _("Write the reference answer."),
    _("Add the results that the tools must return to solve the query."),
    _("The case has no constraint. Add one."),
    _("Enter the parameters of this constraint on %(category)s."),
    _("The unsolved set names “%(tool)s”, but the case has no such tool."),
    _("The unsolved set names “%(tool)s”, but the case has no such tool. Did you mean %(meant)s?"),
    _("The reference trajectory violates this constraint. %(sentence)s"),
    _("The system prompt does not state this constraint. Add it, or mark the span that states it."),
    _(
        "The system prompt does not state this constraint. The nearest text is “%(text)s”. Make them agree, or mark "
        "the span that states it."
    ),
    _("The system prompt has another number: “%(text)s”. Make them agree."),
    _("The marked span is no longer in the system prompt. The nearest text is “%(text)s”. Mark it again."),
    _("The system prompt states this constraint %(number)s times. State it once."),
    _("This constraint reads “%(text)s”, but the system prompt says “%(said)s”. Make them agree."),
    _("The constraint has no category. Choose one of: %(names)s."),
    _("“%(name)s” is not a category of constraints. Use one of: %(names)s."),
    _("The case has no tool %(tool)s."),
    _("The case has no tool %(tool)s. Did you mean %(meant)s?"),
    _("The text says at most %(said)s, but the parameters say %(low)s. Make them agree."),
    _("The text says at least %(said)s, but the parameters say %(low)s. Make them agree."),
    _("The text says at most %(said)s, but the parameters set no limit. Make them agree."),
    _("This constraint on %(category)s has no validator. Add one."),
    _("This version of the validator has not been tried. Try it first."),
    _("The validator cannot be read as Python: %(problem)s."),
    _("The built-in validator cannot be used: %(problem)s"),
    _("The code does not define the function “%(name)s”."),
    _("Choose the function that judges this constraint. It defines %(names_words)s."),
    _("Choose the function that judges this constraint. It defines none."),
    _("%(function)s must take one argument, the response."),
    _("Trial: %(sentence)s"),
    _("The code of %(tool)s cannot be read as Python: %(problem)s."),
    # Single tasks and composites.
    _("There are fewer than %(number)s calls. Add the missing ones."),
    _("The task has no category. Enter one."),
    _("The question names %(names_words)s. Say what to do instead."),
    _("This call is equal to the one before it. Delete one of them."),
    _("“%(text)s” is not a date and time such as 2026-02-03T09:30:00."),
    _("This version of the trajectory has not been run. Run it first."),
    _("Two runs differ: the tool’s state after loading is not the same."),
    _("Two runs differ from this call on: its result or the state."),
    _("Run: %(sentence)s"),
    _("This call changes nothing, and nothing later uses it. Delete it, unless the question asks for it."),
    _("%(call)s would do the same here. Check that the question says which one is meant."),
    _("%(call)s and %(other)s can be exchanged. Check that the question gives their order."),
    _("There is no single task %(name)s in this project. Choose another one."),
    _("%(name)s has changed. Use its current revision, or choose another task."),
    _("The question, category or calls are not those of %(name)s. Use its current revision."),
    _("No revision of %(name)s is chosen. Use its current revision."),
    _("%(name)s is not verified. Verify it, or choose another task."),
    _("%(name)s has errors. Correct them, or choose another task."),
    _("%(name)s has no category. Enter one there, and use that revision."),
    _("The tasks of a similar composite are of one category; these are %(names_words)s."),
    _("The tasks of a cross composite are of different categories: %(names_words)s."),
    _("The calls need at least %(needed)s rounds, but only %(most)s are allowed."),
    _("The toolset has %(count)s tools named %(name)s. Rename or delete all but one."),
    _("%(name)s is required, but the schema does not describe it."),
    _("The default does not fit the schema: %(problem)s."),
    _("Say in a sentence what the tool does."),
    _("Say what the parameter means, and in which unit or format."),
    _("%(other)s has the same description. Say how the two differ."),
    _("%(other)s has nearly the same name, and the same parameters. Say how the two differ."),
    _("JSON Schema has no type “%(word)s”. Assay reads it by its usual meaning."),
    _("The object has no properties, so any value is accepted. Describe what it may hold."),
    _("The description lists choices (%(choices)s), but the schema accepts any text. Add an enum."),
)

#: Refusals of edits (``annotator/core/editing``).
EDITS = (
    _("Give the argument a name."),
    _("Items of a list have no names."),
    _("There is already an argument called %(name)s. Delete it first."),
    _('Arguments must be a JSON object, such as {"city": "Oslo"}.'),
    _("The reason has %(number)s characters. The limit is %(most)s."),
    _("The text has %(number)s characters. The limit is %(most)s."),
    _("The text has %(number)s characters. The limit for JSON is %(most)s."),
    _("The code has %(number)s characters. The limit is %(most)s."),
    _("This JSON is just text. Choose Text, and write it without quotation marks."),
    _("This is not JSON (%(position_words)s: %(problem)s)."),
    _("This is not JSON (%(position_words)s: %(problem)s). Texts and keys need straight double quotes."),
    _("This is not JSON (%(position_words)s: %(problem)s). JSON writes true, false and null in lower case."),
    _("This is not JSON (%(position_words)s: %(problem)s). There may be an extra comma."),
    _("%(problem_words)s If the tool returned plain text, choose Text."),
    _("The value is nested too deeply, or has a number with too many digits."),
    _("This place no longer exists. Reload the page."),
    _("This place cannot be set as text."),
    _("This place cannot be set as JSON."),
    _("This part cannot have labels."),
    _("A task has one answer, so it cannot be duplicated."),
    _("This task already has an answer, %(step)s. Change that one."),
    _("The answer is the last step of a task. Nothing can come after it."),
    _("This step already depends on %(step)s."),
    _("This step does not depend on %(step)s."),
    _("The dependencies would form a cycle: %(circle)s. Remove one of them."),
    _("A step cannot depend on itself."),
    _("There is no step %(step)s in this task to depend on."),
    _("%(step)s is the answer, which ends the task. Nothing can depend on it."),
    _("A step is listed twice among the dependencies. Remove one."),
    _("Choose a tool for the call."),
    _("The dialogue's toolset has no tool %(tool)s. Choose one of its tools."),
    _("A dialogue needs at least one task. Change this one instead."),
    _("This candidate message no longer exists. Reload the page."),
    _("The candidate message is empty. Write it first."),
    _("The seed must be a whole number."),
    _("Write a date and time such as 2026-02-03T09:30:00."),
    _("Line %(number)s: %(problem)s"),
    _("Choose one of the categories of constraints."),
    _("The constraint has no text yet. Write it, or use the sentence made from its parameters."),
    _("The system prompt already states this constraint."),
    _("Every tool of the case already has a variant. Change one of these."),
    _("This variant no longer exists. Reload the page."),
    _("Choose a single task."),
    _("Say why the task is replaced."),
    _("All dependencies of this task are already annotated."),
    _("This task has no calls, so its graph has no shape."),
    _("This place cannot be set as text. Change the function by its form, or as JSON."),
    _("A toolset has at least one function. Add another one before you delete this one."),
    _("A toolset has at most %(most)s functions. Delete one first."),
    _("This function was changed in the meantime. Reload the page, then make your changes again."),
    _("Give it a name of at most %(limit)s characters."),
    _("There is a parameter %(name)s already."),
    _("Parameters can be added only to an object or a list of objects."),
    _("The parameters are described by a reference. Add others to the JSON."),
    _('“%(text)s” is not JSON. Write texts in quotes, as in "red".'),
)

#: What joins the words of a list.
JOINTS = (_(", "), _(" and "), _(" or "))

#: Parts of a place (``annotator.core.comparison.describe``), and words inside sentences.
WORDS = (
    _("the dialogue"),
    _("task %(number)s"),
    _("task %(id)s (missing)"),
    _("step %(id)s (missing)"),
    _("call %(id)s"),
    _("clarification %(id)s"),
    _("answer %(id)s"),
    _("candidate message %(id)s"),
    _("argument %(path)s"),
    _("reason why %(path)s is inferable"),
    _("label %(key)s"),
    _("message %(number)s of the dialogue so far"),
    _("order of %(part_words)s"),
    _("constraint %(number)s (%(category)s)"),
    _("constraint %(id)s (missing)"),
    _("round %(number)s"),
    _("round %(id)s (missing)"),
    _("line %(line)s, column %(column)s"),
    *(_("arguments"), _("answer type"), _("category"), _("chosen candidate message"), _("code of the tool")),
    *(_("constraints"), _("current time"), _("dependencies"), _("dialogue so far"), _("environment information")),
    *(_("extra field"), _("final response"), _("information"), _("initial state"), _("language"), _("observation")),
    *(_("policy"), _("query"), _("question"), _("reference answer"), _("reference trajectory"), _("scenario")),
    *(_("span of the system prompt"), _("steps"), _("system prompt"), _("tasks"), _("text"), _("tool")),
    *(_("unsolved set"), _("user message"), _("user reply"), _("validator"), _("built-in validator")),
    *(_("single_tool"), _("multi_tool"), _("clarify"), _("chat")),
    *(_("explicit"), _("partial_information"), _("coreferential_reference"), _("long_range_dependency")),
    *(_("one call and no clarification"), _("at least two calls and no clarification")),
    *(_("at least one clarification"), _("neither a call nor a clarification"), _("only an answer")),
    *(_("%(number)s call"), _("%(number)s calls"), _("%(number)s clarification"), _("%(number)s clarifications")),
    *(_("added"), _("removed"), _("changed"), _("moved")),
    *(_("English"), _("Chinese"), _("none"), _("null"), _("%(number)s more")),
    *(_("a number"), _("a whole number"), _("true or false"), _("an object"), _("a list")),
    *(_("an empty object"), _("a list of %(number)s"), _("an empty list"), _("empty text"), _("the text “%(text)s”")),
    *(_("at least %(number)s"), _("at most %(number)s"), _("more than %(number)s"), _("less than %(number)s")),
    *(_("a multiple of %(number)s"), _("text that matches %(pattern)s"), _("a list without duplicates")),
    *(_("at least %(number)s characters long"), _("at most %(number)s characters long")),
    *(_("a list of at least %(number)s items"), _("a list of at most %(number)s items")),
    *(_("function %(name)s"), _("function %(id)s (missing)"), _("parameter %(path)s"), _("parameters")),
    *(_("tools"), _("name"), _("description"), _("JSON"), _("required"), _("enum"), _("default")),
)
