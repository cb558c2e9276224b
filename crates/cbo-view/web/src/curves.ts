// The curves of a run: values, spread, weights and noise, failures.

import { Chart, type Content } from "./chart";
import { choice, h, select } from "./dom";
import { short } from "./format";
import { curve } from "./theme";
import type { History, Numbers } from "./types";

type Scale = "auto" | "log" | "linear";
type Over = "evaluations" | "seconds" | "step";

const least = (values: Numbers) => values.reduce<number>((m, v) => (v !== null && v < m ? v : m), Infinity);
const some = (values: Numbers | undefined): values is Numbers => values !== undefined && values.some((v) => v !== null);
/** Whether there is something to see: noise in the last digits is not. */
const differ = (values: Numbers) => {
  const known = values.filter((v) => v !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return high - low > 1e-3 * Math.max(Math.abs(low), Math.abs(high));
};

const AXES: Record<Over, string> = { evaluations: "evaluations", seconds: "seconds", step: "step" };

/** Values on a logarithmic axis: above their least where some are not positive. */
export function above(values: Numbers, floor: number): Numbers {
  return floor > 0 ? values : values.map((v) => (v === null ? null : v - floor));
}

export class Curves {
  readonly element: HTMLElement;
  private over: Over = "evaluations";
  private scale: Scale = "auto";
  private logX = false;
  private readonly value = new Chart("Best value and spread", 320);
  private readonly size = new Chart("Effective sample size", 200);
  private readonly weights = new Chart("Alpha and sigma", 200);
  private readonly failed = new Chart("Failed evaluations", 200);
  private readonly constants = h("p", { class: "note" });
  private readonly gaps = h("p", { class: "note" }, "Alpha is infinite where its line has a gap.");
  private readonly parts: { sizes: HTMLElement; weights: HTMLElement; failed: HTMLElement };

  constructor(private history: History) {
    const axes = choice("Horizontal axis", [["evaluations", "Evaluations"], ["seconds", "Seconds"], ["step", "Steps"]] as const,
      this.over, (over) => { this.over = over; this.draw(); });
    const scale = select("Values", [["auto", "auto"], ["log", "logarithmic"], ["linear", "linear"]], this.scale,
      (scale) => { this.scale = scale as Scale; this.draw(); });
    const log = h("input", { type: "checkbox", change: () => { this.logX = log.checked; this.draw(); } });
    this.parts = {
      sizes: h("section", { class: "card" }, h("h2", {}, "Effective sample size"), this.size.element),
      weights: h("section", { class: "card" }, h("h2", {}, "Alpha and sigma"), this.weights.element, this.gaps),
      failed: h("section", { class: "card" }, h("h2", {}, "Failed evaluations"), this.failed.element),
    };
    const help = h("p", { class: "note" }, "Drag to zoom, Shift and drag to move, double-click to see all.");
    this.element = h("div", { class: "stack" },
      h("section", { class: "card" }, h("div", { class: "bar" }, h("h2", {}, "Best value and spread"), axes, scale,
        h("label", { class: "field" }, log, h("span", {}, "log axis"))), this.value.element, help),
      h("div", { class: "grid" }, this.parts.sizes, this.parts.weights, this.parts.failed),
      this.constants);
    this.draw();
  }

  end(): void { [this.value, this.size, this.weights, this.failed].forEach((chart) => chart.end()); }

  /** More steps, or all of them anew. */
  add(more: History): void {
    const first = more.columns["step"]?.[0] ?? null;
    const last = this.history.columns["step"]?.at(-1) ?? null;
    if (first !== null && last !== null && first > last && more.spacing !== 0) {
      for (const [name, values] of Object.entries(more.columns)) {
        this.history.columns[name] = [...(this.history.columns[name] ?? []), ...values];
      }
      this.history.infinite = more.infinite;
    } else if (first !== null) this.history = more;
    else return;
    this.draw();
  }

  get last(): number { return this.history.columns["step"]?.at(-1) ?? -1; }
  get spacing(): number {
    const steps = this.history.columns["step"] ?? [];
    return steps.length > 1 ? (steps[1] ?? 0) - (steps[0] ?? 0) : this.history.spacing;
  }

  private draw(): void {
    const c = this.history.columns;
    const over = c[this.over] ? this.over : "evaluations";
    const x = c[over] ?? [];
    const base = { x, xLabel: AXES[over], logX: this.logX };
    const [best, now] = [c["best"] ?? [], c["least"] ?? []];
    const floor = Math.min(least(best), least(now));
    const span = Math.max(...best.filter((v): v is number => v !== null), -Infinity);
    const log = this.scale === "log" || (this.scale === "auto" && floor > 0 && span / floor > 50)
      || (this.scale === "auto" && floor <= 0 && span - floor > 0 && floor > -1e-9 * span);
    const moved = log && floor <= 0;
    const lines: Content["lines"] = [
      { label: "best so far", values: log ? above(best, floor) : best, colour: () => curve(0), steps: true },
      { label: "best of the step", values: log ? above(now, floor) : now, colour: () => curve(5), dash: [2, 3] }];
    if (some(c["spread"])) lines.push({ label: "spread", values: c["spread"], colour: () => curve(1), right: true });
    if (some(c["violation"])) lines.push({ label: "violation", values: c["violation"], colour: () => curve(3), right: true });
    const label = moved && floor !== 0 ? "value above the least" : "value";
    this.value.show({ ...base, lines, logY: log, yLabel: label, rightLabel: "spread", logRight: log });
    const infinite = (name: string) => this.history.infinite?.includes(name) ?? false;
    const same = ["effective_sample_size", "alpha", "sigma"].filter((name) => (some(c[name]) ? !differ(c[name]) && !infinite(name) : infinite(name)));
    this.constants.hidden = same.length === 0;
    const constant = (name: string) => (infinite(name) ? "inf" : short(c[name]?.at(-1), 5));
    this.constants.textContent = `Constant: ${same.map((name) => `${name.replaceAll("_", " ")} ${constant(name)}`).join(", ")}.`;
    this.part(this.parts.sizes, this.size, some(c["effective_sample_size"]) && differ(c["effective_sample_size"]),
      { ...base, lines: [{ label: "effective sample size", values: c["effective_sample_size"] ?? [], colour: () => curve(2) }] });
    const weights: Content["lines"] = [];
    if (some(c["sigma"])) weights.push({ label: "sigma", values: c["sigma"], colour: () => curve(0) });
    if (some(c["alpha"])) weights.push({ label: "alpha", values: c["alpha"], colour: () => curve(1), right: true });
    const gaps = infinite("alpha") && some(c["alpha"]);
    this.gaps.hidden = !gaps;
    this.part(this.parts.weights, this.weights, gaps || weights.some((line) => differ(line.values)),
      { ...base, lines: weights, yLabel: "sigma", rightLabel: "alpha" });
    this.part(this.parts.failed, this.failed, (c["failed"]?.at(-1) ?? 0) !== 0,
      { ...base, lines: [{ label: "failed", values: c["failed"] ?? [], colour: () => curve(1), steps: true }] });
  }

  private part(place: HTMLElement, chart: Chart, shown: boolean, content: Content): void {
    place.hidden = !shown;
    if (shown) chart.show(content);
  }
}
