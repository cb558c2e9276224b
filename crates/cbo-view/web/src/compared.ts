// Several runs in one picture.

import { Chart } from "./chart";
import { choice, h, select } from "./dom";
import { count, duration, short } from "./format";
import type { Frame } from "./frame";
import { badge } from "./overview";
import { above } from "./curves";
import { curve } from "./theme";
import type { Numbers, Whole } from "./types";

/** Runs in one picture at most. */
const MOST = 8;

function series(run: Whole, over: string): [Numbers, Numbers] {
  const training = run.training?.curve;
  if (training) return [training[over === "seconds" ? "seconds" : "step"] ?? [], training["loss"] ?? []];
  const columns = run.history?.columns ?? {};
  return [columns[over] ?? columns["evaluations"] ?? [], columns["best"] ?? []];
}

export async function compared(frame: Frame, ids: string[]): Promise<void> {
  const runs = await Promise.all(ids.slice(0, MOST).map((id) => frame.source.whole(id)));
  const chart = new Chart("Best values of several runs", 420);
  frame.onEnd(() => chart.end());
  let [over, scale] = ["evaluations", "auto"];
  const draw = () => {
    const all = runs.map((run) => series(run, over));
    const places = [...new Set(all.flatMap(([x]) => x.filter((v): v is number => v !== null)))].sort((a, b) => a - b);
    const floor = all.reduce((m, [, y]) => y.reduce<number>((n, v) => (v !== null && v < n ? v : n), m), Infinity);
    const log = scale === "log" || (scale === "auto" && floor >= 0);
    const lines = all.map(([x, y], k) => {
      const known = new Map(x.map((v, i) => [v, y[i] ?? null]));
      // Between its own points a run has the last value that it had.
      let last: number | null = null;
      const end = x.at(-1) ?? -Infinity;
      const values = places.map((place) => {
        if (known.has(place)) last = known.get(place) ?? last;
        return place <= end ? last : null;
      });
      return { label: runs[k]!.short.name, values: log ? above(values, floor) : values, colour: () => curve(k), steps: true };
    });
    const xLabel = over === "evaluations" && runs.every((run) => run.training) ? "step" : over;
    chart.show({ x: places, xLabel, lines, logY: log, yLabel: log && floor <= 0 && floor !== 0 ? "value above the least" : "best value" });
  };
  frame.show("Compared", [["Compared", null]], [
    h("div", { class: "title" }, h("h1", {}, `${runs.length} runs`)),
    ids.length > MOST ? h("p", { class: "note" }, `The first ${MOST} of ${ids.length} are shown.`) : null,
    h("section", { class: "card" },
      h("div", { class: "bar" }, h("h2", {}, "Best value"),
        choice("Horizontal axis", [["evaluations", "Evaluations"], ["seconds", "Seconds"]] as const, "evaluations", (v) => { over = v; draw(); }),
        select("Values", [["auto", "auto"], ["log", "logarithmic"], ["linear", "linear"]], "auto", (v) => { scale = v; draw(); })),
      chart.element),
    h("section", { class: "card" }, h("h2", {}, "In numbers"),
      h("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Runs in numbers" }, h("table", {},
        h("thead", {}, h("tr", {}, ["Run", "State", "Objective", "Method", "Best value", "Evaluations", "Time"].map((words, k) =>
          h("th", { scope: "col", class: k > 3 ? "right" : "" }, words)))),
        h("tbody", {}, runs.map(({ short: run }) => h("tr", {},
          h("td", {}, h("a", { href: `#/run/${run.id}` }, run.name)), h("td", {}, badge(run.state)), h("td", {}, run.objective),
          h("td", {}, run.method), h("td", { class: "right number" }, short(run.best)),
          h("td", { class: "right number" }, count(run.evaluations)), h("td", { class: "right number" }, duration(run.seconds)))))))),
    differences(runs),
  ]);
  draw();
}

/** The settings in which the runs differ. */
function differences(runs: Whole[]): HTMLElement | null {
  const maps = runs.map((run) => new Map((run.settings ?? []).map((s) => [s.key, s.value])));
  const keys = [...new Set(maps.flatMap((map) => [...map.keys()]))].sort();
  const found = keys.filter((key) => maps.some((map) => map.get(key) !== maps[0]!.get(key)));
  if (found.length === 0) return null;
  return h("section", { class: "card" }, h("h2", {}, "Settings that differ"),
    h("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Settings that differ" }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Setting"), runs.map((run) => h("th", { scope: "col" }, run.short.name)))),
      h("tbody", {}, found.map((key) => h("tr", {}, h("th", { scope: "row" }, key), maps.map((map) => h("td", {}, map.get(key) ?? "–"))))))));
}
