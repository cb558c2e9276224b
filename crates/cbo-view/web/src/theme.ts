// Light and dark, and colours that colour-blind people can tell apart (Okabe and Ito).

export type Theme = "auto" | "light" | "dark";

const KEY = "cbo-theme";
const asked = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
let theme: Theme = "auto";

try {
  const kept = localStorage.getItem(KEY);
  if (kept === "light" || kept === "dark") theme = kept;
} catch { /* a page in a notebook may have no storage */ }

export function isDark(): boolean {
  return theme === "auto" ? asked.matches : theme === "dark";
}

function apply(): void {
  document.documentElement.dataset["theme"] = isDark() ? "dark" : "light";
  listeners.forEach((listener) => listener());
}

export function chosen(): Theme { return theme; }

export function choose(next: Theme): void {
  theme = next;
  try { localStorage.setItem(KEY, next); } catch { /* as above */ }
  apply();
}

/** Is called when colours change; returns what ends that. */
export function onChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

asked.addEventListener("change", apply);
apply();

/** A colour of the style. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#a8518a", "#b07a00", "#2b8cc4", "#555555", "#7a5195"];
const DARK = ["#56b4e9", "#f28c4b", "#34c79b", "#e29cc4", "#e6b13a", "#8ccbf2", "#b8b8b8", "#b79ad6"];

/** Colours of curves. */
export function curve(k: number): string {
  const colours = isDark() ? DARK : LIGHT;
  return colours[k % colours.length] ?? "#888888";
}

/** Viridis at a place between 0 and 1, as red, green and blue. */
export function viridis(at: number): [number, number, number] {
  const stops: [number, number, number][] = [
    [68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121], [110, 206, 88],
    [181, 222, 43], [253, 231, 37]];
  const place = Math.min(Math.max(at, 0), 1) * (stops.length - 1);
  const k = Math.min(Math.floor(place), stops.length - 2);
  const [a, b, part] = [stops[k]!, stops[k + 1]!, place - k];
  return [0, 1, 2].map((c) => Math.round(a[c]! + (b[c]! - a[c]!) * part)) as [number, number, number];
}
