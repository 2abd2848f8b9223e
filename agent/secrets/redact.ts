import type { DesiredPackage } from '../apply/target.ts';

/** Replaces a secret in a text. */
const PLACEHOLDER = '[secret]';
/** A shorter line of a secret, such as a bracket of a JSON document, is no secret by itself. */
const MIN_LINE = 6;

/**
 * The texts under which a program may print what is secret in a package: each value of its sets and each decrypted file, whole
 * and line by line, as they are and as Base64, in a URL and in JSON.
 */
export const secretTexts = ({
  secrets,
  files,
}: Pick<DesiredPackage, 'secrets' | 'files'>): readonly string[] => {
  if (!secrets) return [];
  const values = [
    ...[...secrets.sets.values()].flatMap((set) =>
      Object.values(set.values).map((value) => Buffer.from(value, 'base64')),
    ),
    ...[...secrets.decrypted].flatMap((path) => files.get(path) ?? []),
  ];
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
    ];
  });
  return [...new Set(texts)].filter((text) => text !== '');
};

/**
 * The first `length` characters of a text, with a placeholder for every secret that begins in them. Secrets are looked for in the
 * whole text, so that none is cut in two.
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
