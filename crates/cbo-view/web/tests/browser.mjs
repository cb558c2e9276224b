// Every page in a real browser, live runs, a swarm that plays, tables, dark and light, wide and narrow, keyboard alone.
// `SHOTS=FOLDER npm test` also makes pictures of all pages.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { browser, cbo, crowd, ended, make, place, runs, start, tidy, view } from "./viewer.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const shots = process.env.SHOTS;
const tests = [];
const test = (name, body) => tests.push([name, body]);
const faults = [];

/** A page whose errors are collected. */
async function open(chrome, address, options = {}) {
  const context = await chrome.newContext({ viewport: { width: 1400, height: 900 }, bypassCSP: options.bypassCSP ?? false, ...options });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (message.type() === "error" && !options.expectErrors) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    const host = new URL(request.url()).hostname;
    if (!["127.0.0.1", ""].includes(host)) faults.push(`asked ${request.url()}`);
  });
  await page.goto(address);
  await page.getByRole("heading", { level: 1 }).waitFor();
  return page;
}

const go = async (page, name) => {
  await page.goto(page.url().split("#")[0]);
  await page.getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1, name: new RegExp(name) }).waitFor();
};
const text = (page, css) => page.locator(css).first().innerText();
const until = async (what, check, seconds = 10) => {
  const end = Date.now() + 1000 * seconds;
  for (;;) {
    if (await check()) return;
    assert.ok(Date.now() < end, what);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

test("the overview lists, sorts and filters all kinds, and compares some", async ({ page }) => {
  assert.equal(await page.locator("tbody tr").count(), 8);
  assert.ok(!page.url().includes("token"), "the token does not stay in the address");
  await page.getByRole("searchbox", { name: "Filter" }).fill("ackley");
  assert.equal(await page.locator("tbody tr").count(), 2);
  await page.getByRole("searchbox", { name: "Filter" }).fill("");
  await page.getByRole("button", { name: "Evaluations" }).click();
  assert.match(await text(page, "tbody tr"), /rastrigin/);
  await page.getByRole("checkbox", { name: "Choose rastrigin" }).check();
  await page.getByRole("checkbox", { name: "Choose ackley" }).check();
  await page.getByRole("button", { name: "Compare 2" }).click();
  await page.getByRole("heading", { name: "2 runs" }).waitFor();
  assert.match(await text(page, "main"), /Settings that differ[\s\S]*particles/);
});

test("a run has its curves, with values under the cursor and zoom", async ({ page }) => {
  await go(page, "ackley");
  const plot = page.locator(".plot").first();
  await plot.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  const value = () => page.locator(".u-legend .u-value").nth(1).innerText();
  assert.match(await value(), /\d/);
  const before = await value();
  await page.keyboard.press("ArrowRight");
  await until("the cursor moves", async () => (await value()) !== "–" && (await page.locator(".u-legend .u-value").first().innerText()) !== before);
  await page.keyboard.press("+");
  await page.keyboard.press("0");
  for (const words of ["Effective sample size", "Alpha and sigma"]) await page.getByRole("heading", { name: words }).waitFor();
  await page.getByRole("button", { name: "Seconds" }).click();
});

test("an infinite alpha is said", async ({ page }) => {
  await go(page, "rastrigin");
  await page.getByText(/^Constant: .*alpha inf/).waitFor();
});

test("settings show what was changed, and the command that repeats the run", async ({ page }) => {
  await go(page, "ackley");
  await page.getByRole("link", { name: "Settings" }).click();
  await page.locator("tr.changed").first().waitFor();
  const changed = await page.locator("tr.changed th").allInnerTexts();
  assert.deepEqual(changed.map((words) => /^\S+/.exec(words)?.[0]).filter((key) => ["particles", "alpha", "sigma", "steps", "dim"].includes(key)).sort(),
    ["alpha", "particles", "sigma", "steps"]);
  const command = await text(page, ".command code");
  assert.match(command, /^cbo minimize --config \S+config\.toml$/);
  cbo(...command.split(" ").slice(1), "--json");
  await page.getByRole("link", { name: "Log" }).click();
  assert.match(await text(page, ".log"), /begun by cbo[\s\S]*ended at step/);
});

test("a swarm of 400 particles plays 1000 steps at the rate of the screen", async ({ page }) => {
  await go(page, "rastrigin");
  await page.getByRole("link", { name: "Swarm" }).click();
  const slider = page.getByRole("slider", { name: "Step" });
  assert.ok(Number(await slider.getAttribute("max")) >= 1000, "every step is there");
  await page.getByRole("button", { name: "Play" }).click();
  await page.waitForTimeout(1500);
  const rate = Number(await page.locator("canvas.swarm").getAttribute("data-rate"));
  assert.ok(Number(await slider.inputValue()) > 20, "it moves");
  await page.getByRole("button", { name: "Pause" }).click();
  console.log(`  ${rate} pictures per second`);
  const at = Number(await slider.inputValue());
  await page.locator("canvas.swarm").focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(Number(await slider.inputValue()), at + 1);
  await page.keyboard.press("Home");
  assert.match(await text(page, ".card .number"), /step 0,/);
});

test("more dimensions: a pair, principal components, the best points", async ({ page }) => {
  await go(page, "ackley");
  await page.getByRole("link", { name: "Swarm" }).click();
  const picture = () => page.locator("canvas.swarm").evaluate((canvas) => canvas.toDataURL().length);
  await page.getByLabel("Across").selectOption("x3");
  const pair = await picture();
  await page.getByRole("button", { name: "Principal components" }).click();
  const components = await picture();
  await page.getByRole("button", { name: "Best points" }).click();
  assert.equal(new Set([pair, components, await picture()]).size, 3);
});

test("100 000 particles do not freeze the page", async ({ page }) => {
  await go(page, "formula");
  crowd(join(runs, "formula/swarm.track"));
  await page.getByRole("link", { name: "Swarm" }).click();
  await page.getByText("100\u202f000 particles").first().waitFor();
  await page.locator("canvas.swarm").focus();
  const time = await page.evaluate(() => {
    const canvas = document.querySelector("canvas.swarm");
    const press = (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const start = performance.now();
    for (let k = 0; k < 5; k++) { press("Home"); press("End"); }
    return (performance.now() - start) / 10;
  });
  console.log(`  ${time.toFixed(1)} ms per picture of 100 000`);
});

test("evaluations are sorted and filtered, a failure has its text, and all is exported", async ({ page }) => {
  await go(page, "program");
  await page.getByRole("link", { name: "Evaluations" }).click();
  await page.getByRole("button", { name: "Value", exact: true }).click();
  await until("sorted by value", async () => /^\d+\s+0|e−/.test(await text(page, "tbody tr")));
  await page.getByLabel("Status").selectOption("died");
  await until("only failures", async () => (await page.locator("tbody .badge").allInnerTexts()).every((words) => words === "died"));
  await page.getByRole("button", { name: "Show" }).first().click();
  assert.match(await text(page, "tr.said"), /mesh failed <img src=x onerror=alert\(1\)>/);
  assert.equal(await page.locator("tr.said img").count(), 0);
  await page.getByLabel("Error text").fill("nothing like this");
  await until("no rows", async () => (await page.locator("tbody tr").count()) === 0);
  await page.getByLabel("Error text").fill("");
  await page.getByLabel("Status").selectOption("");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Export CSV" }).click()]);
  const lines = readFileSync(await download.path(), "utf8").trim().split("\n");
  assert.equal(lines[0], "x1,x2,value,status,attempt,seconds,finished,message,stderr");
  assert.ok(lines.length >= 120);
});

test("training, comparisons and experiments have their pages", async ({ page }) => {
  await go(page, "training");
  for (const words of ["Accuracy", "Loss", "Confusion matrix", "Misread images"]) await page.getByRole("heading", { name: words }).waitFor();
  await until("the picture is there", () => page.locator("img.picture").evaluate((image) => image.naturalWidth > 100));
  await go(page, "methods");
  assert.equal(await page.locator(".plot").count(), 2);
  await page.goto(page.url().split("#")[0]);
  await page.getByRole("link", { name: "phases/phase" }).click();
  await page.locator(".matrix canvas").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  assert.match(await text(page, ".said-of"), /sigma squared 4, particles 190: \d+ of 10 succeeded \(\d+ %, 95 % interval/);
});

test("a live run is followed, its kill and its end are seen", async ({ page }) => {
  const child = start("minimize", "--command", "sh -c 'sleep 0.05; echo 1' x {x}", "--dim", "2", "--bounds", "-1,1", "--method", "cbo", "--particles", "4",
    "--steps", "2000", "--stagnation", "off", "--diameter", "off", "--workers", "2", "--out", join(runs, "live"), "-q");
  await page.getByRole("link", { name: "live", exact: true }).waitFor();
  await go(page, "live");
  const steps = async () => Number((await page.locator(".fact", { hasText: "Steps" }).locator("dd").innerText()).replace(/\D/g, ""));
  await until("it runs", async () => (await text(page, "h1")).includes("running"));
  await page.getByRole("heading", { name: "Workers" }).waitFor();
  const first = await steps();
  await until("new steps within a second or so", async () => (await steps()) > first, 3);
  child.kill("SIGKILL");
  await ended(child);
  await until("the kill is seen", async () => (await text(page, "h1")).includes("interrupted"), 3);
  const killed = await steps();
  const again = start("resume", join(runs, "live"), "--steps", String(killed + 10), "-q");
  await until("the run is resumed", async () => (await text(page, "h1")).includes("running"), 5);
  await ended(again);
  await until("the end is seen", async () => (await text(page, "h1")).includes("finished"), 5);
});

test("a page that is open survives a restart of the viewer", async ({ page, server }) => {
  await page.goto(page.url().split("#")[0]);
  await page.getByText("live", { exact: true }).first().waitFor();
  server.child.kill("SIGTERM");
  await ended(server.child);
  await page.getByText("reconnecting").waitFor();
  cbo("minimize", "sphere", "--dim", "2", "--steps", "20", "--out", "runs/later", "-q");
  Object.assign(server, await view(server.port));
  await page.getByRole("link", { name: "later" }).waitFor();
  faults.splice(0, faults.length, ...faults.filter((fault) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|Failed to load resource/.test(fault)));
});

test("a report is one file with the same pages, and asks nobody", async ({ chrome }) => {
  cbo("report", "runs", "--out", "report.html");
  const page = await open(chrome, `file://${join(place, "report.html")}`);
  await page.getByRole("link", { name: "rastrigin", exact: true }).click();
  await page.getByRole("heading", { name: "Best value and spread" }).waitFor();
  await page.getByRole("link", { name: "Swarm" }).click();
  await page.locator("canvas.swarm").waitFor();
  await page.goto(page.url().split("#")[0]);
  await page.getByRole("link", { name: "program" }).click();
  await page.getByRole("link", { name: "Evaluations" }).click();
  await until("rows", async () => (await page.locator("tbody tr").count()) > 10);
  await page.context().close();
});

test("the same pages work in the frame of a notebook, which may run scripts and nothing else", async ({ chrome }) => {
  const report = readFileSync(join(place, "report.html"), "utf8").replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  writeFileSync(join(place, "notebook.html"), `<!doctype html><h1>Notebook</h1>
    <iframe sandbox="allow-scripts" style="width: 1200px; height: 700px" srcdoc="${report}"></iframe>`);
  const page = await open(chrome, `file://${join(place, "notebook.html")}`);
  const frame = page.frameLocator("iframe");
  await frame.getByRole("link", { name: "rastrigin", exact: true }).click();
  await frame.getByRole("link", { name: "Swarm" }).click();
  await frame.locator("canvas.swarm").waitFor();
  await frame.getByRole("link", { name: "Runs" }).click();
  await frame.getByRole("link", { name: "ackley", exact: true }).waitFor();
  await page.context().close();
});

test("the keyboard alone leads from the list to a swarm", async ({ page }) => {
  await page.goto(page.url().split("#")[0]);
  const tab = async (name) => {
    for (let k = 0; k < 80; k++) {
      await page.keyboard.press("Tab");
      if ((await page.evaluate(() => document.activeElement?.textContent)) === name) return;
    }
    assert.fail(`${name} cannot be reached`);
  };
  await tab("rastrigin");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Best value and spread" }).waitFor();
  await tab("Swarm");
  await page.keyboard.press("Enter");
  await page.locator("canvas.swarm").waitFor();
  await tab("Play");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Pause" }).waitFor();
});

const PAGES = [["overview", null, ""], ["run", "ackley", ""], ["auto", "auto", ""], ["swarm", "rastrigin", "Swarm"], ["best-points", "ackley", "Swarm"],
  ["program", "program", ""], ["evaluations", "program", "Evaluations"], ["settings", "program", "Settings"], ["log", "program", "Log"],
  ["training", "training", ""], ["comparison", "methods", ""], ["experiment", "phases/phase", ""]];

for (const [scheme, width] of [["light", 1400], ["dark", 1400], ["light", 400], ["dark", 400]]) {
  test(`${scheme}, ${width} pixels: nothing sticks out, and axe finds nothing serious`, async ({ chrome, server }) => {
    // The program that looks for faults is put into the page by its own way, which the page's policy forbids to others.
    const page = await open(chrome, server.address, { colorScheme: scheme, viewport: { width, height: 900 }, bypassCSP: true });
    for (const [name, run, tab] of PAGES) {
      await page.goto(page.url().split("#")[0]);
      await page.getByRole("heading", { name: "Runs" }).waitFor();
      if (run) await page.getByRole("link", { name: run, exact: true }).click();
      if (run) await page.getByRole("heading", { level: 1, name: run }).waitFor();
      if (tab) await page.getByRole("link", { name: tab, exact: true }).click();
      if (name === "best-points") await page.getByRole("button", { name: "Best points" }).click();
      await page.waitForTimeout(shots ? 300 : 100);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${name} is ${wide} pixels wide`);
      // What is narrow has the same contents; two pages of it are enough.
      if (width === 400 && !["overview", "run"].includes(name)) {
        if (shots) await page.screenshot({ path: join(shots, `${name}-${scheme}-${width}.png`), fullPage: true });
        continue;
      }
      await page.addScriptTag({ content: axe });
      const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
      assert.deepEqual(serious.map(({ id, nodes }) => `${name}: ${id}: ${nodes[0].html}`), []);
      if (shots) await page.screenshot({ path: join(shots, `${name}-${scheme}-${width}.png`), fullPage: true });
    }
    await page.context().close();
  });
}

if (shots) mkdirSync(shots, { recursive: true });
let failed = 0;
const wanted = process.argv[2];
try {
  make();
  const server = await view();
  const chrome = await browser();
  const page = await open(chrome, server.address);
  for (const [name, body] of tests) {
    if (wanted && !name.includes(wanted)) continue;
    try {
      await page.goto(page.url().split("#")[0]);
      await page.getByRole("heading", { name: "Runs" }).waitFor();
      await body({ page, chrome, server });
      assert.deepEqual(faults.splice(0), [], "nothing goes wrong in the page");
      console.log(`ok: ${name}`);
    } catch (error) {
      failed++;
      faults.splice(0);
      console.log(`FAILED: ${name}\n${error.stack ?? error}`);
    }
  }
  await chrome.close();
} finally {
  tidy();
}
console.log(failed === 0 ? "all pages work in the browser" : `${failed} tests failed`);
process.exit(failed === 0 ? 0 : 1);
