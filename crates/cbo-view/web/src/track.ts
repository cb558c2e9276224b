// The particles of a run on their way, as the file `swarm.track` has them.

export interface Landscape { view: [number, number][]; columns: number; values: (number | null)[]; minimisers: number[][] }

interface About { dim: number; coordinates: number; particles: number; landscape: Landscape | null }

export interface Snapshot {
  step: number; time: number; evaluations: number; count: number;
  consensus: Float32Array;
  /** For each particle its energy, then its coordinates. */
  rows: Float32Array;
}

const MAGIC = "CBOTRK\r\n";

export class Track {
  readonly snapshots: Snapshot[] = [];
  constructor(readonly about: About) {}

  /** Reads a file; nothing if it is none. */
  static read(buffer: ArrayBuffer): Track | null {
    if (buffer.byteLength < 16) return null;
    const view = new DataView(buffer);
    const magic = Array.from(new Uint8Array(buffer, 0, 8), (code) => String.fromCharCode(code)).join("");
    if (magic !== MAGIC || view.getUint32(8, true) !== 1) return null;
    const start = 16 + view.getUint32(12, true);
    if (start > buffer.byteLength) return null;
    try {
      const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 16, start - 16))) as { wide: string[]; narrow: number; about: About };
      const track = new Track(head.about);
      const [wide, narrow, d] = [head.wide.length, head.narrow, head.about.coordinates];
      const size = 8 * wide + 4 * narrow;
      const needed = d + head.about.particles * (d + 1);
      if (needed > narrow || wide < 4) return null;
      for (let at = start; at + size <= buffer.byteLength; at += size) {
        const numbers = new Float32Array(buffer, at + 8 * wide, needed);
        track.snapshots.push({
          step: view.getFloat64(at, true), time: view.getFloat64(at + 8, true), evaluations: view.getFloat64(at + 16, true),
          count: Math.min(view.getFloat64(at + 24, true), head.about.particles),
          consensus: numbers.subarray(0, d), rows: numbers.subarray(d),
        });
      }
      return track;
    } catch {
      return null;
    }
  }

  get spacing(): number {
    const [first, second] = this.snapshots;
    return first && second ? second.step - first.step : 1;
  }

  get last(): number { return this.snapshots.at(-1)?.step ?? -1; }
}

/** The two directions in which all particles of all snapshots vary most, and their middle. */
export function principal(track: Track): { mean: Float64Array; axes: [Float64Array, Float64Array]; part: number } {
  const d = track.about.coordinates;
  const mean = new Float64Array(d);
  const moment = new Float64Array(d * d);
  let n = 0;
  const every = Math.max(1, Math.floor((track.snapshots.length * track.about.particles * d * d) / 2e7));
  const visit = (act: (row: Float32Array, at: number) => void) => {
    let k = 0;
    for (const { rows, count } of track.snapshots) {
      for (let i = 0; i < count; i++) if (k++ % every === 0) act(rows, i * (d + 1) + 1);
    }
  };
  const finite = (rows: Float32Array, at: number) => { for (let k = 0; k < d; k++) if (!Number.isFinite(rows[at + k])) return false; return true; };
  visit((rows, at) => { if (finite(rows, at)) { n++; for (let k = 0; k < d; k++) mean[k]! += rows[at + k]!; } });
  for (let k = 0; k < d; k++) mean[k]! /= Math.max(n, 1);
  visit((rows, at) => {
    if (!finite(rows, at)) return;
    for (let i = 0; i < d; i++) for (let j = 0; j <= i; j++) moment[i * d + j]! += (rows[at + i]! - mean[i]!) * (rows[at + j]! - mean[j]!);
  });
  for (let i = 0; i < d; i++) for (let j = 0; j < i; j++) moment[j * d + i] = moment[i * d + j]!;
  let trace = 0;
  for (let i = 0; i < d; i++) trace += moment[i * d + i]!;
  let found = 0;
  const power = (orthogonal: Float64Array | null): Float64Array => {
    let v = Float64Array.from({ length: d }, (_, k) => 1 + ((k * 7919) % 13) / 13);
    for (let turn = 0; turn < 300; turn++) {
      const w = new Float64Array(d);
      for (let i = 0; i < d; i++) for (let j = 0; j < d; j++) w[i]! += moment[i * d + j]! * v[j]!;
      if (orthogonal) {
        const along = w.reduce((sum, x, k) => sum + x * orthogonal[k]!, 0);
        for (let k = 0; k < d; k++) w[k]! -= along * orthogonal[k]!;
      }
      const length = Math.hypot(...w);
      if (!(length > 0)) break;
      v = w.map((x) => x / length);
      if (turn === 299) found += length;
    }
    return v;
  };
  const first = power(null);
  const second = power(first);
  return { mean, axes: [first, second], part: trace > 0 ? Math.min(found / trace, 1) : 1 };
}

/** The best particles that were ever seen: their energies and coordinates. */
export function best(track: Track, most: number): { energy: number; x: Float32Array }[] {
  const d = track.about.coordinates;
  const kept: { energy: number; x: Float32Array }[] = [];
  let worst = Infinity;
  for (const { rows, count } of track.snapshots) {
    for (let i = 0; i < count; i++) {
      const energy = rows[i * (d + 1)]!;
      if (!(energy < worst)) continue;
      kept.push({ energy, x: rows.subarray(i * (d + 1) + 1, (i + 1) * (d + 1)) });
      if (kept.length > 4 * most) {
        kept.sort((a, b) => a.energy - b.energy);
        kept.length = most;
        worst = kept.at(-1)!.energy;
      }
    }
  }
  kept.sort((a, b) => a.energy - b.energy);
  return kept.slice(0, most);
}
