import type { DesiredPackage } from '../model/target.ts';

/** Replaces a secret in a text. */
export const PLACEHOLDER = '[secret]';
/** Shortest line of a secret to redact on its own; shorter ones, such as a bracket in JSON, reveal nothing. */
const MIN_LINE = 6;

/**
 * The forms in which a program may print the secrets of a package: each value and each decrypted file, as secretForms.
 */
export const secretTexts = ({
  secrets,
  files,
}: Pick<DesiredPackage, 'secrets' | 'files'>): readonly string[] => {
  if (!secrets) return [];
  return secretForms([
    ...[...secrets.sets.values()].flatMap((set) =>
      Object.values(set.values).map((value) => Buffer.from(value, 'base64')),
    ),
    ...[...secrets.decrypted].flatMap((path) => files.get(path) ?? []),
  ]);
};

/** The forms in which a program may print values: whole and by line, plain and encoded for URLs and JSON, and whole in Base64 and hex. */
export const secretForms = (values: readonly Buffer[]): readonly string[] => {
  const texts = values.flatMap((value) => {
    const text = value.toString('utf8').trim();
    const lines = text.split(/\r?\n/).map((line) => line.trim());
    const plain = [text, ...lines.filter((line) => line.length >= MIN_LINE)];
    return [
      ...plain,
      ...plain.map((it) => encodeURIComponent(it.toWellFormed())),
      ...plain.map((it) => JSON.stringify(it).slice(1, -1)),
      value.toString('base64'),
      value.toString('base64url'),
      Buffer.from(text).toString('base64'),
      ...insideBase64(Buffer.from(text)),
      Buffer.from(text).toString('hex'),
    ];
  });
  return [...new Set(texts)].filter((text) => text !== '');
};

/** Shortest piece of Base64 that is looked for inside of a longer one. */
const MIN_PIECE = 10;

/** How a value looks in the Base64 of a text that contains it, such as `user:password`: without the characters that its neighbours change. */
const insideBase64 = (value: Buffer): readonly string[] =>
  [0, 1, 2]
    .map((shift) => {
      const bits = Buffer.concat([Buffer.alloc(shift), value])
        .toString('base64')
        .replace(/=+$/, '');
      const last = (shift + value.length) % 3 === 0 ? bits.length : bits.length - 1;
      return bits.slice(Math.ceil((shift * 8) / 6), last);
    })
    .filter((piece) => piece.length >= MIN_PIECE);

/**
 * The first `length` characters of a text, with a placeholder for every secret that begins in them. The whole text is searched,
 * so that a secret across the limit is found, too.
 */
export const redact = (text: string, secrets: readonly string[], length: number): string => {
  const found = secrets
    .flatMap((secret) => occurrences(text, secret, length))
    .toSorted((a, b) => a.start - b.start);
  let shown = '';
  let at = 0;
  for (const { start, end } of found) {
    if (start >= at) shown += `${text.slice(at, start)}${PLACEHOLDER}`;
    at = Math.max(at, end);
  }
  return shown + text.slice(at, Math.max(at, length));
};

const occurrences = (text: string, secret: string, before: number) => {
  const found: { readonly start: number; readonly end: number }[] = [];
  for (
    let start = text.indexOf(secret);
    start !== -1 && start < before;
    start = text.indexOf(secret, start + 1)
  ) {
    found.push({ start, end: start + secret.length });
  }
  return found;
};
