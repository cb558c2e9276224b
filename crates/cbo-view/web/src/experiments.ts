// Comparisons of methods, and the maps of experiments.

import { Chart } from "./chart";
import { fill, h, section, type Child } from "./dom";
import { count, duration, short } from "./format";
import type { Frame } from "./frame";
import { matrix } from "./grid";
import { curve } from "./theme";
import type { Comparison, Experiment, Numbers } from "./types";

export function comparison(frame: Frame, place: HTMLElement, found: Comparison): void {
  const report = found.report;
  if (!report) return fill(place, h("p", { class: "fault" }, "compare.json cannot be read."));
  const parts = report.problems.map((problem): Child => {
    const name = Object.keys(found.curves).find((key) => problem.objective === key || problem.objective.startsWith(`${key} `)) ?? problem.objective;
    const curves = found.curves[name] ?? {};
    const methods = report.methods.filter((method) => (curves[method] ?? []).length > 0);
    const chart = new Chart(`Targets reached on ${problem.objective}`, 320);
    frame.onEnd(() => chart.end());
    const places = [...new Set(methods.flatMap((m) => curves[m]!.map((p) => p[0])))].sort((a, b) => a - b);
    // A method has what it had until it reaches more.
    const line = (method: string): Numbers => {
      const points = new Map(curves[method]!.map((p) => [p[0], p[1]]));
      let last: number | null = null;
      return places.map((at) => { last = points.get(at) ?? last; return last; });
    };
    const rows = problem.rows;
    const cell = (row: Record<string, number | string | null>, key: string) => row[key] ?? null;
    const percent = (value: number | string | null) => (typeof value === "number" ? `${short(100 * value, 3)} %` : "–");
    const view = section(`${problem.objective}, ${count(problem.dim)} dimensions`,
      h("p", { class: "note" }, `Part of the targets that ${count(problem.runs)} runs of each method have reached, over evaluations.`),
      chart.element,
      h("div", { class: "table", tabindex: 0, role: "region", "aria-label": `Methods on ${problem.objective}` }, h("table", {},
        h("thead", {}, h("tr", {}, ["Method", "Success", "95 % interval", "Median evaluations", "Expected evaluations", "Median value", "Targets"]
          .map((words, k) => h("th", { scope: "col", class: k > 0 ? "right" : "" }, words)))),
        h("tbody", {}, rows.map((row) => h("tr", {},
          h("th", { scope: "row" }, String(cell(row, "method"))),
          h("td", { class: "right number" }, percent(cell(row, "rate"))),
          h("td", { class: "right number" }, `${percent(cell(row, "wilson_low"))} – ${percent(cell(row, "wilson_high"))}`),
          h("td", { class: "right number" }, short(cell(row, "median_evaluations"))),
          h("td", { class: "right number" }, short(cell(row, "expected_evaluations"))),
          h("td", { class: "right number" }, short(cell(row, "median_value"), 4)),
          h("td", { class: "right number" }, percent(cell(row, "targets_reached")))))))));
    queueMicrotask(() => chart.show({
      x: places, xLabel: "evaluations", logX: true, yLabel: "targets reached",
      lines: methods.map((method, k) => ({ label: method, values: line(method), colour: () => curve(k), steps: true })),
    }));
    return view;
  });
  fill(place, h("p", { class: "note" }, `${report.methods.join(", ")}; ${count(report.runs)} runs of each`), parts);
}

export function experiment(frame: Frame, place: HTMLElement, id: string, found: Experiment): void {
  const report = found.report;
  if (!report) return fill(place, h("p", { class: "fault" }, `${found.name}.json cannot be read.`));
  const { x, y, successes, runs } = report;
  const picture = found.picture ? frame.source.picture(id, "experiment") : null;
  let map: Child = null;
  if (x && y && successes && runs) {
    const words = (v: number | null) => (v === null ? "∞" : short(v, 4));
    const width = x.values.length;
    // The first row of numbers is at the bottom, as in a diagram.
    const values = y.values.map((_, i) => successes.slice(i * width, (i + 1) * width)).reverse();
    const rows = y.values.map(words).reverse();
    map = section("Success", h("p", { class: "note" }, `Of ${count(runs)} runs each; dark is never, yellow is always.`),
      matrix({ values, rows, columns: x.values.map(words), rowLabel: y.name.replaceAll("_", " "), columnLabel: x.name.replaceAll("_", " "),
        shade: (value) => value / runs,
        words: (value, row, column) => {
          const [low, high] = wilson(value, runs);
          return `${x.name.replaceAll("_", " ")} ${column}, ${y.name.replaceAll("_", " ")} ${row}: ${value} of ${runs} succeeded `
            + `(${Math.round((100 * value) / runs)} %, 95 % interval ${Math.round(100 * low)} to ${Math.round(100 * high)} %)`;
        } }));
  }
  const parameters = Object.entries(report.parameters ?? {}).filter(([, v]) => typeof v !== "object");
  fill(place, map,
    picture && !map ? section("Picture", h("img", { src: picture, alt: `The picture of the experiment ${found.name}`, class: "picture" })) : null,
    parameters.length > 0 ? section("Parameters", h("dl", { class: "facts small" }, parameters.map(([key, value]) =>
      h("div", { class: "fact" }, h("dt", {}, key.replaceAll("_", " ")), h("dd", {}, typeof value === "number" ? short(value) : String(value)))))) : null,
    report.seconds ? h("p", { class: "note" }, `It took ${duration(report.seconds)}.`) : null);
}

/** Wilson's interval of 95 %. */
function wilson(successes: number, runs: number): [number, number] {
  const z = 1.959963984540054;
  const [p, n] = [successes / runs, runs];
  const middle = (p + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const reach = (z / (1 + (z * z) / n)) * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n));
  return [Math.max(0, middle - reach), Math.min(1, middle + reach)];
}
