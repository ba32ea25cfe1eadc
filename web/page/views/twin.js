// A copy of a part of the page, which lives beside its pattern.

/** Attributes that name elements by their ids. */
const REFERENCES = ["aria-controls", "aria-labelledby", "aria-describedby", "for"];

/** The same elements once more, with ids of their own. @param {HTMLElement} element @param {string} suffix */
export function twin(element, suffix) {
  const copy = /** @type {HTMLElement} */ (element.cloneNode(true));
  for (const each of [copy, ...copy.querySelectorAll("*")]) {
    if (each.id) each.id += suffix;
    for (const name of REFERENCES) {
      const named = each.getAttribute(name);
      if (named)
        each.setAttribute(
          name,
          named
            .split(" ")
            .map((id) => id + suffix)
            .join(" "),
        );
    }
  }
  return copy;
}
