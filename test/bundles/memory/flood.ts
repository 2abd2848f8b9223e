/** Documents as long as they may be, made to take as much memory as they can. */
const FLOODS = {
  'empty objects': '{},',
  'empty arrays': '[],',
  'arrays of one': '[0],',
  'nested arrays': `${'['.repeat(20)}${']'.repeat(20)},`,
  integers: '0,',
  fractions: '.5,'.replace('.', '0.'),
  'short strings': '"ab",',
  'escaped keys': String.raw`{"\n":0},`,
} as const;

export type Flood =
  | keyof typeof FLOODS
  | 'distinct keys'
  | 'objects of distinct keys'
  | 'one string'
  | 'one wide string'
  | 'escapes';

/** `before`, then a value of the kind, then `after`: `size` bytes together, or a few less. */
export const flood = (kind: Flood, size: number, before: string, after: string): Buffer => {
  const bytes = Buffer.alloc(size, ' ');
  const [start, end] = [bytes.write(before), size - Buffer.byteLength(after)];
  const [open, close] = bracketsOf(kind);
  bytes.write(open, start);
  let at = start + 1;
  if (Object.hasOwn(FLOODS, kind)) at = repeat(bytes, FLOODS[kind as keyof typeof FLOODS], at, end - 1) - 1;
  else if (kind === 'distinct keys') at = count(bytes, (key) => `"${key}":0,`, at, end - 1) - 1;
  else if (kind === 'objects of distinct keys') at = count(bytes, (key) => `{"${key}":0},`, at, end - 1) - 1;
  else at = repeat(bytes, STRINGS[kind as keyof typeof STRINGS], at, end - 1);
  bytes.write(close, at);
  bytes.fill(' ', at + 1, end);
  bytes.write(after, end);
  return bytes;
};

const STRINGS = { 'one string': 'a', 'one wide string': 'aaaaaaaaaa\u20ac', escapes: '\\n' } as const;

const bracketsOf = (kind: Flood): readonly [string, string] => {
  if (kind in STRINGS) return ['"', '"'];
  return kind === 'distinct keys' ? ['{', '}'] : ['[', ']'];
};

/** @returns behind the last whole one */
const repeat = (bytes: Buffer, one: string | Buffer, from: number, to: number): number => {
  const length = Buffer.byteLength(one);
  const end = from + Math.floor((to - from) / length) * length;
  bytes.fill(one, from, end);
  return end;
};

const count = (bytes: Buffer, one: (key: string) => string, from: number, to: number): number => {
  let at = from;
  for (let number = 0; ; number++) {
    const text = one(number.toString(36));
    if (at + text.length > to) return at;
    at += bytes.write(text, at);
  }
};

/** Bundles with as many assumed blobs as `size` bytes name: what a table of contents is mostly made of. */
export const realBundles = (size: number, before: string, after: string): Buffer => {
  const assumed = Array.from({ length: 100_000 }, (_, at) => ({
    digest: `sha256:${at.toString(16).padStart(64, '0')}`,
    size: 1e9 + at,
  }));
  const bundle = { ...assumed[0], environment: 'prod', clusterType: 'host', kind: 'host', assumed };
  const one = Buffer.from(`${JSON.stringify(bundle)},`);
  const bytes = Buffer.alloc(size, ' ');
  const start = bytes.write(`${before}[`);
  const end = repeat(bytes, one, start, size - Buffer.byteLength(after) - 1);
  bytes.write(`]${after}`, end - 1);
  return bytes;
};
