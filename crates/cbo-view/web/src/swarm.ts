// The swarm: the landscape with its particles, played, stepped through and seen from several sides.

import { choice, fill, h, select } from "./dom";
import { count, short } from "./format";
import { paintLines, paintPoints, type Box, type Place, type Scene } from "./paint";
import type { Source } from "./source";
import { onChange } from "./theme";
import { best, principal, Track } from "./track";

type Side = "pair" | "principal" | "parallel";

/** Lines of parallel coordinates. */
const LINES = 300;

export class SwarmPage {
  readonly element = h("div", { class: "stack" });
  private track: Track | null = null;
  private side: Side = "pair";
  private pair: [number, number] = [0, 1];
  private at = 0;
  private playing = false;
  private follow = false;
  private trail = true;
  private rate = 60;
  private axes: ReturnType<typeof principal> | null = null;
  private box: Box | null = null;
  private passed = 0;
  private drawn = 0;
  private readonly canvas = h("canvas", { class: "swarm", tabindex: 0, role: "img",
    "aria-label": "The swarm. Space plays and pauses, left and right step, Home and End go to the ends." });
  private readonly slider = h("input", { type: "range", min: 0, max: 0, step: 1, "aria-label": "Step", input: () => {
    this.stop();
    this.go(Number(this.slider.value));
  } });
  private readonly play = h("button", { type: "button", class: "primary", click: () => this.toggle() }, "Play");
  private readonly said = h("p", { class: "note number" });
  private readonly ended: (() => void)[] = [];

  constructor(private readonly source: Source, private readonly id: string, private readonly isRunning: boolean) {
    const size = new ResizeObserver(() => this.paint());
    size.observe(this.canvas);
    this.ended.push(() => size.disconnect(), onChange(() => this.paint()));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  end(): void {
    this.playing = false;
    this.ended.forEach((end) => end());
  }

  async load(): Promise<void> {
    const buffer = await this.source.swarm(this.id);
    this.track = buffer && Track.read(buffer);
    if (!this.track || this.track.snapshots.length === 0) {
      fill(this.element, h("p", { class: "empty" }, this.source.live ? "No particles were recorded."
        : "The particles of this run are not in the report."));
      return;
    }
    this.lay(this.track);
    this.go(this.isRunning ? this.track.snapshots.length - 1 : 0);
  }

  /** Reads what is new; a page that was at the end stays there. */
  async more(): Promise<void> {
    const track = this.track;
    if (!track) return this.load();
    const buffer = await this.source.swarm(this.id, { step: track.last, spacing: track.spacing }).catch(() => null);
    const found = buffer && Track.read(buffer);
    if (!found || found.snapshots.length === 0) return;
    const wasLast = this.at >= track.snapshots.length - 1;
    const step = track.snapshots[this.at]?.step ?? 0;
    if (found.snapshots[0]!.step > track.last) track.snapshots.push(...found.snapshots);
    else this.track = found;
    this.slider.max = String(this.track!.snapshots.length - 1);
    if (wasLast && !this.playing) this.go(this.track!.snapshots.length - 1);
    else if (this.track === found) this.go(Math.max(0, found.snapshots.findIndex((s) => s.step >= step)));
  }

  private lay(track: Track): void {
    const d = track.about.coordinates;
    const names = Array.from({ length: d }, (_, k): [string, string] => [String(k), `x${k + 1}`]);
    const pick = (which: 0 | 1) => select(which === 0 ? "Across" : "Up", names, String(this.pair[which]), (value) => {
      this.pair[which] = Number(value);
      this.look();
    });
    this.pair = [0, Math.min(1, d - 1)];
    const pairs = h("span", { class: "bar inner" }, pick(0), pick(1));
    const step = (words: string, label: string, by: number) =>
      h("button", { type: "button", "aria-label": label, click: () => { this.stop(); this.go(this.at + by); } }, words);
    const player = h("div", { class: "bar player" }, this.play, step("‹", "One step back", -1), step("›", "One step on", 1), this.slider,
      select("Speed", [["10", "10 frames/s"], ["30", "30 frames/s"], ["60", "60 frames/s"]], "60", (v) => { this.rate = Number(v); }));
    const sides = choice("View", [["pair", "Coordinates"], ["principal", "Principal components"], ["parallel", "Best points"]] as const,
      this.side, (side) => {
        this.side = side;
        pairs.hidden = side !== "pair";
        player.hidden = this.said.hidden = side === "parallel";
        this.look();
      });
    const check = (label: string, on: boolean, change: (on: boolean) => void) => {
      const box = h("input", { type: "checkbox", checked: on, change: () => { change(box.checked); this.look(); } });
      return h("label", { class: "field" }, box, h("span", {}, label));
    };
    this.canvas.classList.toggle("plane", track.about.dim === 2);
    const left = track.about.dim > d ? `The first ${d} of ${count(track.about.dim)} coordinates are kept. ` : "";
    fill(this.element, h("section", { class: "card" },
      h("div", { class: "bar" }, h("h2", {}, "Swarm"), d > 2 ? [sides, pairs] : null,
        check("Follow the swarm", this.follow, (on) => { this.follow = on; }),
        check("Consensus path", this.trail, (on) => { this.trail = on; })),
      this.canvas,
      player, this.said,
      h("p", { class: "note" }, `${left}${count(track.snapshots.length)} snapshots of up to ${count(track.about.particles)} particles. `,
        "Circles: particles; cross: consensus point; stars: known minimisers.")));
    this.slider.max = String(track.snapshots.length - 1);
    this.look();
  }

  /** Another view, or another part of the space. */
  private look(): void {
    this.box = null;
    this.paint();
  }

  private go(to: number): void {
    const last = (this.track?.snapshots.length ?? 1) - 1;
    this.at = Math.min(Math.max(to, 0), last);
    this.slider.value = String(this.at);
    this.paint();
  }

  private toggle(): void {
    if (this.playing) return this.stop();
    if (this.at >= (this.track?.snapshots.length ?? 1) - 1) this.at = 0;
    this.playing = true;
    this.play.textContent = "Pause";
    this.passed = this.drawn = 0;
    let before = performance.now();
    let owed = 0;
    const frame = (now: number) => {
      if (!this.playing) return;
      owed += ((now - before) / 1000) * this.rate;
      this.passed += now - before;
      before = now;
      const by = Math.floor(owed);
      owed -= by;
      this.drawn++;
      // For tests: pictures per second while it plays.
      this.canvas.dataset["rate"] = String(Math.round((1000 * this.drawn) / Math.max(this.passed, 1)));
      if (by > 0) this.go(this.at + by);
      if (this.at >= (this.track?.snapshots.length ?? 1) - 1) this.stop();
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  private stop(): void {
    this.playing = false;
    this.play.textContent = "Play";
  }

  private key(event: KeyboardEvent): void {
    const last = (this.track?.snapshots.length ?? 1) - 1;
    const act: Record<string, () => void> = {
      " ": () => this.toggle(), ArrowLeft: () => { this.stop(); this.go(this.at - 1); },
      ArrowRight: () => { this.stop(); this.go(this.at + 1); }, Home: () => { this.stop(); this.go(0); }, End: () => { this.stop(); this.go(last); },
    };
    const found = act[event.key];
    if (!found) return;
    event.preventDefault();
    found();
  }

  /** From a particle to a place on the page. */
  private place(track: Track): Place {
    const d = track.about.coordinates;
    if (this.side === "principal") {
      this.axes ??= principal(track);
      const { mean, axes: [first, second] } = this.axes;
      return (x, at, out) => {
        let [a, b] = [0, 0];
        for (let k = 0; k < d; k++) {
          const moved = x[at + k]! - mean[k]!;
          a += moved * first[k]!;
          b += moved * second[k]!;
        }
        out[0] = a;
        out[1] = b;
      };
    }
    const [across, up] = this.pair;
    return (x, at, out) => { out[0] = x[at + across]!; out[1] = d === 1 ? 0 : x[at + up]!; };
  }

  private paint(): void {
    const track = this.track;
    const snapshot = track?.snapshots[this.at];
    if (!track || !snapshot || this.canvas.clientWidth === 0) return;
    const consensus = Array.from(snapshot.consensus.slice(0, 4), (v) => short(v, 4)).join(", ");
    this.said.textContent = `step ${count(snapshot.step)}, ${count(snapshot.evaluations)} evaluations, ${count(snapshot.count)} particles, `
      + `consensus (${consensus}${snapshot.consensus.length > 4 ? ", …" : ""})`;
    if (this.side === "parallel") return paintLines(this.canvas, best(track, LINES), track.about.coordinates);
    const scene: Scene = { track, at: this.at, place: this.place(track), trail: this.trail, follow: this.follow,
      landscape: this.side === "pair" && track.about.dim <= 2 ? track.about.landscape : null,
      labels: this.side === "principal" ? ["first component", "second component"] : [`x${this.pair[0] + 1}`, `x${this.pair[1] + 1}`] };
    this.box = paintPoints(this.canvas, scene, this.box);
  }
}
