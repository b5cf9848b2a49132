"""The reference player of a composite: makes the gold calls of all tasks in turn, and uses no result too early."""

from collections.abc import Mapping, Sequence

from annotator.core.composites.dialogue import Dialogue
from annotator.core.composites.messages import COMPLETED, write_call_message, write_content
from annotator.core.sandbox.trajectories import ToolCall

WAITING = "Waiting for results."


def play_reference(dialogue: Dialogue, gold: Mapping[str, Sequence[ToolCall]]) -> Dialogue:
    """Play the gold calls: the task that waited longest goes first; a task waits for the result of its last call.

    At the end all results are waited for. Ends at the dialogue's ceiling at the latest.
    """
    done = dict.fromkeys(gold, 0)
    turn = list(gold)
    while not dialogue.ended:
        waiting = {call.task for call in dialogue.pending if call.due > len(dialogue.rounds)}
        ready = [task for task in turn if task not in waiting and done[task] < len(gold[task])]
        if ready:
            task = ready[0]
            turn.remove(task)
            turn.append(task)
            call = gold[task][done[task]]
            done[task] += 1
            dialogue.say(write_call_message(task, call.name, call.arguments))
        elif dialogue.pending:
            dialogue.say(write_content(WAITING))
        else:
            dialogue.say(write_content(COMPLETED))
    return dialogue
