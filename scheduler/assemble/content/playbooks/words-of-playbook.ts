import type { ResolvedFile } from '../check-host-paths.ts';
import type { Content } from '../content.ts';
import { walkArchive } from '../walk-archive.ts';
import type { PlacedPlaybook } from './place-playbooks.ts';

/** Larger files of an archive are data, which names no variable. */
const MAX_TEXT = 4 << 20;

/**
 * Returns every word that could be the name of a variable in the files of a playbook, in the variables that it is given, and in the
 * collections and roles that it may use.
 * @param byPath the files of the package by their path on the host
 * @throws FleetError CONTENT_INVALID, DIGEST_MISMATCH
 */
export const wordsOfPlaybook = async (
  { files, playbook }: Pick<PlacedPlaybook, 'files' | 'playbook'>,
  byPath: ReadonlyMap<string, ResolvedFile>,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> => {
  const words = new Set<string>();
  const add = (bytes: Buffer): void => {
    for (const [word] of bytes.toString('latin1').matchAll(/[A-Za-z_][A-Za-z0-9_]*/g)) words.add(word);
  };
  for (const { bytes } of files) if (bytes) add(bytes.bytes);
  for (const { path } of [...playbook.collections, ...playbook.roles]) {
    const content = byPath.get(path)?.content;
    if (content) await readTexts(content, add, signal);
  }
  return words;
};

const readTexts = async (
  content: Content,
  add: (bytes: Buffer) => void,
  signal: AbortSignal,
): Promise<void> => {
  let pieces: Buffer[] = [];
  await walkArchive(content, signal, {
    isWanted: (_path, size) => size <= MAX_TEXT,
    onBytes: (piece) => pieces.push(piece),
    onEnd: () => {
      add(Buffer.concat(pieces));
      pieces = [];
    },
    isDone: () => false,
  });
};
