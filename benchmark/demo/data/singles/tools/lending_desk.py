"""The desk of a small library. A reader must be registered before the first loan."""


class LendingDesk:
    def __init__(self):
        self.copies = {}
        self.readers = []
        self.loans = []

    def load(self, state):
        self.copies = state.get("copies", {})
        self.readers = state.get("readers", [])
        self.loans = state.get("loans", [])

    def _loan(self, reader, title):
        return next((loan for loan in self.loans if loan["reader"] == reader and loan["title"] == title), None)

    def find_titles(self, words: str) -> dict:
        """Find titles that contain some words, with the copies on the shelf."""
        return {title: count for title, count in self.copies.items() if words.lower() in title.lower()}

    def register(self, reader: str) -> dict:
        """Register a new reader."""
        if reader in self.readers:
            return {"error": f"{reader} is registered already"}
        self.readers.append(reader)
        return {"readers": len(self.readers)}

    def lend(self, reader: str, title: str, days: int = 21) -> dict:
        """Lend one copy of a title to a registered reader."""
        if reader not in self.readers:
            return {"error": f"{reader} is not registered"}
        if not self.copies.get(title):
            return {"error": f"no copy of {title} on the shelf"}
        self.copies[title] -= 1
        self.loans.append({"reader": reader, "title": title, "days": days})
        return {"left": self.copies[title]}

    def take_back(self, reader: str, title: str) -> dict:
        """Take back a title from a reader."""
        loan = self._loan(reader, title)
        if loan is None:
            return {"error": f"{reader} does not have {title}"}
        self.loans.remove(loan)
        self.copies[title] += 1
        return {"on the shelf": self.copies[title]}

    def extend(self, reader: str, title: str, days: int = 14) -> dict:
        """Make a loan longer by some days."""
        loan = self._loan(reader, title)
        if loan is None:
            return {"error": f"{reader} does not have {title}"}
        loan["days"] += days
        return {"days": loan["days"]}

    def loans_of(self, reader: str) -> list:
        """List the titles that a reader has, with the days of each loan."""
        return [{"title": loan["title"], "days": loan["days"]} for loan in self.loans if loan["reader"] == reader]
