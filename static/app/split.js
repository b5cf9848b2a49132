// The line between the dialogue and the inspector. Dragging it, or the arrow keys while it has the focus, change the
// width of the dialogue (percent of the workspace); a double click or Home resets it. The browser remembers it.
//
// A classic script right after the line: the page has its width before it is painted, so nothing moves while it loads.
{
  const STORED = "assay.split";
  const USUAL = 55;
  const line = document.getElementById("split");
  const workspace = line.parentElement;
  const least = Number(line.ariaValueMin);
  const most = Number(line.ariaValueMax);

  const set = (wanted) => {
    const width = Math.round(Math.min(most, Math.max(least, wanted)) * 10) / 10;
    line.ariaValueNow = String(Math.round(width));
    workspace.style.setProperty("--split", `${width}%`);
    return width;
  };

  const keep = (wanted) => {
    try {
      localStorage.setItem(STORED, String(set(wanted)));
    } catch {
      // Storage is not available: the width lasts as long as the page.
    }
  };

  const stored = () => {
    try {
      return Number(localStorage.getItem(STORED)) || USUAL;
    } catch {
      return USUAL;
    }
  };

  const at = ({clientX}) => {
    const {left, right, width} = workspace.getBoundingClientRect();
    const from = getComputedStyle(workspace).direction === "rtl" ? right - clientX : clientX - left;
    return (from / width) * 100;
  };

  set(stored());

  line.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    line.setPointerCapture(event.pointerId);
    const move = (moved) => set(at(moved));
    line.addEventListener("pointermove", move);
    line.addEventListener(
      "lostpointercapture",
      () => {
        line.removeEventListener("pointermove", move);
        keep(Number.parseFloat(workspace.style.getPropertyValue("--split")));
      },
      {once: true},
    );
  });

  line.addEventListener("dblclick", () => keep(USUAL));

  line.addEventListener("keydown", (event) => {
    const now = Number.parseFloat(workspace.style.getPropertyValue("--split"));
    const next = {ArrowLeft: now - 2, ArrowRight: now + 2, Home: USUAL}[event.key];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    keep(next);
  });
}
