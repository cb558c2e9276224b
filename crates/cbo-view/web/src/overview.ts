// All runs below the folders: sorted, filtered, several of them chosen to compare.

import { sparkline } from "./chart";
import { fill, h, select } from "./dom";
import { ago, count, duration, short } from "./format";
import type { Frame } from "./frame";
import type { Short, State } from "./types";

type Key = "name" | "objective" | "method" | "state" | "best" | "evaluations" | "seconds" | "active";

const COLUMNS: [Key, string, boolean][] = [
  ["name", "Run", false], ["state", "State", false], ["objective", "Objective", false], ["method", "Method", false],
  ["best", "Best value", true], ["evaluations", "Evaluations", true], ["seconds", "Time", true], ["active", "Last active", true]];

/** Rows that are shown at once. */
const MOST = 300;

export function badge(state: State): HTMLElement {
  return h("span", { class: `badge ${state}` }, state);
}

function address(run: Short): string { return `#/run/${run.id}`; }

function compare(a: Short, b: Short, key: Key): number {
  const [x, y] = [a[key], b[key]];
  if (x === null || y === null) return Number(x === null) - Number(y === null);
  return typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
}

export async function overview(frame: Frame): Promise<void> {
  const answer = await frame.source.runs();
  const runs = new Map(answer.runs.map((run) => [run.id, run]));
  if (!frame.source.live && answer.runs.length === 1 && answer.runs[0]) return frame.go(address(answer.runs[0]));
  const chosen = new Set<string>();
  let [sort, falling, text, state] = ["active" as Key, true, "", ""];

  const body = h("tbody");
  const headings = COLUMNS.map(([key, words, right]) => h("th", { scope: "col", class: right ? "right" : "" },
    h("button", { type: "button", class: "sort", click: () => {
      falling = key === sort ? !falling : ["best", "name", "objective", "method", "state"].includes(key) ? false : true;
      sort = key;
      draw();
    } }, words)));
  const note = h("p", { class: "note", role: "status" });
  const empty = h("p", { class: "empty" }, "No runs here yet. A run with ", h("code", {}, "--out FOLDER"), " below this folder appears by itself.");
  const together = h("button", { type: "button", class: "primary", disabled: true,
    click: () => frame.go(`#/compare/${[...chosen].join(",")}`) }, "Compare");

  const draw = () => {
    headings.forEach((heading, k) =>
      heading.setAttribute("aria-sort", COLUMNS[k]![0] !== sort ? "none" : falling ? "descending" : "ascending"));
    const wanted = text.toLowerCase();
    const found = [...runs.values()].filter((run) => (state === "" || run.state === state)
      && `${run.name} ${run.objective} ${run.method} ${run.kind}`.toLowerCase().includes(wanted));
    found.sort((a, b) => {
      const order = compare(a, b, sort);
      return (a[sort] === null || b[sort] === null ? order : falling ? -order : order) || a.name.localeCompare(b.name);
    });
    // What is in focus stays there when rows are drawn anew.
    const focus = (document.activeElement as HTMLElement | null)?.dataset["focus"];
    fill(body, found.slice(0, MOST).map(row));
    if (focus) body.querySelector<HTMLElement>(`[data-focus="${CSS.escape(focus)}"]`)?.focus();
    const cut = found.length > MOST ? `; the first ${MOST} are shown` : "";
    const left = answer.left_out ? `; ${count(answer.left_out)} more are not in this report` : "";
    empty.hidden = runs.size > 0;
    note.textContent = `${count(found.length)} of ${count(runs.size)} runs${cut}${left}`;
    together.disabled = chosen.size < 2;
    together.textContent = chosen.size < 2 ? "Compare" : `Compare ${chosen.size}`;
  };

  const row = (run: Short) => {
    const pick = run.kind === "run" || run.kind === "training";
    const box = h("input", { type: "checkbox", "aria-label": `Choose ${run.name}`, checked: chosen.has(run.id),
      "data-focus": `box-${run.id}`, change: () => {
        if (box.checked) chosen.add(run.id); else chosen.delete(run.id);
        draw();
      } });
    return h("tr", {},
      h("td", { class: "pick" }, pick ? box : null),
      h("td", { class: "name" }, h("div", {}, h("a", { href: address(run), "data-focus": `link-${run.id}` }, run.name)),
        run.kind === "run" ? null : h("div", { class: "kind" }, run.kind)),
      h("td", {}, badge(run.state)),
      h("td", { class: "objective", title: run.objective }, run.objective, run.dim ? h("span", { class: "dim" }, ` ${count(run.dim)}-D`) : null),
      h("td", {}, run.method),
      h("td", { class: "right number" }, short(run.best)),
      h("td", { class: "right number" }, count(run.evaluations)),
      h("td", { class: "right number" }, duration(run.seconds)),
      h("td", { class: "right" }, ago(run.active)),
      h("td", {}, run.curve.length > 1 ? sparkline(run.curve, `Best value of ${run.name} over evaluations`) : null));
  };

  const search = h("input", { type: "search", placeholder: "Filter by name, objective or method", "aria-label": "Filter", input: () => {
    text = search.value;
    draw();
  } });
  const states = select("State", [["", "all"], ["running", "running"], ["finished", "finished"], ["interrupted", "interrupted"],
    ["failed", "failed"]], "", (value) => { state = value; draw(); });

  frame.show("Runs", [], [
    h("div", { class: "title" }, h("h1", {}, "Runs"),
      answer.folders.length > 0 ? h("p", { class: "path" }, answer.folders.join(", ")) : null),
    h("div", { class: "bar" }, search, states, together),
    empty,
    h("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Runs" },
      h("table", { class: "runs" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", { class: "hidden" }, "Choose")), headings,
        h("th", { scope: "col" }, "Progress"))), body)),
    note,
  ]);
  draw();

  let waiting = 0;
  frame.watch(null, (news) => {
    if (news.short) runs.set(news.short.id, news.short);
    if (news.gone) { runs.delete(news.gone); chosen.delete(news.gone); }
    // The first news are of all runs, one after the other.
    window.clearTimeout(waiting);
    waiting = window.setTimeout(draw, 50);
  }, async () => {
    const fresh = (await frame.source.runs()).runs;
    // Some may have gone meanwhile.
    runs.clear();
    fresh.forEach((run) => runs.set(run.id, run));
    [...chosen].filter((id) => !runs.has(id)).forEach((id) => chosen.delete(id));
    draw();
  });
}
