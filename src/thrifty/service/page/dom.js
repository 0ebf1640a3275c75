// Elements as descriptions, and their transfer into the document. Nothing is ever parsed as HTML.

const SVG = new Set(["svg", "g", "line", "path", "rect", "circle", "text"]);

/**
 * Describes an element. Attributes: `on...` are listeners, `key` tells it from its siblings, and
 * null or false leave an attribute out. Children: descriptions and texts, nested lists too.
 */
export function h(tag, attributes, ...children) {
  const { key, ...rest } = attributes ?? {};
  const kept = children.flat(Infinity).filter((child) => child != null && child !== false);
  return { tag, key, attributes: rest, children: kept };
}

/**
 * Makes the children of a node those described. Nodes that are there already are changed in place,
 * so that focus, scroll positions, selected text and open details stay.
 */
export function patch(parent, children) {
  const wanted = new Set(children.map((child) => child.key));
  const keyed = new Map();
  for (const node of [...parent.childNodes]) {
    if (node.key === undefined) continue;
    if (wanted.has(node.key)) keyed.set(node.key, node);
    else node.remove();
  }
  children.forEach((child, index) => {
    const present = parent.childNodes[index] ?? null;
    let node = child.key === undefined ? present : keyed.get(child.key);
    if (!node || !matches(node, child)) node = create(child);
    if (node !== present) parent.insertBefore(node, present);
    update(node, child);
  });
  while (parent.childNodes.length > children.length) parent.lastChild.remove();
}

function matches(node, child) {
  return child.tag === undefined
    ? node.nodeType === Node.TEXT_NODE
    : node.localName === child.tag && node.key === child.key;
}

function create(child) {
  if (child.tag === undefined) return document.createTextNode("");
  const node = SVG.has(child.tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", child.tag)
    : document.createElement(child.tag);
  node.key = child.key;
  node.described = {};
  return node;
}

function update(node, child) {
  if (child.tag === undefined) {
    if (node.nodeValue !== String(child)) node.nodeValue = child;
    return;
  }
  for (const name of Object.keys({ ...node.described, ...child.attributes })) {
    const value = child.attributes[name];
    if (name.startsWith("on")) node[name] = value ?? null;
    else if (value == null || value === false) node.removeAttribute(name);
    else if (node.described[name] !== value) node.setAttribute(name, value === true ? "" : value);
  }
  node.described = child.attributes;
  patch(node, child.children);
}
