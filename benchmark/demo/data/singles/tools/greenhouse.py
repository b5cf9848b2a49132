"""A greenhouse with numbered beds. Water flows only while the valve is open."""


class Greenhouse:
    def __init__(self):
        self.valve_open = False
        self.beds = {}
        self.basket = []
        self._litres = 0

    def load(self, state):
        self.valve_open = state.get("valve_open", False)
        self.beds = state.get("beds", {})

    def open_valve(self) -> dict:
        """Open the valve of the water pipe."""
        if self.valve_open:
            return {"error": "the valve is open"}
        self.valve_open = True
        return {"valve": "open"}

    def close_valve(self) -> dict:
        """Close the valve of the water pipe."""
        if not self.valve_open:
            return {"error": "the valve is closed"}
        self.valve_open = False
        return {"valve": "closed", "litres": self._litres}

    def water(self, bed: str, litres: float) -> dict:
        """Water a bed; the valve must be open."""
        if not self.valve_open:
            return {"error": "the valve is closed"}
        if bed not in self.beds:
            return {"error": f"there is no bed {bed}"}
        self.beds[bed]["moisture"] += litres * 4
        self._litres += litres
        return {"moisture": self.beds[bed]["moisture"]}

    def sow(self, bed: str, plant: str) -> dict:
        """Sow a plant in an empty bed."""
        if self.beds.get(bed, {}).get("plant"):
            return {"error": f"{self.beds[bed]['plant']} grows in bed {bed}"}
        self.beds.setdefault(bed, {"moisture": 20})["plant"] = plant
        return {"sown": plant}

    def read_sensor(self, bed: str) -> dict:
        """Read the plant and the moisture of a bed, in percent."""
        if bed not in self.beds:
            return {"error": f"there is no bed {bed}"}
        return dict(self.beds[bed])

    def harvest(self, bed: str) -> dict:
        """Harvest a bed; the plant goes into the basket, and the bed is empty."""
        plant = self.beds.get(bed, {}).get("plant")
        if not plant:
            return {"error": f"nothing grows in bed {bed}"}
        self.beds[bed]["plant"] = ""
        self.basket.append(plant)
        return {"basket": list(self.basket)}

    def dry_beds(self, below: float = 40) -> list:
        """List the beds whose moisture is below a limit, in percent."""
        return sorted(bed for bed, facts in self.beds.items() if facts["moisture"] < below)
