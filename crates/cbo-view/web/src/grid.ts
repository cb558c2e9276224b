// A grid of coloured cells with the numbers of the one under the cursor, or in focus.

import { h } from "./dom";
import { isDark, viridis } from "./theme";

export interface Grid {
  /** Rows of values, the first on top. */
  values: number[][]; rows: string[]; columns: string[]; rowLabel: string; columnLabel: string;
  /** A colour between 0 and 1. */
  shade: (value: number, row: number, column: number) => number;
  words: (value: number, row: string, column: string) => string;
  /** Whether numbers are written into the cells. */
  numbers?: boolean;
}

export function matrix(grid: Grid): HTMLElement {
  const said = h("p", { class: "note said-of", role: "status" }, "Point at a cell, or move there with the arrow keys.");
  const [height, width] = [grid.rows.length, grid.columns.length];
  const canvas = h("canvas", { tabindex: 0, role: "img",
    "aria-label": `${grid.rowLabel} by ${grid.columnLabel}, ${height} by ${width} cells. Arrow keys move between them.` });
  const size = Math.max(14, Math.min(44, Math.floor(560 / Math.max(width, height))));
  const [left, bottom] = [56, 40];
  let [row, column] = [0, 0];
  const paint = (marked: boolean) => {
    const scale = window.devicePixelRatio || 1;
    canvas.width = (left + width * size + 8) * scale;
    canvas.height = (height * size + bottom + 8) * scale;
    canvas.style.aspectRatio = `${canvas.width} / ${canvas.height}`;
    canvas.style.width = `${canvas.width / scale}px`;
    const c = canvas.getContext("2d");
    if (!c) return;
    c.scale(scale, scale);
    c.font = "12px system-ui, sans-serif";
    const ink = isDark() ? "#c9d1d9" : "#444c56";
    grid.values.forEach((values, i) => values.forEach((value, j) => {
      const shade = grid.shade(value, i, j);
      const [red, green, blue] = viridis(shade);
      c.fillStyle = `rgb(${red} ${green} ${blue})`;
      c.fillRect(left + j * size, 4 + i * size, size - 1, size - 1);
      if (grid.numbers && value !== 0) {
        c.fillStyle = shade > 0.55 ? "#111" : "#fff";
        c.textAlign = "center";
        c.textBaseline = "middle";
        c.fillText(String(value), left + (j + 0.5) * size, 4 + (i + 0.5) * size);
      }
    }));
    c.fillStyle = ink;
    const every = (length: number, room: number) => Math.max(1, Math.ceil((length * room) / (length * size)));
    c.textAlign = "right";
    c.textBaseline = "middle";
    const rowStep = every(height, 16);
    grid.rows.forEach((words, i) => { if ((height - 1 - i) % rowStep === 0) c.fillText(words, left - 6, 4 + (i + 0.5) * size); });
    c.textAlign = "center";
    const columnStep = every(width, 34);
    grid.columns.forEach((words, j) => { if (j % columnStep === 0) c.fillText(words, left + (j + 0.5) * size, 4 + height * size + 12); });
    c.fillText(grid.columnLabel, left + (width * size) / 2, 4 + height * size + 30);
    c.save();
    c.translate(10, 4 + (height * size) / 2);
    c.rotate(-Math.PI / 2);
    c.fillText(grid.rowLabel, 0, 0);
    c.restore();
    if (marked) {
      c.strokeStyle = isDark() ? "#fff" : "#000";
      c.lineWidth = 2;
      c.strokeRect(left + column * size - 1, 4 + row * size - 1, size + 1, size + 1);
    }
  };
  const tell = () => {
    const value = grid.values[row]?.[column];
    if (value !== undefined) said.textContent = grid.words(value, grid.rows[row] ?? "", grid.columns[column] ?? "");
    paint(true);
  };
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect();
    const scale = (left + width * size + 8) / box.width;
    const j = Math.floor(((event.clientX - box.left) * scale - left) / size);
    const i = Math.floor(((event.clientY - box.top) * scale - 4) / size);
    if (i < 0 || j < 0 || i >= height || j >= width) return;
    [row, column] = [i, j];
    tell();
  });
  canvas.addEventListener("keydown", (event) => {
    const step: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const by = step[event.key];
    if (!by) return;
    event.preventDefault();
    row = Math.min(Math.max(row + by[0], 0), height - 1);
    column = Math.min(Math.max(column + by[1], 0), width - 1);
    tell();
  });
  canvas.addEventListener("focus", tell);
  paint(false);
  return h("div", { class: "matrix" }, canvas, said);
}
