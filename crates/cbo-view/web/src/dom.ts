// Elements, made without HTML text: whatever a program has written stays text.

export type Child = Node | string | number | null | undefined | false | Child[];

type Attributes = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

function put(element: Element, child: Child): void {
  if (child === null || child === undefined || child === false) return;
  if (Array.isArray(child)) child.forEach((one) => put(element, one));
  else element.append(child instanceof Node ? child : String(child));
}

/** An element with attributes; functions are listeners of the event that their name says. */
export function h<K extends keyof HTMLElementTagNameMap>(
  name: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value as EventListener);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== undefined) element.setAttribute(key, String(value));
  }
  put(element, children);
  return element;
}

/** Replaces everything in an element. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  put(element, children);
}

/** Choices of which one holds, as buttons. */
export function choice<T extends string>(
  label: string, options: readonly (readonly [T, string])[], chosen: T, change: (value: T) => void,
): HTMLElement {
  const buttons = options.map(([value, words]) => {
    const button = h("button", { type: "button", "aria-pressed": String(value === chosen), click: () => {
      buttons.forEach((b) => b.setAttribute("aria-pressed", String(b === button)));
      change(value);
    } }, words);
    return button;
  });
  return h("div", { class: "choice", role: "group", "aria-label": label }, buttons);
}

/** A list to choose from. */
export function select(
  label: string, options: (readonly [string, string])[], chosen: string, change: (value: string) => void,
): HTMLLabelElement {
  const list = h("select", { change: () => change(list.value) },
    options.map(([value, words]) => h("option", { value, selected: value === chosen }, words)));
  return h("label", { class: "field" }, h("span", {}, label), list);
}

/** A part of a page with a heading. */
export function section(title: string, ...children: Child[]): HTMLElement {
  return h("section", { class: "card" }, h("h2", {}, title), children);
}
