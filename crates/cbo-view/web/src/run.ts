// The page of a run: what it is and where it stands, and its parts as tabs.

import { Chart } from "./chart";
import { Curves } from "./curves";
import { fill, h, section, type Child } from "./dom";
import { evaluations } from "./evaluations";
import { comparison, experiment } from "./experiments";
import { ago, count, duration, point, short } from "./format";
import type { Frame } from "./frame";
import { badge } from "./overview";
import { SwarmPage } from "./swarm";
import { curve } from "./theme";
import { training } from "./training";
import type { Short, Stored, Whole, Worker } from "./types";

function fact(name: string, value: Child, more?: Child): HTMLElement {
  return h("div", { class: "fact" }, h("dt", {}, name), h("dd", {}, value, more ? h("span", { class: "more" }, more) : null));
}

/** A command that can be copied. */
function command(words: string): HTMLElement {
  const button = h("button", { type: "button", class: "quiet", click: async () => {
    try {
      await navigator.clipboard.writeText(words);
      button.textContent = "Copied";
    } catch { button.textContent = "Select and copy"; }
    window.setTimeout(() => { button.textContent = "Copy"; }, 1500);
  } }, "Copy");
  return h("div", { class: "command" }, h("code", { tabindex: 0 }, words), button);
}

function facts(whole: Whole, now: Short): HTMLElement {
  const failed = now.failed ? `${count(now.failed)} failed` : undefined;
  const distance = whole.distance !== null && whole.distance !== undefined ? `${short(whole.distance, 3)} from the minimiser` : undefined;
  return h("dl", { class: "facts" },
    fact(now.kind === "training" ? "Least loss" : "Best value", h("span", { class: "big" }, short(now.best)),
      whole.violation ? `violates its constraints by ${short(whole.violation, 3)}` : distance),
    fact("Evaluations", count(now.evaluations), failed),
    fact("Steps", count(now.steps)),
    fact("Time", duration(now.seconds)),
    fact("Last active", ago(now.active), whole.process ? `process ${whole.process}` : undefined));
}

function workers(list: Worker[]): HTMLElement {
  return section("Workers", h("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Workers" }, h("table", {},
    h("thead", {}, h("tr", {}, ["Worker", "State", "Since", "At x", "Finished", "Failed"].map((words, k) =>
      h("th", { scope: "col", class: k > 3 ? "right" : "" }, words)))),
    h("tbody", {}, list.map((worker, k) => h("tr", {},
      h("td", {}, k + 1),
      h("td", {}, h("span", { class: worker.points > 0 ? "badge running" : "badge" },
        worker.points > 0 ? (worker.attempt > 1 ? `attempt ${worker.attempt}` : "evaluates") : "waits")),
      h("td", {}, ago(Date.parse(worker.since))),
      h("td", { class: "number" }, worker.points > 0 && worker.x.length > 0 ? point(worker.x) : "–",
        worker.points > 1 ? ` and ${worker.points - 1} more` : null),
      h("td", { class: "right number" }, count(worker.finished)), h("td", { class: "right number" }, count(worker.failed))))))));
}

function stored(store: Stored, chart: Chart): Child {
  if (store.fault) return section("Evaluations", h("p", { class: "fault" }, store.fault));
  const statuses = Object.entries(store.by_status ?? {}).map(([status, n]) => `${count(n)} ${status}`).join(", ");
  chart.show({
    x: store.times.map(([id]) => id), xLabel: "attempt", yLabel: "seconds",
    logY: store.times.length > 0 && Math.max(...store.times.map((t) => t[1])) > 20 * Math.min(...store.times.map((t) => t[1])),
    lines: [
      { label: "answered", values: store.times.map(([, s, ok]) => (ok ? s : null)), colour: () => curve(0), points: true },
      { label: "failed", values: store.times.map(([, s, ok]) => (ok ? null : s)), colour: () => curve(1), points: true }],
  });
  return h("section", { class: "card" }, h("h2", {}, "Time of evaluations"),
    h("p", { class: "note" }, `${count(store.total)} attempts${statuses ? `: ${statuses}` : ""}`,
      store.mean_seconds ? `; ${duration(store.mean_seconds)} on average, ${duration(store.slowest)} at most` : ""),
    chart.element);
}

function settings(whole: Whole): HTMLElement {
  const all = [...(whole.settings ?? [])].sort((a, b) => Number(b.changed) - Number(a.changed) || a.key.localeCompare(b.key));
  return h("div", { class: "stack" },
    section("Repeat this run", command(whole.repeat ?? ""), whole.resume ? [h("h3", {}, "Continue it"), command(whole.resume)] : null),
    section("Settings",
      whole.knows_changes ? h("p", { class: "note" }, "Marked ones differ from the defaults.") : null,
      h("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Settings" }, h("table", { class: "settings" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Setting"), h("th", { scope: "col" }, "Value"))),
        h("tbody", {}, all.map((s) => h("tr", { class: s.changed ? "changed" : "" }, h("th", { scope: "row" }, s.key,
          s.changed ? h("span", { class: "hidden" }, " (not the default)") : null), h("td", { class: "number" }, s.value))))))),
    whole.version ? h("p", { class: "note" }, `Written by cbo ${whole.version}, in ${whole.path ?? ""}`) : null);
}

function log(whole: Whole): HTMLElement {
  const lines = whole.log ?? [];
  return section("Log", lines.length === 0 ? h("p", { class: "note" }, "The log is empty.")
    : h("ol", { class: "log", tabindex: 0, "aria-label": "Log" }, lines.map((line) => {
      const [, time, words] = /^(\S+Z) (.*)$/.exec(line) ?? [null, "", line];
      return h("li", { class: /failed|damaged|warning/.test(line) ? "bad" : "" }, h("time", {}, time ?? ""), h("span", {}, words ?? line));
    })));
}

function phases(whole: Whole): HTMLElement | null {
  if (!whole.phases || whole.phases.length === 0) return null;
  return section("Phases", h("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Phases" }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Phase"), h("th", { scope: "col", class: "right" }, "Evaluations"),
      h("th", { scope: "col", class: "right" }, "Best value"), h("th", { scope: "col" }, "Ended because"))),
    h("tbody", {}, whole.phases.map((phase) => h("tr", {}, h("td", {}, phase.name),
      h("td", { class: "right number" }, `${count(phase.from)} – ${count(phase.to)}`),
      h("td", { class: "right number" }, short(phase.best)), h("td", {}, phase.end)))))));
}

export async function run(frame: Frame, id: string, tab: string, stillHere: () => boolean): Promise<void> {
  let whole = await frame.source.whole(id);
  if (!stillHere()) return;
  const address = (name: string) => `#/run/${id}${name ? `/${name}` : ""}`;
  const tabs: [string, string][] = whole.comparison || whole.experiment ? [] : [["", "Progress"]];
  if (whole.training) tabs.splice(0, 1, ["", "Training"]);
  if (whole.swarm) tabs.push(["swarm", "Swarm"]);
  if (whole.evaluations) tabs.push(["evaluations", "Evaluations"]);
  if (tabs.length > 0) tabs.push(["settings", "Settings"], ["log", "Log"]);

  const top = h("div");
  const live = h("div", { class: "stack" });
  const body = h("div", { class: "stack" });
  const head = () => {
    const now = whole.short;
    fill(top,
      h("div", { class: "title" }, h("h1", {}, now.name, " ", badge(now.state)),
        h("p", { class: "path" }, `${now.objective}${now.dim ? `, ${count(now.dim)} dimensions` : ""}${now.method ? `, method ${now.method}` : ""}`)),
      whole.failure ? h("p", { class: "fault" }, whole.failure) : null,
      (whole.faults ?? []).map((fault) => h("p", { class: "fault" }, fault)),
      whole.message && now.state === "finished" ? h("p", { class: "told" }, whole.message) : null,
      tabs.length > 0 ? facts(whole, now) : null,
      tabs.length > 1 ? h("nav", { class: "tabs", "aria-label": "Parts of the run" }, tabs.map(([name, words]) =>
        h("a", { href: address(name), "aria-current": name === tab ? "page" : undefined }, words))) : null);
  };
  head();
  const path: [string, string | null][] = [[whole.short.name, tab ? address("") : null]];
  const words = tabs.find(([name]) => name === tab)?.[1];
  if (tab && words) path.push([words, null]);
  frame.show(whole.short.name, path, [top, live, body]);

  let curves: Curves | null = null;
  let swarm: SwarmPage | null = null;
  const times = new Chart("Seconds of evaluations", 220);
  frame.onEnd(() => times.end());
  const parts = () => {
    if (tab === "" && !whole.training && !whole.comparison) {
      fill(live, whole.workers ? workers(whole.workers) : null, whole.evaluations ? stored(whole.evaluations, times) : null, phases(whole),
        whole.x && whole.x.length > 0 ? section("Best point", h("p", { class: "number wrap" }, point(whole.x, 32))) : null);
    }
    if (tab === "" && whole.training) training(frame, body, id, whole.training);
    if (tab === "settings") fill(body, settings(whole));
    if (tab === "log") fill(body, log(whole));
  };
  if (whole.comparison) comparison(frame, body, whole.comparison);
  else if (whole.experiment) experiment(frame, body, id, whole.experiment);
  else if (tab === "" && whole.history && !whole.training) {
    curves = new Curves(whole.history);
    frame.onEnd(() => curves?.end());
    body.before(curves.element);
    // The curves come first, the rest below them.
    body.after(live);
  } else if (tab === "swarm") {
    swarm = new SwarmPage(frame.source, id, whole.short.state === "running");
    frame.onEnd(() => swarm?.end());
    fill(body, swarm.element);
    await swarm.load();
  } else if (tab === "evaluations") evaluations(frame, body, id);
  parts();

  if (tabs.length === 0) return;
  let busy = false;
  let waits = false;
  const refresh = async () => {
    if (busy) { waits = true; return; }
    busy = true;
    try {
      const [fresh, more] = await Promise.all([frame.source.whole(id, true).catch(() => null),
        curves ? frame.source.history(id, curves.last, curves.spacing).catch(() => null) : null]);
      if (!stillHere()) return;
      if (fresh) whole = fresh;
      if (more) curves?.add(more);
      await swarm?.more();
      head();
      parts();
    } finally {
      busy = false;
      if (waits) { waits = false; void refresh(); }
    }
  };
  let first = true;
  frame.watch(id, (news) => {
    if (news.gone) {
      whole = { ...whole, faults: ["The folder of this run is gone. This is what was in it."] };
      return head();
    }
    // The first news say what has just been read.
    if (first) first = false; else void refresh();
  }, () => void refresh());
}
