// Elements: find, make, and change only what differs.

/** @param {string} id @returns {HTMLElement} */
export function find(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element "${id}"`);
  return found;
}

/**
 * An element of a certain kind within another.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {ParentNode} root
 * @param {T} tag
 * @param {string} [selector] added to the tag
 * @returns {HTMLElementTagNameMap[T]}
 */
export function within(root, tag, selector = "") {
  const found = root.querySelector(tag + selector);
  if (!found) throw new Error(`no element ${tag}${selector}`);
  return /** @type {HTMLElementTagNameMap[T]} */ (found);
}

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string|boolean|null>} [attributes] null and false for none
 * @param {...(Node|string)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(made, name, value);
  made.append(...children);
  return made;
}

/**
 * @param {Element} element
 * @param {string} name
 * @param {string|boolean|null} value
 */
export function setAttribute(element, name, value) {
  if (value === null || value === false) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else {
    const text = value === true ? "" : value;
    if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
}

/** @param {Node} node @param {string} text */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
