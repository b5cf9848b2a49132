"""A repair shop for bicycles: jobs with parts and prices. Drawing a prize asks the machine for chance."""

import random
from decimal import Decimal


class RepairShop:
    def __init__(self):
        self.parts = {}
        self.jobs = {}
        self.till = Decimal("0.00")

    def load(self, state):
        self.parts = state.get("parts", {})
        self.jobs = state.get("jobs", {})
        self.till = Decimal(state.get("till", "0.00"))

    def open_job(self, customer: str, bicycle: str) -> dict:
        """Open a job for a customer's bicycle."""
        number = f"J{len(self.jobs) + 1}"
        self.jobs[number] = {"customer": customer, "bicycle": bicycle, "parts": [], "state": "open"}
        return {"job": number}

    def price_of(self, part: str) -> dict:
        """Tell the price of a part and how many are in stock."""
        if part not in self.parts:
            return {"error": f"the shop does not sell {part}"}
        return {"part": part, "price": self.parts[part]["price"], "stock": self.parts[part]["stock"]}

    def fit_part(self, job: str, part: str) -> dict:
        """Fit a part from stock on the bicycle of an open job."""
        if self.jobs.get(job, {}).get("state") != "open":
            return {"error": f"job {job} is not open"}
        if self.parts.get(part, {}).get("stock", 0) < 1:
            return {"error": f"no {part} in stock"}
        self.parts[part]["stock"] -= 1
        self.jobs[job]["parts"].append(part)
        return {"fitted": self.jobs[job]["parts"]}

    def finish_job(self, job: str) -> dict:
        """Finish a job and tell what its parts cost."""
        if self.jobs.get(job, {}).get("state") != "open":
            return {"error": f"job {job} is not open"}
        self.jobs[job]["state"] = "finished"
        total = sum((Decimal(self.parts[part]["price"]) for part in self.jobs[job]["parts"]), Decimal("0.00"))
        return {"job": job, "to pay": str(total)}

    def pay(self, job: str, amount: str) -> dict:
        """Pay for a finished job; the amount is a text such as 12.50."""
        if self.jobs.get(job, {}).get("state") != "finished":
            return {"error": f"job {job} is not finished"}
        self.till += Decimal(amount)
        self.jobs[job]["state"] = "paid"
        return {"till": self.till}

    def draw_prize(self, customer: str) -> dict:
        """Draw a prize for a customer."""
        return {"customer": customer, "prize": random.SystemRandom().choice(["bell", "light", "cap", "map"])}
