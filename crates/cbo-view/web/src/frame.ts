// What surrounds every page: the head, the way back, whether the connection holds, light and dark.

import { choice, fill, h, type Child } from "./dom";
import type { Source } from "./source";
import { choose, chosen } from "./theme";
import type { News } from "./types";

export class Frame {
  private readonly head = h("nav", { "aria-label": "Where you are" });
  private readonly main = h("main", { id: "main", tabindex: -1 });
  private readonly live = h("span", { class: "live", role: "status" });
  private endings: (() => void)[] = [];

  constructor(readonly source: Source, root: Element) {
    const skip = h("a", { class: "skip", href: "#main", click: (event: Event) => { event.preventDefault(); this.main.focus(); } },
      "To the content");
    const theme = choice("Colours", [["auto", "Auto"], ["light", "Light"], ["dark", "Dark"]] as const, chosen(), choose);
    fill(root, skip, h("header", { class: "top" }, h("a", { class: "brand", href: "#/" }, "cbo"), this.head, this.live, theme),
      this.main);
  }

  go(address: string): void { window.location.hash = address; }

  /** Ends what the page before has begun. */
  clear(): void {
    this.endings.splice(0).forEach((end) => end());
    this.live.textContent = "";
    this.live.className = "live";
  }

  onEnd(end: () => void): void { this.endings.push(end); }

  /** Shows a page. */
  show(title: string, path: [string, string | null][], children: Child): void {
    document.title = `${title} · cbo`;
    const steps: [string, string | null][] = path.length > 0 ? [["Runs", "#/"], ...path] : [];
    fill(this.head, steps.map(([words, address]) => h("span", {}, address ? h("a", { href: address }, words) : words)));
    fill(this.main, children);
  }

  /** News of a run, or of all; `again` after a connection was lost. */
  watch(id: string | null, news: (news: News) => void, again: () => void): void {
    if (!this.source.live) return;
    let lost = false;
    const connected = (yes: boolean) => {
      this.live.textContent = yes ? "live" : "reconnecting …";
      this.live.className = yes ? "live on" : "live off";
      if (yes && lost) again();
      lost = !yes;
    };
    this.onEnd(this.source.watch(id, news, connected));
  }
}
