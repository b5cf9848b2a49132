"""Generate candidates: prompts, generations, the job that asks models, people's part, and storing the result."""
