"""The words of wild, c3 and mmtb for policy, topology and information."""

from typing import Any

from annotator.core.graph import Topology, derive_topology

WILD_POLICIES = {
    "Single-Tool": "single_tool",
    "Parallel Multi-Tool": "multi_tool",
    "Sequential Multi-Tool": "multi_tool",
    "Mixed Multi-Tool": "multi_tool",
    "Multi-Tool": "multi_tool",  # Not in the published files: a multi_tool task whose graph is not annotated yet.
    "Clarify": "clarify",
    "Chat": "chat",
}
WILD_WORDS = {"single_tool": "Single-Tool", "multi_tool": "Multi-Tool", "clarify": "Clarify", "chat": "Chat"}
WILD_TOPOLOGIES = {
    Topology.SEQUENTIAL: "Sequential Multi-Tool",
    Topology.PARALLEL: "Parallel Multi-Tool",
    Topology.MIXED: "Mixed Multi-Tool",
}

C3_POLICIES = {"单": "single_tool", "多": "multi_tool", "拒": "chat", "反": "clarify"}
C3_WORDS = {policy: word for word, policy in C3_POLICIES.items()}

WILD_INFORMATION = {
    "First Turn": "explicit",
    "Explicit": "explicit",
    "Partial Information": "partial_information",
    "Coreferential Reference": "coreferential_reference",
    "Long-Range Dependency": "long_range_dependency",
}
WILD_INFORMATION_WORDS = {
    "explicit": "Explicit",
    "partial_information": "Partial Information",
    "coreferential_reference": "Coreferential Reference",
    "long_range_dependency": "Long-Range Dependency",
}

#: The published c3/mmtb evaluator counts by the three Chinese words and stops at any other, so these are written; the
#: English ones are the papers' names for the same.
C3_INFORMATION = {
    "省略成分": "partial_information",
    "指代理解": "coreferential_reference",
    "长期记忆": "long_range_dependency",
    "omit": "partial_information",
    "implicit": "partial_information",
    "ref": "coreferential_reference",
    "reference": "coreferential_reference",
    "ellipsis": "coreferential_reference",
    "long": "long_range_dependency",
    "long-context": "long_range_dependency",
    "long-term": "long_range_dependency",
    "long-term memory": "long_range_dependency",
}
C3_INFORMATION_WORDS = {
    "partial_information": "省略成分",
    "coreferential_reference": "指代理解",
    "long_range_dependency": "长期记忆",
}


def listed(words: Any) -> str:
    """Return words for a sentence: ``a, b or c``."""
    *front, last = words
    return f"{', '.join(front)} or {last}" if front else str(last)


def wild_policy_word(task: dict[str, Any], label: Any) -> str | None:
    """Return the wild task type of a task: a multi_tool one by its graph, else by its imported label."""
    policy = task["policy"]
    if policy != "multi_tool":
        return WILD_WORDS.get(policy)
    topology = derive_topology(task["steps"])
    if topology in WILD_TOPOLOGIES:
        return WILD_TOPOLOGIES[topology]
    return label if type(label) is str and WILD_POLICIES.get(label) == "multi_tool" else WILD_WORDS[policy]
