// Builds the pages into ../assets, or with --check says whether what is there is what the sources give.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";

const assets = new URL("../assets/", import.meta.url);
const here = new URL("./", import.meta.url);
const read = (path, base = here) => readFileSync(new URL(path, base), "utf8");

const { outputFiles } = await build({
  entryPoints: [new URL("src/main.ts", here).pathname],
  absWorkingDir: here.pathname,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  write: false,
});
const head = "/* Built from crates/cbo-view/web by `npm run build`; holds uPlot, see LICENCES.txt. */\n";
const files = {
  "app.js": head + outputFiles[0].text,
  "app.css": head + read("node_modules/uplot/dist/uPlot.min.css") + "\n" + read("src/style.css"),
  "index.html": read("src/index.html"),
  "LICENCES.txt": "uPlot 1.6.32, https://github.com/leeoniya/uPlot\n\n" + read("node_modules/uplot/LICENSE"),
};
if (process.argv.includes("--check")) {
  const different = Object.keys(files).filter((name) => {
    try { return read(name, assets) !== files[name]; } catch { return true; }
  });
  if (different.length > 0) {
    console.error(`crates/cbo-view/assets is not what the sources give: ${different.join(", ")}; run npm run build in crates/cbo-view/web`);
    process.exit(1);
  }
} else {
  for (const [name, text] of Object.entries(files)) writeFileSync(new URL(name, assets), text);
}
