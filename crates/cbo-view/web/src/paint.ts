// Draws a swarm on a canvas: the landscape once, then particles, fast enough for every frame.

import { short } from "./format";
import { colour, curve, isDark, viridis } from "./theme";
import type { Landscape, Snapshot, Track } from "./track";

/** Writes the place of the particle that begins at `at`. */
export type Place = (x: Float32Array, at: number, out: [number, number]) => void;
/** Left, right, bottom, top. */
export type Box = [number, number, number, number];

export interface Scene { track: Track; at: number; place: Place; trail: boolean; follow: boolean; landscape: Landscape | null; labels: [string, string] }

/** From so many particles they are dots of a pixel. */
const MANY = 4000;
const MARGIN = { left: 58, right: 12, top: 10, bottom: 40 };

function prepare(canvas: HTMLCanvasElement): { c: CanvasRenderingContext2D; width: number; height: number; scale: number } | null {
  const scale = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const c = canvas.getContext("2d");
  if (!c) return null;
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.clearRect(0, 0, width, height);
  return { c, width, height, scale };
}

/** The part of the plane that holds nearly all particles of some snapshots. */
function around(scene: Scene, snapshots: Snapshot[]): Box {
  const d = scene.track.about.coordinates;
  const [xs, ys]: [number[], number[]] = [[], []];
  const out: [number, number] = [0, 0];
  const see = (x: Float32Array, at: number) => {
    scene.place(x, at, out);
    if (Number.isFinite(out[0]) && Number.isFinite(out[1])) { xs.push(out[0]); ys.push(out[1]); }
  };
  for (const { rows, count } of snapshots) {
    const every = Math.max(1, Math.floor(count / 500));
    for (let i = 0; i < count; i += every) see(rows, i * (d + 1) + 1);
  }
  const range = (values: number[]): [number, number] => {
    values.sort((a, b) => a - b);
    const low = values[Math.floor(0.01 * (values.length - 1))] ?? -1;
    const high = values[Math.ceil(0.99 * (values.length - 1))] ?? 1;
    const more = Math.max(0.08 * (high - low), 1e-12 * Math.max(Math.abs(low), Math.abs(high)), 1e-30);
    return [low - more, high + more];
  };
  return [...range(xs), ...range(ys)] as Box;
}

const pictures = new WeakMap<Landscape, { dark: boolean; picture: HTMLCanvasElement }>();

/** The landscape as a picture, by a power that shows valleys as well as walls. */
function relief(landscape: Landscape): HTMLCanvasElement {
  const kept = pictures.get(landscape);
  if (kept && kept.dark === isDark()) return kept.picture;
  const { columns, values } = landscape;
  const rows = values.length / columns;
  const picture = document.createElement("canvas");
  [picture.width, picture.height] = [columns, rows];
  const finite = values.filter((v): v is number => v !== null).sort((a, b) => a - b);
  const [low, high] = [finite[0] ?? 0, finite.at(-1) ?? 1];
  const median = ((finite[finite.length >> 1] ?? 0) - low) / Math.max(high - low, 1e-300);
  const power = Math.min(Math.max(Math.log(0.5) / Math.log(Math.max(median, 1e-9)), 0.05), 3);
  const c = picture.getContext("2d")!;
  const image = c.createImageData(columns, rows);
  values.forEach((value, k) => {
    const height = value === null ? 1 : ((value - low) / Math.max(high - low, 1e-300)) ** power;
    // Calm colours, so that particles are seen: part of viridis over the paper.
    const [red, green, blue] = viridis(0.05 + 0.95 * height);
    const [paper, part] = isDark() ? [18, 0.55] : [255, 0.58];
    const row = rows - 1 - Math.floor(k / columns);
    const at = 4 * (row * columns + (k % columns));
    image.data[at] = paper + (red - paper) * part;
    image.data[at + 1] = paper + (green - paper) * part;
    image.data[at + 2] = paper + (blue - paper) * part;
    image.data[at + 3] = 255;
  });
  c.putImageData(image, 0, 0);
  pictures.set(landscape, { dark: isDark(), picture });
  return picture;
}

function nice(low: number, high: number, most: number): number[] {
  const rough = (high - low) / most;
  const decade = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * decade).find((s) => s >= rough) ?? decade;
  const ticks: number[] = [];
  for (let v = Math.ceil(low / step) * step; v <= high && ticks.length < 20; v += step) ticks.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return ticks;
}

/** Draws a snapshot; returns the part of the plane that is seen, for the next one. */
export function paintPoints(canvas: HTMLCanvasElement, scene: Scene, before: Box | null): Box | null {
  const made = prepare(canvas);
  const snapshot = scene.track.snapshots[scene.at];
  if (!made || !snapshot) return before;
  const { c, width, height, scale } = made;
  const { track, landscape } = scene;
  const [flat, d] = [track.about.dim === 1, track.about.coordinates];
  const seen = landscape?.view;
  let box: Box = before ?? (seen
    ? [seen[0]![0], seen[0]![1], seen[1]?.[0] ?? 0, seen[1]?.[1] ?? 1]
    : around(scene, [track.snapshots[0]!, track.snapshots[track.snapshots.length >> 1]!, snapshot]));
  if (scene.follow) box = around(scene, [snapshot]);
  if (flat && landscape) {
    const values = landscape.values.filter((v): v is number => v !== null);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    box = [box[0], box[1], low - 0.05 * (high - low), high + 0.05 * (high - low)];
  }
  const [left, right, bottom, top] = box;
  const plotWidth = width - MARGIN.left - MARGIN.right;
  const plotHeight = height - MARGIN.top - MARGIN.bottom;
  const px = (x: number) => MARGIN.left + ((x - left) / (right - left)) * plotWidth;
  const py = (y: number) => MARGIN.top + (1 - (y - bottom) / (top - bottom)) * plotHeight;

  c.save();
  c.beginPath();
  c.rect(MARGIN.left, MARGIN.top, plotWidth, plotHeight);
  c.clip();
  c.fillStyle = colour("plot");
  c.fillRect(MARGIN.left, MARGIN.top, plotWidth, plotHeight);
  if (landscape && seen && !flat) {
    c.imageSmoothingEnabled = true;
    c.imageSmoothingQuality = "high";
    const [x0, x1, y0, y1] = [px(seen[0]![0]), px(seen[0]![1]), py(seen[1]![1]), py(seen[1]![0])];
    c.drawImage(relief(landscape), x0, y0, x1 - x0, y1 - y0);
  }
  if (landscape && seen && flat) {
    c.strokeStyle = colour("muted");
    c.lineWidth = 1.5;
    c.beginPath();
    landscape.values.forEach((v, k) => {
      if (v === null) return;
      const x = px(seen[0]![0] + ((seen[0]![1] - seen[0]![0]) * k) / (landscape.columns - 1));
      if (k === 0) c.moveTo(x, py(v)); else c.lineTo(x, py(v));
    });
    c.stroke();
  }

  const out: [number, number] = [0, 0];
  const { rows, count } = snapshot;
  const dot = curve(1);
  if (count > MANY) {
    // Pixels, each darker the more particles there are: fast however many.
    const [w, hgt] = [canvas.width, canvas.height];
    const image = c.getImageData(0, 0, w, hgt);
    const ink = [1, 3, 5].map((k) => parseInt(dot.slice(k, k + 2), 16));
    const [x0, x1, y0, y1] = [MARGIN.left * scale, (width - MARGIN.right) * scale, MARGIN.top * scale, (height - MARGIN.bottom) * scale];
    for (let i = 0; i < count; i++) {
      scene.place(rows, i * (d + 1) + 1, out);
      const x = Math.round(px(out[0]) * scale);
      const y = Math.round(py(flat ? rows[i * (d + 1)]! : out[1]) * scale);
      if (!(x > x0 && x < x1 - 1 && y > y0 && y < y1 - 1)) continue;
      for (let k = 0; k < 4; k++) {
        const at = 4 * ((y + (k >> 1)) * w + x + (k & 1));
        for (let b = 0; b < 3; b++) image.data[at + b]! += (ink[b]! - image.data[at + b]!) * 0.6;
      }
    }
    c.putImageData(image, 0, 0);
  } else {
    c.fillStyle = dot;
    c.strokeStyle = isDark() ? "rgb(0 0 0 / 0.6)" : "rgb(255 255 255 / 0.9)";
    c.lineWidth = 0.75;
    const radius = count > 1000 ? 1.6 : 2.8;
    c.beginPath();
    for (let i = 0; i < count; i++) {
      scene.place(rows, i * (d + 1) + 1, out);
      const [x, y] = [px(out[0]), py(flat ? rows[i * (d + 1)]! : out[1])];
      if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
      c.moveTo(x + radius, y);
      c.arc(x, y, radius, 0, 2 * Math.PI);
    }
    c.fill();
    c.stroke();
  }
  paintMarks(c, scene, px, py, flat);
  c.restore();

  c.fillStyle = colour("muted");
  c.strokeStyle = colour("line");
  c.lineWidth = 1;
  c.strokeRect(MARGIN.left - 0.5, MARGIN.top - 0.5, plotWidth + 1, plotHeight + 1);
  c.font = "12px system-ui, sans-serif";
  c.textAlign = "center";
  c.textBaseline = "top";
  nice(left, right, Math.max(2, plotWidth / 110)).forEach((v) => c.fillText(short(v, 3), px(v), height - MARGIN.bottom + 6));
  c.fillText(scene.labels[0], MARGIN.left + plotWidth / 2, height - 16);
  c.textAlign = "right";
  c.textBaseline = "middle";
  nice(bottom, top, Math.max(2, plotHeight / 60)).forEach((v) => c.fillText(short(v, 3), MARGIN.left - 7, py(v)));
  c.save();
  c.translate(9, MARGIN.top + plotHeight / 2);
  c.rotate(-Math.PI / 2);
  c.textAlign = "center";
  c.fillText(flat ? "value" : scene.labels[1], 0, 0);
  c.restore();
  return box;
}

/** The path of the consensus point, where it is, and the known minimisers. */
function paintMarks(c: CanvasRenderingContext2D, scene: Scene, px: (x: number) => number, py: (y: number) => number, flat: boolean): void {
  const { track, at, landscape } = scene;
  const out: [number, number] = [0, 0];
  const halo = (draw: () => void, ink: string, width: number) => {
    c.strokeStyle = isDark() ? "rgb(0 0 0 / 0.75)" : "rgb(255 255 255 / 0.9)";
    c.lineWidth = width + 2.5;
    draw();
    c.strokeStyle = ink;
    c.lineWidth = width;
    draw();
  };
  if (!flat && scene.trail) {
    halo(() => {
      c.beginPath();
      for (let k = 0; k <= at; k++) {
        scene.place(track.snapshots[k]!.consensus, 0, out);
        if (k === 0) c.moveTo(px(out[0]), py(out[1])); else c.lineTo(px(out[0]), py(out[1]));
      }
      c.stroke();
    }, curve(0), 1.5);
  }
  for (const minimiser of landscape?.minimisers ?? []) {
    scene.place(Float32Array.from(minimiser), 0, out);
    const [x, y] = [px(out[0]), flat ? py(Math.min(...landscape!.values.filter((v): v is number => v !== null))) : py(out[1])];
    halo(() => {
      c.beginPath();
      for (let k = 0; k < 10; k++) {
        const [r, a] = [k % 2 === 0 ? 8 : 3.4, (Math.PI * k) / 5 - Math.PI / 2];
        if (k === 0) c.moveTo(x + r * Math.cos(a), y + r * Math.sin(a)); else c.lineTo(x + r * Math.cos(a), y + r * Math.sin(a));
      }
      c.closePath();
      c.stroke();
    }, curve(2), 2);
  }
  if (!flat) {
    scene.place(track.snapshots[at]!.consensus, 0, out);
    const [x, y] = [px(out[0]), py(out[1])];
    halo(() => {
      c.beginPath();
      c.moveTo(x - 7, y);
      c.lineTo(x + 7, y);
      c.moveTo(x, y - 7);
      c.lineTo(x, y + 7);
      c.stroke();
    }, isDark() ? "#ffffff" : "#000000", 2);
  }
}

/** Parallel coordinates of points, the best of them brightest. */
export function paintLines(canvas: HTMLCanvasElement, points: { energy: number; x: Float32Array }[], d: number): void {
  const made = prepare(canvas);
  if (!made || points.length === 0) return;
  const { c, width, height } = made;
  const values = points.flatMap(({ x }) => Array.from(x));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const [plotWidth, plotHeight] = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
  const px = (k: number) => MARGIN.left + (d > 1 ? (k / (d - 1)) * plotWidth : plotWidth / 2);
  const py = (v: number) => MARGIN.top + (1 - (v - low) / Math.max(high - low, 1e-300)) * plotHeight;
  c.fillStyle = colour("plot");
  c.fillRect(MARGIN.left, MARGIN.top, plotWidth, plotHeight);
  c.strokeStyle = colour("grid");
  c.lineWidth = 1;
  for (let k = 0; k < d; k++) {
    c.beginPath();
    c.moveTo(px(k), MARGIN.top);
    c.lineTo(px(k), MARGIN.top + plotHeight);
    c.stroke();
  }
  c.lineWidth = 1.2;
  for (let i = points.length - 1; i >= 0; i--) {
    const [red, green, blue] = viridis((isDark() ? 0.95 : 0.85) * (isDark() ? 1 - (0.7 * i) / points.length : (0.9 * i) / points.length));
    c.strokeStyle = `rgb(${red} ${green} ${blue} / ${i === 0 ? 1 : 0.35})`;
    if (i === 0) { c.strokeStyle = curve(1); c.lineWidth = 2.5; }
    c.beginPath();
    points[i]!.x.forEach((v, k) => { if (k === 0) c.moveTo(px(k), py(v)); else c.lineTo(px(k), py(v)); });
    c.stroke();
  }
  c.fillStyle = colour("muted");
  c.font = "12px system-ui, sans-serif";
  c.textAlign = "center";
  c.textBaseline = "top";
  const every = Math.max(1, Math.ceil((d * 34) / plotWidth));
  for (let k = 0; k < d; k += every) c.fillText(`x${k + 1}`, px(k), height - MARGIN.bottom + 6);
  c.fillText(`the ${points.length} best points that were seen; the best is drawn thick`, MARGIN.left + plotWidth / 2, height - 16);
  c.textAlign = "right";
  c.textBaseline = "middle";
  if (high > low) nice(low, high, Math.max(2, plotHeight / 60)).forEach((v) => c.fillText(short(v, 3), MARGIN.left - 7, py(v)));
}
