"""Generation of candidate dialogues by five roles: prompts, answers and the steps of one dialogue. Pure."""
