/** What is another in each run; what takes more comes before what takes less. */
const KINDS = {
  digest: /\b[0-9a-f]{64}\b/,
  recipient: /\bage1[a-z0-9]{58}\b/,
  identity: /\b[0-9a-f]{32}\b/,
  set: /\b[0-9a-f]{16}\b/,
  short: /\b[0-9a-f]{12}\b/,
  time: /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/,
  duration: /\b\d+(?:\.\d+)? s\b/,
  /** Which of two blobs gets there first is not always the same one. */
  transfer: /\b\d+ blobs \([^)]+\) sent, \d+ mounted, \d+ there already\b/,
  age: /\bjust now\b|\b\d+ \w+ ago\b/,
  size: /\b\d+(?:\.\d+)? (?:bytes|[KMG]iB)\b/,
} as const;

/** What a reader copies from the screen into the next command: it must be the same wherever the page says it again. */
const COPIED: ReadonlySet<string> = new Set(['digest', 'recipient', 'identity', 'set', 'short']);
const ANY = new RegExp(
  Object.entries(KINDS)
    .map(([name, { source }]) => `(?<${name}>${source})`)
    .join('|'),
  'g',
);

type Line = {
  readonly words: string;
  readonly values: readonly { readonly kind: string; readonly text: string }[];
};

/** A line without what differs from run to run; columns of a table are as wide as what is in them. */
const parseLine = (line: string): Line => {
  const values: { kind: string; text: string }[] = [];
  const words = line.replace(ANY, (text, ...rest: readonly unknown[]) => {
    const groups = rest.at(-1) as Readonly<Record<string, string | undefined>>;
    const [kind = ''] = Object.entries(groups).find(([, value]) => value !== undefined) ?? [];
    values.push({ kind, text });
    return `<${kind}>`;
  });
  return { words: words.trim().replaceAll(/ {2,}/g, '  '), values };
};

/** What the page calls a value, and what it is in this run. */
export type Known = Map<string, string>;

export const inThisRun = (text: string, known: Known): string => {
  let result = text;
  for (const [shown, real] of known) result = result.replaceAll(shown, real);
  return result;
};

/**
 * Holds what a page shows against what came out, line by line, and learns what the page's digests are in this run. `...` stands for any
 * lines; before the first line there may be some, too, and after the last.
 * @returns what the page shows and nobody said, or undefined when it is all there
 */
export const firstUntrue = (shown: readonly string[], said: string, known: Known): string | undefined => {
  const real = said.split('\n').filter((line) => line.trim() !== '');
  let next = 0;
  let skips = true;
  for (const line of shown) {
    if (line === '...') {
      skips = true;
      continue;
    }
    const wanted = parseLine(line);
    const rest = skips ? real.slice(next) : real.slice(next, next + 1);
    const found = rest.findIndex((it) => isSaid(wanted, parseLine(it), known));
    if (found === -1) return line;
    learn(wanted, parseLine(real[next + found] ?? ''), known);
    next += found + 1;
    skips = false;
  }
  return undefined;
};

const isSaid = (wanted: Line, real: Line, known: Known): boolean =>
  wanted.words === real.words &&
  wanted.values.every(({ kind, text }, index) => {
    const before = COPIED.has(kind) ? known.get(text) : undefined;
    return before === undefined || before === real.values[index]?.text;
  });

const learn = (wanted: Line, real: Line, known: Known): void => {
  wanted.values.forEach(({ kind, text }, index) => {
    const value = real.values[index]?.text;
    if (COPIED.has(kind) && value !== undefined) known.set(text, value);
  });
};
