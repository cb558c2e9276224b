// Begins: chooses where the data come from, and the page that the address asks for.

import { compared } from "./compared";
import { h } from "./dom";
import { Frame } from "./frame";
import { overview } from "./overview";
import { run } from "./run";
import { Inline, Remote } from "./source";

const data = document.getElementById("data");
const root = document.getElementById("app");
const source = data ? new Inline(JSON.parse(data.textContent ?? "{}")) : new Remote();
// The token has become a cookie; it need not stay in the address, nor in the history.
if (!data && window.location.search !== "") history.replaceState(null, "", `${window.location.pathname}${window.location.hash}`);

if (root) {
  const frame = new Frame(source, root);
  let turn = 0;
  const route = async () => {
    const mine = ++turn;
    frame.clear();
    const [page, id, tab] = window.location.hash.replace(/^#\/?/, "").split("/");
    try {
      if (page === "run" && id) await run(frame, id, tab ?? "", () => mine === turn);
      else if (page === "compare" && id) await compared(frame, id.split(","));
      else await overview(frame);
    } catch (error) {
      if (mine !== turn) return;
      const words = error instanceof Error ? error.message : String(error);
      frame.show("Not there", [["Not there", null]], [h("h1", {}, "This cannot be shown"), h("p", { class: "fault" }, words),
        h("p", {}, h("a", { href: "#/" }, "All runs"))]);
    }
  };
  // In a notebook the page has the address of another one, to which such links would lead.
  if (data) {
    root.addEventListener("click", (event) => {
      const link = event.target instanceof Element ? event.target.closest("a[href^='#/']") : null;
      if (!link) return;
      event.preventDefault();
      frame.go(link.getAttribute("href") ?? "#/");
    });
  }
  window.addEventListener("hashchange", route);
  void route();
}
