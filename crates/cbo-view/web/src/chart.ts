// Curves: log axes, values under the cursor, zoom by dragging or the wheel, pan with Shift, all by keyboard too.

import uPlot from "uplot";
import { h } from "./dom";
import { short } from "./format";
import { colour, onChange } from "./theme";
import type { Numbers } from "./types";

export interface Line {
  label: string; values: Numbers; colour: () => string;
  /** Drawn against the scale on the right. */
  right?: boolean; points?: boolean; dash?: number[]; steps?: boolean;
}

export interface Content {
  x: Numbers; xLabel: string; lines: Line[];
  logX?: boolean; logY?: boolean; yLabel?: string; rightLabel?: string; logRight?: boolean;
  /** A band between two of the lines, by their numbers. */
  bands?: [number, number, () => string][];
}

const FONT = "12px system-ui, -apple-system, 'Segoe UI', sans-serif";

function positive(values: Numbers): Numbers { return values.map((v) => (v !== null && v > 0 ? v : null)); }

/** The ends of a logarithmic axis; uPlot's own do not go down as far as a swarm does. */
function ends(_: uPlot, low: number | null, high: number | null): [number, number] {
  if (low === null || high === null || !(low > 0) || !Number.isFinite(high)) return [1, 10];
  const [bottom, top] = [Math.log10(low), Math.log10(high)];
  const more = Math.max(0.04 * (top - bottom), 0.02);
  return [Math.max(10 ** (bottom - more), 1e-300), 10 ** Math.min(top + more, 300)];
}

/** Ticks of a logarithmic axis: decades, no more of them than fit; within few decades round numbers. */
function decades(_: uPlot, _axis: number, low: number, high: number): number[] {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const every = Math.max(1, Math.ceil((last - first + 1) / 6));
  const ticks: number[] = [];
  if (last - first >= 2) {
    for (let k = Math.ceil(first / every) * every; k <= last; k += every) ticks.push(Number(`1e${k}`));
    return ticks;
  }
  for (let k = first - 1; k <= last; k++) {
    for (const digit of [1, 2, 5]) {
      const tick = Number(`${digit}e${k}`);
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks.length > 1 ? ticks : [low, Math.sqrt(low * high), high];
}

export class Chart {
  readonly element: HTMLElement;
  private plot: uPlot | null = null;
  private readonly place = h("div", { class: "plot" });
  private content: Content | null = null;
  private shape = "";
  private readonly again = h("button", { type: "button", class: "quiet", click: () => this.reset() }, "Reset zoom");
  private readonly ended: (() => void)[] = [];

  constructor(label: string, private readonly height = 280) {
    this.element = h("div", { class: "chart" }, this.place, h("div", { class: "under" }, this.again));
    this.zoomed = false;
    this.place.tabIndex = 0;
    this.place.setAttribute("role", "img");
    this.place.setAttribute("aria-label", `${label}. Left and right move the cursor, plus and minus zoom, 0 resets.`);
    this.place.addEventListener("keydown", (event) => this.key(event));
    this.place.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    const size = new ResizeObserver(() => this.resize());
    size.observe(this.place);
    this.ended.push(() => size.disconnect(), onChange(() => this.draw(true)));
  }

  end(): void {
    this.ended.forEach((end) => end());
    this.plot?.destroy();
  }

  show(content: Content): void {
    this.content = content;
    this.draw(false);
  }

  private get zoomed(): boolean { return !this.again.hidden; }
  private set zoomed(yes: boolean) { this.again.hidden = !yes; }

  /** Without a cursor the legend tells the last values. */
  private tell(): void {
    const last = (this.plot?.data[0].length ?? 0) - 1;
    if (last >= 0 && (this.plot?.cursor.idx ?? null) === null) this.plot?.setLegend({ idx: last }, false);
  }

  private reset(): void {
    this.zoomed = false;
    this.draw(true);
  }

  private data(content: Content): uPlot.AlignedData {
    const x = content.logX ? positive(content.x) : content.x;
    // Without a place on the axis there is no point.
    const kept = x.map((v, k) => [v, k] as const).filter(([v]) => v !== null).map(([, k]) => k);
    const pick = (values: Numbers) => kept.map((k) => values[k] ?? null);
    const lines = content.lines.map((line) => {
      const log = line.right ? content.logRight : content.logY;
      return pick(log ? positive(line.values) : line.values);
    });
    return [pick(x) as number[], ...lines];
  }

  private draw(anew: boolean): void {
    const content = this.content;
    if (!content || this.place.clientWidth === 0) return;
    const { logX, logY, logRight, xLabel, yLabel, rightLabel } = content;
    const shape = JSON.stringify([logX, logY, logRight, xLabel, yLabel, rightLabel, content.lines.map((l) => [l.label, l.right])]);
    const data = this.data(content);
    if (this.plot && !anew && shape === this.shape) {
      this.plot.setData(data, !this.zoomed);
      if (this.zoomed) this.plot.redraw();
      return this.tell();
    }
    this.shape = shape;
    this.zoomed = false;
    this.plot?.destroy();
    this.place.replaceChildren();
    this.plot = new uPlot(this.options(content), data, this.place);
    this.tell();
  }

  private options(content: Content): uPlot.Options {
    const axis = (more: Partial<uPlot.Axis>): uPlot.Axis => ({
      stroke: colour("muted"), font: FONT, labelFont: FONT, labelSize: 18, labelGap: 0, gap: 4, filter: all,
      grid: { stroke: colour("grid"), width: 1 }, ticks: { show: false }, ...more,
    });
    const value = (_: uPlot, v: number | null) => (v === null ? "–" : short(v, 6));
    const ticks = (_: uPlot, values: (number | null)[]) => {
      const numbers = values.filter((v) => v !== null);
      const step = Math.abs((numbers[1] ?? 1) - (numbers[0] ?? 0));
      // As many digits as tell neighbours apart.
      const digits = Math.ceil(Math.log10(Math.max(...numbers.map(Math.abs), 1e-300) / Math.max(step, 1e-300))) + 1;
      return values.map((v) => (v === null ? "" : short(v, Math.min(Math.max(digits, 3), 10))));
    };
    const all = (_: uPlot, splits: number[]) => splits;
    const rightUsed = content.lines.some((line) => line.right);
    const scale = (log?: boolean): uPlot.Scale => (log ? { distr: 3, log: 10, range: ends } : { distr: 1 });
    const dots = content.lines.map((line) => line.points === true);
    return {
      width: this.place.clientWidth, height: this.height, class: "lines",
      cursor: {
        drag: { x: true, y: false, setScale: true }, focus: { prox: 24 },
        points: { size: 7 },
        bind: { dblclick: () => () => { this.reset(); return null; },
          mousedown: (u, _target, handler) => (event) => {
            if (event.shiftKey) { this.pan(u, event); return null; }
            handler(event);
            return null;
          } },
      },
      legend: { live: true, markers: { width: 3 } },
      scales: { x: { time: false, ...scale(content.logX) }, y: scale(content.logY), right: scale(content.logRight) },
      axes: [
        axis({ label: content.xLabel, size: 24, values: ticks, ...(content.logX ? { splits: decades } : {}) }),
        axis({ label: content.yLabel, size: 56, values: ticks, ...(content.logY ? { splits: decades } : {}) }),
        ...(rightUsed ? [axis({ scale: "right", side: 1, size: 58, label: content.rightLabel, values: ticks, grid: { show: false },
          ...(content.logRight ? { splits: decades } : {}) })] : []),
      ],
      series: [
        { label: content.xLabel, value },
        ...content.lines.map((line, k): uPlot.Series => ({
          label: line.label, value, stroke: line.colour(), width: 1.75, scale: line.right ? "right" : "y", dash: line.dash,
          spanGaps: false, points: { show: dots[k] ? true : undefined, size: 4 },
          paths: dots[k] ? () => null : line.steps ? uPlot.paths.stepped!({ align: 1 }) : undefined,
        })),
      ],
      bands: (content.bands ?? []).map(([high, low, fill]) => ({ series: [high + 1, low + 1], fill: fill() })),
      hooks: { setSelect: [(u) => { if (u.select.width > 0) this.zoomed = true; }], setCursor: [() => this.tell()] },
    };
  }

  private resize(): void {
    if (!this.plot) this.draw(true);
    else if (this.place.clientWidth > 0 && Math.abs(this.plot.width - this.place.clientWidth) > 1) {
      this.plot.setSize({ width: this.place.clientWidth, height: this.height });
    }
  }

  /** The range of x, as numbers that change evenly on the page. */
  private range(u: uPlot): [number, number] | null {
    const { min, max } = u.scales["x"]!;
    if (min === undefined || max === undefined || min === null || max === null) return null;
    return this.content?.logX ? [Math.log10(min), Math.log10(max)] : [min, max];
  }

  private setRange(u: uPlot, low: number, high: number): void {
    if (!(high > low)) return;
    this.zoomed = true;
    u.setScale("x", this.content?.logX ? { min: 10 ** low, max: 10 ** high } : { min: low, max: high });
  }

  private zoom(factor: number, at: number): void {
    const u = this.plot;
    const range = u && this.range(u);
    if (!u || !range) return;
    const middle = range[0] + (range[1] - range[0]) * at;
    this.setRange(u, middle - (middle - range[0]) * factor, middle + (range[1] - middle) * factor);
  }

  private pan(u: uPlot, start: MouseEvent): void {
    const range = this.range(u);
    if (!range) return;
    const width = u.over.clientWidth;
    const move = (event: MouseEvent) => {
      const by = ((start.clientX - event.clientX) / width) * (range[1] - range[0]);
      this.setRange(u, range[0] + by, range[1] + by);
    };
    const up = () => {
      document.removeEventListener("mousemove", move);
      document.removeEventListener("mouseup", up);
    };
    document.addEventListener("mousemove", move);
    document.addEventListener("mouseup", up);
  }

  private wheel(event: WheelEvent): void {
    // Without a key the wheel moves the page.
    if (!this.plot || !(event.ctrlKey || event.shiftKey)) return;
    event.preventDefault();
    const box = this.plot.over.getBoundingClientRect();
    this.zoom((event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8, (event.clientX - box.left) / box.width);
  }

  private key(event: KeyboardEvent): void {
    const u = this.plot;
    if (!u) return;
    const known = ["ArrowLeft", "ArrowRight", "+", "-", "0"];
    if (!known.includes(event.key)) return;
    event.preventDefault();
    if (event.key === "0") this.reset();
    else if (event.key === "+") this.zoom(0.8, 0.5);
    else if (event.key === "-") this.zoom(1.25, 0.5);
    else if (event.shiftKey) {
      const range = this.range(u);
      const by = range ? (range[1] - range[0]) * (event.key === "ArrowLeft" ? -0.1 : 0.1) : 0;
      if (range) this.setRange(u, range[0] + by, range[1] + by);
    } else {
      const xs = u.data[0];
      const next = Math.min(Math.max((u.cursor.idx ?? 0) + (event.key === "ArrowLeft" ? -1 : 1), 0), xs.length - 1);
      u.setCursor({ left: u.valToPos(xs[next] ?? 0, "x"), top: u.over.clientHeight / 2 });
    }
  }
}

/** A small curve without axes. */
export function sparkline(points: [number, number][], label: string): HTMLElement {
  const [width, height] = [120, 28];
  const canvas = h("canvas", { width: width * 2, height: height * 2, class: "spark", role: "img", "aria-label": label });
  const paint = () => {
    const context = canvas.getContext("2d");
    if (!context) return;
    context.clearRect(0, 0, width * 2, height * 2);
    const ys = points.map(([, y]) => y);
    const [low, high] = [Math.min(...ys), Math.max(...ys)];
    const log = low > 0 && high / low > 100;
    const at = (y: number) => (log ? Math.log(y) : y);
    const [bottom, top] = [at(low), at(high)];
    const last = points.at(-1)?.[0] ?? 1;
    const first = points[0]?.[0] ?? 0;
    context.strokeStyle = colour("accent");
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.beginPath();
    points.forEach(([x, y], k) => {
      const px = 3 + ((x - first) / Math.max(last - first, 1e-300)) * (width * 2 - 6);
      const py = 4 + (1 - (top > bottom ? (at(y) - bottom) / (top - bottom) : 0)) * (height * 2 - 8);
      if (k === 0) context.moveTo(px, py); else context.lineTo(px, py);
    });
    context.stroke();
  };
  paint();
  return canvas;
}
