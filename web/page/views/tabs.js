// Tabs: one panel at a time, the arrows go from tab to tab.

/**
 * @param {HTMLElement} list with role tablist
 * @param {(id: string) => void} chosen is told the id of the tab
 */
export function tabs(list, chosen) {
  const all = [...list.querySelectorAll("button")];

  /** @param {HTMLButtonElement} tab */
  function choose(tab) {
    for (const each of all) {
      const here = each === tab;
      each.setAttribute("aria-selected", String(here));
      each.tabIndex = here ? 0 : -1;
      const panel = document.getElementById(each.getAttribute("aria-controls") ?? "");
      if (panel) panel.hidden = !here;
    }
    chosen(tab.id);
  }

  for (const tab of all) tab.addEventListener("click", () => choose(tab));
  list.addEventListener("keydown", (event) => {
    const at = all.findIndex((tab) => tab === document.activeElement);
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (at < 0 || step === 0) return;
    const next = all[(at + step + all.length) % all.length];
    choose(next);
    next.focus();
    event.preventDefault();
  });
}
