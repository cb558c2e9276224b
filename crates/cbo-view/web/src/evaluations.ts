// The table of a program's evaluations: sorted and filtered where the store is.

import { fill, h, select } from "./dom";
import { count, duration, point, short } from "./format";
import type { Frame } from "./frame";
import type { Page, Question, Row } from "./types";

const ROWS = 50;
const STATUSES = ["ok", "infeasible", "failed", "no-value", "timeout", "died", "garbage", "not-started"];
const COLUMNS: [string, string, boolean][] = [["id", "Number", true], ["value", "Value", true], ["status", "Status", false],
  ["seconds", "Time", true], ["attempt", "Attempt", true]];

export function evaluations(frame: Frame, place: HTMLElement, id: string): void {
  const question: Question = { sort: "id", way: "down", status: "", from: "", to: "", text: "", offset: 0, limit: ROWS };
  const body = h("tbody");
  const note = h("p", { class: "note", role: "status" });
  const opened = new Set<number>();
  let turn = 0;

  const headings = COLUMNS.map(([key, words, right]) => h("th", { scope: "col", class: right ? "right" : "" },
    h("button", { type: "button", class: "sort", click: () => {
      question.way = question.sort === key && question.way === "up" ? "down" : question.sort === key ? "up" : key === "value" ? "up" : "down";
      question.sort = key;
      question.offset = 0;
      void ask();
    } }, words)));
  const before = h("button", { type: "button", click: () => { question.offset = Math.max(0, question.offset - ROWS); void ask(); } }, "Before");
  const after = h("button", { type: "button", click: () => { question.offset += ROWS; void ask(); } }, "After");
  const link = h("a", { class: "button", download: "evaluations.csv" }, "Export CSV");

  const row = (one: Row, said: boolean): HTMLElement[] => {
    const details = one.message !== "" || one.stderr !== "";
    const line = h("tr", {},
      h("td", { class: "right number" }, count(one.id)),
      h("td", { class: "right number" }, short(one.value)),
      h("td", {}, h("span", { class: `badge ${one.status === "ok" ? "finished" : one.status === "infeasible" ? "" : "failed"}` }, one.status)),
      h("td", { class: "right number" }, duration(one.seconds)),
      h("td", { class: "right number" }, one.attempt),
      h("td", { class: "number" }, point(one.x)),
      h("td", { class: "number" }, one.finished.replace("T", " ").replace(/\.\d+Z$/, "")),
      h("td", {}, details ? h("button", { type: "button", class: "quiet", "aria-expanded": String(said), click: () => {
        if (opened.has(one.id)) opened.delete(one.id); else opened.add(one.id);
        draw();
      } }, said ? "Hide" : "Show") : null));
    if (!said) return [line];
    return [line, h("tr", { class: "said" }, h("td", { colspan: COLUMNS.length + 3 },
      one.message ? h("p", {}, one.message) : null, one.stderr ? h("pre", { tabindex: 0, "aria-label": "What the program wrote to stderr" }, one.stderr) : null))];
  };

  let page: Page | null = null;
  const draw = () => {
    if (!page) return;
    headings.forEach((heading, k) => heading.setAttribute("aria-sort",
      COLUMNS[k]![0] !== question.sort ? "none" : question.way === "down" ? "descending" : "ascending"));
    fill(body, page.rows.flatMap((one) => row(one, opened.has(one.id))));
    const last = question.offset + page.rows.length;
    before.disabled = question.offset === 0;
    after.disabled = page.rows.length < ROWS || last >= page.count && !page.more;
    const range = page.rows.length > 0 ? `${count(question.offset + 1)} to ${count(last)} of ` : "";
    note.textContent = `${range}${page.more ? "more than " : ""}${count(page.count)} attempts, ${count(page.total)} in all`
      + (frame.source.live ? "" : "; a report holds the best of them");
    const address = frame.source.exported(id, question);
    link.hidden = address === null;
    if (address) link.href = address;
  };

  const ask = async () => {
    const mine = ++turn;
    try {
      const answer = await frame.source.page(id, question);
      if (mine !== turn) return;
      page = answer;
      draw();
    } catch (error) {
      if (mine === turn) note.textContent = error instanceof Error ? error.message : String(error);
    }
  };

  let typing = 0;
  const field = (label: string, key: "from" | "to" | "text", type: string) => {
    const input = h("input", { type, step: "any", input: () => {
      question[key] = input.value;
      question.offset = 0;
      window.clearTimeout(typing);
      typing = window.setTimeout(() => void ask(), 200);
    } });
    return h("label", { class: "field" }, h("span", {}, label), input);
  };
  fill(place, h("section", { class: "card" }, h("h2", {}, "Evaluations"),
    h("div", { class: "bar" },
      select("Status", [["", "all"], ...STATUSES.map((s): [string, string] => [s, s])], "", (value) => {
        question.status = value;
        question.offset = 0;
        void ask();
      }),
      field("Value from", "from", "number"), field("to", "to", "number"), field("Error text", "text", "search"), link),
    h("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Evaluations" }, h("table", {},
      h("thead", {}, h("tr", {}, headings, h("th", { scope: "col" }, "At x"), h("th", { scope: "col" }, "Finished"),
        h("th", { scope: "col" }, h("span", { class: "hidden" }, "What was said")))), body)),
    h("div", { class: "bar" }, before, after, h("button", { type: "button", hidden: !frame.source.live, click: () => void ask() }, "Refresh"), note)));
  void ask();
}
