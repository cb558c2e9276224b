// Numbers and times as people read them.

/** A count with its thousands apart. */
export function count(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  return Math.round(value).toString().replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** A number with up to so many digits. */
export function short(value: number | string | null | undefined, digits = 6): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value;
  if (!Number.isFinite(value)) return String(value).replace("Infinity", "inf");
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e-4 && size < 10 ** Math.max(digits, 6) ? Number(value.toPrecision(digits)).toString() : value.toExponential(digits - 1);
  return text.replace(/\.?0+e/, "e").replace("e+", "e").replace("-", "−").replace("e-", "e−");
}

/** Seconds in words. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1e-3) return `${short(seconds * 1e6, 3)} µs`;
  if (seconds < 1) return `${short(seconds * 1e3, 3)} ms`;
  if (seconds < 60) return `${short(seconds, 3)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / 1440)} d ${Math.floor((minutes % 1440) / 60)} h`;
}

/** How long ago a time was, in milliseconds since 1970. */
export function ago(time: number): string {
  if (time === 0) return "–";
  const seconds = Math.max(0, (Date.now() - time) / 1000);
  return seconds < 2 ? "now" : seconds < 60 ? `${Math.floor(seconds)} s ago` : `${duration(seconds).replace(/ \d+ s$/, "")} ago`;
}

/** A point, its first coordinates. */
export function point(x: readonly (number | null)[], most = 6): string {
  const shown = x.slice(0, most).map((v) => short(v, 5)).join(", ");
  return `(${shown}${x.length > most ? ", …" : ""})`;
}
