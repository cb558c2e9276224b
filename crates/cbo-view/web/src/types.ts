// What the server answers, and what a report holds.

export type State = "running" | "finished" | "interrupted" | "failed";
export type Numbers = (number | null)[];

export interface Short {
  id: string; name: string; kind: "run" | "training" | "comparison" | "experiment";
  objective: string; method: string; dim: number | null; state: State; best: number | null;
  steps: number | null; evaluations: number | null; failed: number | null; seconds: number | null;
  active: number; curve: [number, number][];
}

export interface History {
  columns: Record<string, Numbers>; spacing: number;
  /** The columns that are infinite somewhere: null there. */
  infinite?: string[];
}

export interface Worker { points: number; since: string; x: number[]; attempt: number; finished: number; failed: number }

export interface Row {
  id: number; x: number[]; dim: number; value: number | string | null; status: string; message: string;
  seconds: number; attempt: number; finished: string; stderr: string;
}

export interface Page { rows: Row[]; count: number; more: boolean; total: number; offset: number }

export interface Stored {
  total: number; times: [number, number, boolean][]; fault?: string; by_status?: Record<string, number> | null;
  mean_seconds?: number | null; slowest?: number | null; failures?: Row[] | null;
}

export interface Training {
  curve: Record<string, Numbers>; confusion: number[][] | null; misread: string[][] | null;
  misread_count: number | null; picture: boolean;
}

export interface Setting { key: string; value: string; changed: boolean }
export interface Phase { name: string; from: number; to: number; best: number; end: string }

export interface Problem {
  objective: string; dim: number; minimum: number | null; max_evaluations: number; runs: number;
  rows: Record<string, number | string | null>[];
}

export interface Comparison {
  report: { runs: number; methods: string[]; problems: Problem[]; tolerance: number } | null;
  curves: Record<string, Record<string, [number, number, number, number][]>>;
}

export interface Experiment {
  name: string; picture: boolean;
  report: {
    parameters?: Record<string, unknown>; x?: { name: string; values: Numbers }; y?: { name: string; values: Numbers };
    runs?: number; successes?: number[]; seconds?: number;
  } | null;
}

export interface Whole {
  short: Short;
  x?: number[]; violation?: number | null; stop?: string | null; version?: string; process?: number | null; failure?: string | null;
  message?: string | null; minimum?: number | null; distance?: number | null; phases?: Phase[] | null;
  settings?: Setting[]; knows_changes?: boolean; repeat?: string; resume?: string | null; path?: string; log?: string[]; faults?: string[];
  history?: History; workers?: Worker[] | null; evaluations?: Stored | null; swarm?: { frames: number } | null;
  training?: Training | null; comparison?: Comparison; experiment?: Experiment;
}

/** What a stream of events tells. */
export interface News { short?: Short; gone?: string; steps?: [number, number]; swarm?: [number, number]; log?: [number, number] }

export interface Question { sort: string; way: string; status: string; from: string; to: string; text: string; offset: number; limit: number }
