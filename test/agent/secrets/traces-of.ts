import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The base64 of a text wherever it begins in another one, without the characters that its neighbours change. */
const base64Within = (bytes: Buffer, offset: number): string => {
  const text = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replace(/=+$/, '');
  const [first, last] = [[0, 2, 3][offset] ?? 0, (offset + bytes.length) % 3 === 0 ? 0 : 1];
  return text.slice(first, text.length - last);
};

/** How a secret may look where it should not be: plain, encoded, or as a digest that anybody can compute. Each look once. */
const looksOf = (secret: string): ReadonlyMap<string, string> => {
  const bytes = Buffer.from(secret);
  const digest = createHash('sha256').update(bytes).digest();
  const looks = new Map([
    ['plain', secret],
    ['URL-encoded', encodeURIComponent(secret)],
    ['as JSON', JSON.stringify(secret).slice(1, -1)],
    ['as base64', base64Within(bytes, 0)],
    ['as base64 behind one byte', base64Within(bytes, 1)],
    ['as base64 behind two bytes', base64Within(bytes, 2)],
    ['as hex', bytes.toString('hex')],
    ['as a digest', digest.toString('hex')],
    ['as a digest in base64', digest.toString('base64').replace(/=+$/, '')],
  ]);
  return new Map([...looks].filter(([look, text]) => look === 'plain' || text !== secret));
};

/** 'plain in <what>' for every trace of these secrets in a text or in raw bytes. */
export const tracesIn = (
  what: string,
  content: string | Buffer,
  secrets: readonly string[],
): readonly string[] => {
  const bytes = Buffer.from(content);
  return secrets.flatMap((secret) =>
    [...looksOf(secret)].flatMap(([look, text]) =>
      bytes.includes(text) ? [`${secret} ${look} in ${what}`] : [],
    ),
  );
};

/** The same of every byte of every file below a folder: databases with their journals, blobs, copies, left-over files. */
export const tracesBelow = async (folder: string, secrets: readonly string[]): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    found.push(...tracesIn(path, await readFile(path), secrets));
  }
  return found;
};
