// Elements, and texts that nobody of this page has written. All text becomes text nodes: nothing
// here takes HTML, and the server's policy forbids browsers to do so.

const SVG = "http://www.w3.org/2000/svg";

export const at = (id) => document.getElementById(id);

/** An element with attributes and children; what is null or false is left out. */
export function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((one) => one !== null && one !== false && one !== undefined));
  return element;
}

// Characters without a picture, or such as turn round the text beside them.
const ODD = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;

/** A foreign text: it cannot change the direction of what is around it, and hides nothing. */
export function foreign(text) {
  const parts = [];
  let end = 0;
  for (const found of String(text).matchAll(ODD)) {
    parts.push(text.slice(end, found.index));
    const code = found[0].codePointAt(0).toString(16).padStart(4, "0");
    parts.push(el("span", { class: "odd" }, `\\u${code}`));
    end = found.index + found[0].length;
  }
  return el("bdi", {}, ...parts, String(text).slice(end));
}

/** New children for an element; who had the focus keeps it, if it is there again.
 *
 * Where somebody is just clicking, or has marked some text, nothing moves: there is another time.
 */
export function replace(element, ...children) {
  const marked = getSelection();
  if (element.matches(":active") || (!marked.isCollapsed && element.contains(marked.anchorNode))) return;
  const held = document.activeElement;
  const name = held && element.contains(held) ? held.dataset.focus : undefined;
  const scrolled = element.scrollTop;
  element.replaceChildren(...children.flat(Infinity).filter(Boolean));
  element.scrollTop = scrolled;
  if (name === undefined) return;
  for (const one of element.querySelectorAll("[data-focus]")) {
    if (one.dataset.focus === name) {
      one.focus({ preventScroll: true });
      return;
    }
  }
}

/** A button that shows a key. */
export function keyButton(name) {
  return el("button", { type: "button", class: "key", "data-focus": name, title: name, onclick: () => choose(name) }, foreign(name));
}

export function choose(name) {
  location.hash = `key=${encodeURIComponent(name)}`;
}

/** Set a text only where it is another one, so that nobody is told the same twice. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Options of a select, of which the chosen one stays chosen. */
export function offer(select, options) {
  const now = [...select.options].map((one) => one.value).join("\n");
  if (now === options.map(([value]) => value).join("\n")) return;
  const chosen = select.value;
  select.replaceChildren(...options.map(([value, text]) => el("option", { value }, text)));
  if (options.some(([value]) => value === chosen)) select.value = chosen;
}
