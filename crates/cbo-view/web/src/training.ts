// A network on its way: accuracy and loss, which classes are taken for which, and the images that were misread.

import { Chart } from "./chart";
import { fill, h, section } from "./dom";
import { count } from "./format";
import type { Frame } from "./frame";
import { matrix } from "./grid";
import { curve } from "./theme";
import type { Training } from "./types";

/** The charts of a page that is drawn again and again. */
const charts = new WeakMap<HTMLElement, { accuracy: Chart; loss: Chart; rest: HTMLElement }>();

export function training(frame: Frame, place: HTMLElement, id: string, found: Training): void {
  let parts = charts.get(place);
  if (!parts) {
    const [accuracy, loss] = [new Chart("Accuracy", 300), new Chart("Loss", 300)];
    const rest = h("div", { class: "stack" });
    parts = { accuracy, loss, rest };
    charts.set(place, parts);
    frame.onEnd(() => { accuracy.end(); loss.end(); });
    fill(place, h("div", { class: "grid two" }, section("Accuracy", accuracy.element), section("Loss", loss.element)), rest);
  }
  const c = found.curve;
  const x = c["epoch"] ?? [];
  parts.accuracy.show({ x, xLabel: "epoch", yLabel: "accuracy", lines: [
    { label: "test", values: c["test_accuracy"] ?? [], colour: () => curve(0) },
    { label: "training", values: c["train_accuracy"] ?? [], colour: () => curve(1), dash: [4, 3] }] });
  parts.loss.show({ x, xLabel: "epoch", yLabel: "loss", lines: [{ label: "loss", values: c["loss"] ?? [], colour: () => curve(2) }] });
  const picture = found.picture ? frame.source.picture(id, "misclassified") : null;
  const classes = (found.confusion ?? []).map((_, k) => String(k));
  fill(parts.rest, h("div", { class: "grid two" },
    found.confusion && classes.length > 0
      ? section("Confusion matrix", matrix({
        values: found.confusion, rows: classes, columns: classes, rowLabel: "true class", columnLabel: "taken for", numbers: true,
        shade: (value, row) => value / Math.max(1, found.confusion![row]!.reduce((a, b) => a + b, 0)),
        words: (value, row, column) => `${count(value)} images of ${row} were taken for ${column}` }))
      : null,
    found.misread_count !== null
      ? section("Misread images", h("p", { class: "note" }, `${count(found.misread_count)} of the test images`),
        picture ? h("img", { src: picture, alt: "Images that were misread, each with its true class and what it was taken for", class: "picture" }) : null)
      : null));
}
