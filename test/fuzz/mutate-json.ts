import { type Mutate, mutateBytes } from './mutate-bytes.ts';
import type { Random } from './random.ts';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Path = readonly (string | number)[];

const ODD_KEYS = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'critical',
  'length',
  '',
  '\u0000',
] as const;

const oddValue = (random: Random): Json =>
  random.pick<() => Json>([
    () => null,
    () => true,
    () => 0,
    () => -1,
    () => 0.5,
    () => 2 ** 53,
    () => 1e308,
    () => '',
    () => '../../etc/passwd',
    () => '__proto__',
    () => '\ud800',
    () => '\u0000\u001b[2J',
    () => 'x'.repeat(random.below(5000)),
    () => 'sha256:'.concat('a'.repeat(random.below(130))),
    () => '9999-99-99T99:99:99Z',
    () => [],
    () => ({}),
    () => nested(random.below(60)),
    () => Array.from({ length: random.below(3000) }, () => 0),
  ])();

const nested = (depth: number): Json => {
  let value: Json = 1;
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
};

/** Assigning `__proto__` would set a prototype instead. */
const define = (object: object, key: string | number, value: unknown): void => {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
};

const MAX_GROWTH = 100_000;

const isContainer = (value: unknown): value is Json[] | { [key: string]: Json } =>
  typeof value === 'object' && value !== null;

const pathsOf = (value: Json, path: Path = []): Path[] =>
  isContainer(value)
    ? [path, ...Object.entries(value).flatMap(([key, child]) => pathsOf(child, [...path, key]))]
    : [path];

const valueAt = (root: Json, path: Path): Json => {
  let value: Json = root;
  for (const key of path) value = (value as { [key: string]: Json })[key as string] as Json;
  return value;
};

/** Replaces what is at a path, in place; the root itself is answered. */
const replace = (root: Json, path: Path, value: Json): Json => {
  const key = path.at(-1);
  if (key === undefined) return value;
  define(valueAt(root, path.slice(0, -1)) as object, key, value);
  return root;
};

const changedText = (random: Random, text: string): string => {
  const bytes = mutateBytes(random, Buffer.from(text), []);
  return random.chance(50) ? bytes.toString('latin1') : bytes.toString('utf8');
};

const changedNumber = (random: Random, value: number): number =>
  random.pick([value + 1, value - 1, -value, value + 0.5, value * 2 ** 31, 0, Number.MAX_SAFE_INTEGER]);

const change = (random: Random, root: Json, others: readonly Json[]): Json => {
  const paths = pathsOf(root);
  const path = random.pick(paths);
  const value = valueAt(root, path);
  const kind = random.below(9);
  if (kind === 0) return replace(root, path, oddValue(random));
  if (kind === 1) return replace(root, path, structuredClone(valueAt(root, random.pick(paths))));
  if (kind === 2) {
    const other = random.pick([root, ...others]);
    return replace(root, path, structuredClone(valueAt(other, random.pick(pathsOf(other)))));
  }
  if (kind === 3) return replace(root, path, random.chance(50) ? [value] : { a: value });
  if (typeof value === 'string') return replace(root, path, changedText(random, value));
  if (typeof value === 'number') return replace(root, path, changedNumber(random, value));
  if (Array.isArray(value)) {
    if (kind === 4) value.splice(random.below(value.length), 1);
    else if (kind === 5) value.reverse();
    else
      value.push(...Array.from({ length: copiesOf(random, value[0]) }, () => value[0] ?? oddValue(random)));
    return root;
  }
  if (isContainer(value)) {
    const keys = Object.keys(value);
    const key = keys.length > 0 ? random.pick(keys) : '';
    if (kind === 4) delete value[key];
    else if (kind === 5) define(value, random.pick(ODD_KEYS), oddValue(random));
    else {
      define(value, changedText(random, key), value[key] ?? null);
      if (random.chance(50)) delete value[key];
    }
    return root;
  }
  return replace(root, path, oddValue(random));
};

/** Up to two hundred of a small thing, few of a large one: what grows then would be this program's memory, not a parser's. */
const copiesOf = (random: Random, value: Json | undefined): number =>
  Math.min(random.below(200), Math.floor(MAX_GROWTH / (JSON.stringify(value ?? null).length + 1)));

/** The same key, one letter of it as an escape; the first one behind a place. */
const escapedKey = (text: string, from: number): string =>
  text.slice(0, from) +
  text
    .slice(from)
    .replace(
      /([{,]")([\w-]*)(\w)(":)/,
      (_, start: string, key: string, letter: string, end: string) =>
        `${start}${key}\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}${end}`,
    );

/** What only the text can say: a key twice, odd numbers, escapes, white space, a byte order mark. */
const changedSpelling = (random: Random, text: string): string => {
  const at = random.below(text.length + 1);
  return random.pick<() => string>([
    () => `\ufeff${text}`,
    () => text.replace(/"([a-z])/, (_, letter: string) => `"\\u00${letter.charCodeAt(0).toString(16)}`),
    () => escapedKey(text, at),
    () => text.replace(/\{"(\w+)":/, '{"$1":0,"$1":'),
    () => text.replaceAll(/:(\d+)/g, ':$1.0'),
    () => text.replace(/:(\d+)/, ':-0'),
    () => text.replace(/:(\d+)/, ':1e0$1'),
    () => `${text.slice(0, at)}${'['.repeat(random.below(20_000))}${text.slice(at)}`,
    () => `${text.slice(0, at)}${'{"a":'.repeat(random.below(5000))}${text.slice(at)}`,
    () => `${text.slice(0, at)}${' '.repeat(random.below(20_000))}${text.slice(at)}`,
    () => `${text}${text}`,
  ])();
};

const parsed = (bytes: Buffer): Json | undefined => {
  try {
    return JSON.parse(bytes.toString()) as Json;
  } catch {
    return undefined;
  }
};

/** Changes of values, keys and shape; now and then of the spelling, or of any byte. */
export const mutateJson: Mutate = (random, input, others) => {
  let root = parsed(input);
  if (root === undefined || random.chance(15)) return mutateBytes(random, input, others);
  const known = others.length > 0 ? parsed(random.pick(others)) : undefined;
  for (let count = 1 + random.below(3); count > 0; count--) {
    root = change(random, root, known === undefined ? [] : [known]);
    if (JSON.stringify(root).length > MAX_GROWTH) break;
  }
  const text = JSON.stringify(root);
  return Buffer.from(random.chance(15) ? changedSpelling(random, text) : text);
};

/** JSON a line, as events are. */
export const mutateLines: Mutate = (random, input, others) => {
  const lines = input.toString('latin1').split('\n');
  const at = random.below(lines.length);
  const line = Buffer.from(lines[at] ?? '', 'latin1');
  const kind = random.below(6);
  if (kind === 0) lines.splice(at, 1);
  else if (kind === 1) lines.splice(random.below(lines.length), 0, lines[at] ?? '');
  else if (kind === 2) lines.reverse();
  else if (kind === 3) return mutateBytes(random, input, others);
  else lines[at] = mutateJson(random, line, []).toString('latin1');
  return Buffer.from(lines.join('\n'), 'latin1');
};

/** A signature file: what is signed, where it says base64, or the file around it. */
export const mutateEnvelope: Mutate = (random, input, others) => {
  const file = parsed(input) as { dsseEnvelope?: { payload?: unknown } } | undefined;
  const payload = file?.dsseEnvelope?.payload;
  if (typeof payload !== 'string' || random.chance(60)) return mutateJson(random, input, others);
  const changed = mutateJson(random, Buffer.from(payload, 'base64'), []);
  (file as { dsseEnvelope: { payload: string } }).dsseEnvelope.payload = changed.toString('base64');
  return Buffer.from(JSON.stringify(file));
};
