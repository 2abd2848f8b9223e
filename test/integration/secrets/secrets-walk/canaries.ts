import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { tracesIn } from '../../../agent/secrets/traces-of.ts';

/** A value that is nowhere else, and that quotes, URLs and JSON write in another way. */
export const canary = (name: string): string => `canary-${name}-${randomBytes(6).toString('hex')}"/&+~`;

/** Found by what no encoding changes, in URLs and JSON too, and by the digest of the whole. */
const coreOf = (secret: string): string => secret.replace(/"[^]*$/, '');

export const tracesOf = (
  what: string,
  content: string | Buffer,
  secrets: readonly string[],
): readonly string[] => tracesIn(what, content, [...secrets, ...secrets.map(coreOf)]);

const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

/** Traces in every file below a folder, in layers as they are unpacked too: 'look in path', the path relative to the folder. */
export const tracesUnder = async (
  folder: string,
  secrets: readonly string[],
): Promise<readonly { readonly path: string; readonly trace: string }[]> => {
  const found: { path: string; trace: string }[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = relative(folder, join(entry.parentPath, entry.name));
    const bytes = await readFile(join(folder, path)).catch((error: NodeJS.ErrnoException) => {
      // A lock or a temporary file of the hub, which is still running.
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (!bytes) continue;
    for (const content of isGzip(bytes) ? [bytes, gunzipSync(bytes)] : [bytes])
      found.push(...tracesOf(path, content, secrets).map((trace) => ({ path, trace })));
  }
  return found;
};
