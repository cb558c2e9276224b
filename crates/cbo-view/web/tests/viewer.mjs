// The real program and a real browser, for the tests.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const CBO = process.env.CBO;
export const place = mkdtempSync(join(tmpdir(), "cbo-view-"));
export const runs = join(place, "runs");
const children = new Set();

/** Runs the program to its end. */
export function cbo(...words) {
  return execFileSync(CBO, [...words], { cwd: place, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, XDG_STATE_HOME: join(place, "state") } });
}

/** Starts the program. */
export function start(...words) {
  const child = spawn(CBO, words, { cwd: place, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, XDG_STATE_HOME: join(place, "state") } });
  children.add(child);
  child.on("exit", () => children.delete(child));
  return child;
}

/** Starts the viewer; resolves with the address that it prints. */
export async function view(port = 0) {
  const child = start("view", runs, "--no-open", "--port", String(port));
  const address = await new Promise((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (part) => { said += part; if (said.includes("\n")) resolve(said.trim()); });
    child.stderr.on("data", (part) => { said += part; });
    child.on("exit", () => reject(new Error(`the viewer ended: ${said}`)));
  });
  return { child, address, port: Number(new URL(address).port) };
}

export function ended(child) {
  return child.exitCode !== null || child.signalCode !== null ? Promise.resolve() : new Promise((resolve) => child.on("exit", resolve));
}

/** Runs of every kind. */
export function make() {
  mkdirSync(runs);
  const program = join(place, "program.sh");
  writeFileSync(program, `#!/bin/sh
awk -v a="$1" -v b="$2" 'BEGIN { if (a > 1.5) { print "mesh failed <img src=x onerror=alert(1)>" > "/dev/stderr"; exit 3 } print (a-1)^2+b^2 }'
`, { mode: 0o755 });
  cbo("minimize", "rastrigin", "--dim", "2", "--method", "cbo", "--particles", "400", "--steps", "1000", "--diameter", "off", "--stagnation", "off",
    "--out", "runs/rastrigin", "-q");
  cbo("minimize", "ackley", "--dim", "8", "--particles", "100", "--alpha", "5", "--steps", "200", "--sigma", "falling:2,0.5", "--out", "runs/ackley", "-q");
  cbo("minimize", "rastrigin", "--dim", "20", "--out", "runs/auto", "-q");
  cbo("minimize", "--formula", "sum(x^2 + sin(5*x))", "--dim", "1", "--bounds", "-3,3", "--method", "cbo", "--steps", "60", "--out", "runs/formula", "-q");
  cbo("minimize", "--command", "./program.sh {x}", "--dim", "2", "--bounds", "-2,2", "--workers", "2", "--max-evaluations", "120", "--out", "runs/program", "-q");
  cbo("mnist", "train", "--network", "shallow", "--epochs", "2", "--out", "runs/training", "-q");
  cbo("compare", "rastrigin", "ackley", "--dim", "4", "--methods", "auto,cbo,pso", "--runs", "5", "--max-evaluations", "3000", "--out", "runs/methods", "-q");
  const values = (n, f) => Array.from({ length: n }, (_, k) => f(k));
  mkdirSync(join(runs, "phases"));
  writeFileSync(join(runs, "phases/phase.json"), JSON.stringify({ experiment: "phase", parameters: { function: "rastrigin", dim: 4, dt: 0.02 }, runs: 10,
    x: { name: "sigma_squared", values: values(16, (k) => 2 * k + 2) }, y: { name: "particles", values: values(20, (k) => 10 * k + 10) },
    successes: values(320, (k) => Math.min(10, Math.floor(k / 20))), seconds: 4 }));
  writeFileSync(join(runs, "phases/phase.csv"), "sigma_squared\n");
}

/** A file with 100 000 particles in each of 4 snapshots, in the place of a run's. */
export function crowd(file) {
  const [particles, d] = [100000, 2];
  const head = Buffer.from(JSON.stringify({ wide: ["step", "time", "evaluations", "particles"], narrow: d + particles * (d + 1),
    about: { dim: 2, coordinates: d, particles, landscape: null } }));
  const text = Buffer.concat([head, Buffer.alloc((8 - (head.length % 8)) % 8, " ")]);
  const start = Buffer.alloc(16);
  start.write("CBOTRK\r\n", 0, "latin1");
  start.writeUInt32LE(1, 8);
  start.writeUInt32LE(text.length, 12);
  const frames = [0, 1, 2, 3].map((step) => {
    const wide = Float64Array.from([step, step, step, particles]);
    const narrow = Float32Array.from({ length: d + particles * (d + 1) }, (_, k) => Math.sin(k * 12.9898 + step) * (4 - step));
    return Buffer.concat([Buffer.from(wide.buffer), Buffer.from(narrow.buffer)]);
  });
  writeFileSync(file, Buffer.concat([start, text, ...frames]));
}

/** A browser with a fresh folder for itself. */
export function browser() {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"];
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args });
}

export function tidy() {
  for (const child of children) child.kill("SIGKILL");
  rmSync(place, { recursive: true, force: true });
}
