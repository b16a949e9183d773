/** Short names for what both pages do with the document all the time. */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * The element of an id, of a given kind.
 *
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export function byId(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} #${id}`);
  return found;
}

/**
 * A new HTML element.
 *
 * @param {string} name
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 */
export function html(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/**
 * A new SVG element.
 *
 * @param {string} name
 * @param {Record<string, string | number>} [attributes]
 * @param {...(Node | string)} children
 */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/**
 * Set a text, if it is another one: screen readers are told of nothing that did not change.
 *
 * @param {Element} element
 * @param {string} text
 */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Ask this server, with the key if there is one; nothing is taken from a cache.
 *
 * @param {string} path relative to the page.
 * @param {string} key empty for none.
 * @param {RequestInit} [more]
 * @returns {Promise<Response>}
 */
export function ask(path, key, more = {}) {
  const headers = new Headers(more.headers);
  if (key) headers.set('Authorization', `Bearer ${key}`);
  return fetch(path, { cache: 'no-store', ...more, headers });
}
