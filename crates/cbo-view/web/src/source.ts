// Where the pages get what they show: from the server, or from the report that they are in.

import type { History, News, Page, Question, Short, Whole } from "./types";

export interface Source {
  /** Whether what is shown can change. */
  readonly live: boolean;
  runs(): Promise<{ folders: string[]; runs: Short[]; left_out?: number }>;
  /** Everything about a run; `brief` without its history. */
  whole(id: string, brief?: boolean): Promise<Whole>;
  history(id: string, after: number, spacing: number): Promise<History>;
  /** The track of the swarm, or what is new in it; nothing if there is none. */
  swarm(id: string, after?: { step: number; spacing: number }): Promise<ArrayBuffer | null>;
  page(id: string, question: Question): Promise<Page>;
  /** The address of an export, if there is one. */
  exported(id: string, question: Question): string | null;
  picture(id: string, name: string): string | null;
  /** Tells news until the function that it returns is called. */
  watch(id: string | null, news: (news: News) => void, connected: (yes: boolean) => void): () => void;
}

class Gone extends Error {}

async function ask(path: string): Promise<Response> {
  const response = await fetch(path, { credentials: "same-origin", cache: "no-store" });
  if (response.status === 404) throw new Gone(await response.text());
  if (!response.ok) throw new Error(await response.text());
  return response;
}

function query(id: string, question: Partial<Question>): string {
  const words = Object.entries(question).filter(([, value]) => value !== "" && value !== undefined);
  return new URLSearchParams([["id", id], ...words.map(([key, value]): [string, string] => [key, String(value)])]).toString();
}

/** From the server. */
export class Remote implements Source {
  readonly live = true;

  async runs() { return (await ask("/api/runs")).json(); }
  async whole(id: string, brief = false) { return (await ask(`/api/run?${query(id, {})}${brief ? "&brief=1" : ""}`)).json(); }

  async history(id: string, after: number, spacing: number) {
    return (await ask(`/api/history?${query(id, {})}&after=${after}&spacing=${spacing}`)).json();
  }

  async swarm(id: string, after?: { step: number; spacing: number }) {
    const more = after ? `&after=${after.step}&spacing=${after.spacing}` : "";
    try {
      return await (await ask(`/api/swarm?${query(id, {})}${more}`)).arrayBuffer();
    } catch (error) {
      if (error instanceof Gone) return null;
      throw error;
    }
  }

  async page(id: string, question: Question) { return (await ask(`/api/evaluations?${query(id, question)}`)).json(); }
  exported(id: string, question: Question) {
    return `/api/evaluations.csv?${query(id, { ...question, offset: undefined, limit: undefined } as Partial<Question>)}`;
  }
  picture(id: string, name: string) { return `/api/picture?id=${encodeURIComponent(id)}&name=${encodeURIComponent(name)}`; }

  watch(id: string | null, news: (news: News) => void, connected: (yes: boolean) => void) {
    let stream: EventSource | null = null;
    let again: number | undefined;
    let over = false;
    const open = () => {
      stream = new EventSource(id === null ? "/api/live" : `/api/live?id=${encodeURIComponent(id)}`);
      stream.addEventListener("hello", () => connected(true));
      stream.addEventListener("change", (event) => news(JSON.parse((event as MessageEvent<string>).data)));
      stream.onerror = () => {
        connected(false);
        // A browser gives up when it is answered by something else; we do not.
        if (stream?.readyState === EventSource.CLOSED && !over) again = window.setTimeout(open, 2000);
      };
    };
    open();
    return () => {
      over = true;
      window.clearTimeout(again);
      stream?.close();
    };
  }
}

interface Inlined {
  left_out: number; runs: Short[];
  items: Record<string, { whole: Whole; page: Page | null; swarm: string | null; pictures: Record<string, string> }>;
}

function bytes(text: string): ArrayBuffer {
  const binary = atob(text);
  const array = new Uint8Array(binary.length);
  for (let k = 0; k < binary.length; k++) array[k] = binary.charCodeAt(k);
  return array.buffer;
}

/** From the page itself. */
export class Inline implements Source {
  readonly live = false;
  constructor(private readonly data: Inlined) {}

  private item(id: string) {
    const item = this.data.items[id];
    if (!item) throw new Error("there is no such run in this report");
    return item;
  }

  async runs() { return { folders: [], runs: this.data.runs, left_out: this.data.left_out }; }
  async whole(id: string) { return this.item(id).whole; }
  async history(id: string) { return this.item(id).whole.history ?? { columns: {}, spacing: 1 }; }
  async swarm(id: string) {
    const text = this.item(id).swarm;
    return text ? bytes(text) : null;
  }

  async page(id: string, question: Question): Promise<Page> {
    const all = this.item(id).page ?? { rows: [], count: 0, more: false, total: 0, offset: 0 };
    const number = (value: number | string | null) => value === null ? NaN : typeof value === "string" ? Infinity : value;
    const failed = (status: string) => status !== "ok" && status !== "infeasible";
    const rows = all.rows.filter((row) =>
      (question.status === "" || row.status === question.status || (question.status === "failed" && failed(row.status)))
      && (question.from === "" || number(row.value) >= Number(question.from))
      && (question.to === "" || number(row.value) <= Number(question.to))
      && (question.text === "" || (row.message + row.stderr).toLowerCase().includes(question.text.toLowerCase())));
    const key = (row: Page["rows"][number]) => {
      const value = row[question.sort as "value" | "seconds" | "id"];
      return typeof value === "number" ? value : Infinity;
    };
    rows.sort((a, b) => (key(a) - key(b)) * (question.way === "up" ? 1 : -1));
    return { ...all, rows: rows.slice(question.offset, question.offset + question.limit), count: rows.length, offset: question.offset };
  }

  exported() { return null; }
  picture(id: string, name: string) {
    const text = this.item(id).pictures[name];
    return text ? `data:image/png;base64,${text}` : null;
  }
  watch() { return () => undefined; }
}
