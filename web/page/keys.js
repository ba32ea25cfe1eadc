// Keys for the whole page. None of them does anything while something is typed or a dialog is open.

/** @param {Record<string, () => void>} actions by key */
export function listen(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    const target = event.target instanceof HTMLElement ? event.target : null;
    if (event.key === "Escape") {
      // A dialog and a list close by themselves; out of a field it leads back to the page.
      if (target && typing(target)) target.blur();
      return;
    }
    if ((target && typing(target)) || document.querySelector("dialog[open]")) return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

/** @param {HTMLElement} target */
function typing(target) {
  if (target instanceof HTMLInputElement) return target.type !== "radio" && target.type !== "checkbox";
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}
