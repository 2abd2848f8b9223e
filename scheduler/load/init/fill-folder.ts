import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { unlessMissing } from '#bundles/unless-missing';
import { TEMPORARY, writeFileAtomically } from '#bundles/formats/layout/write-file';

export type NewFile = { readonly path: string; readonly text: string; readonly mode: number };

type FileToWrite = Omit<NewFile, 'text'> & { readonly text: string | Buffer };

/**
 * Writes files into a directory that is new, or that contains only `.git` and unchanged files of this set. So an interrupted
 * run can be repeated, and nothing is overwritten.
 * @throws FleetError USAGE when the directory contains anything else
 */
export const fillFolder = async (
  directory: string,
  files: readonly FileToWrite[],
  signal: AbortSignal,
): Promise<void> => {
  await refuseOtherFiles(directory, files);
  for (const { path, text, mode } of files) {
    signal.throwIfAborted();
    await writeFileAtomically(join(directory, path), Buffer.from(text), mode);
  }
};

const refuseOtherFiles = async (directory: string, files: readonly FileToWrite[]): Promise<void> => {
  const tops = new Set(files.map(({ path }) => path.split('/')[0]));
  const found = (await entriesOf(directory)).toSorted(compareBytes);
  const other = found.find((name) => name !== '.git' && !name.startsWith(TEMPORARY) && !tops.has(name));
  if (other !== undefined) throw isOccupied(directory, other);
  for (const { path, text } of files) {
    const there = await bytesOf(join(directory, path));
    if (there !== undefined && !there.equals(Buffer.from(text))) throw isOccupied(directory, path);
  }
};

const isOccupied = (directory: string, name: string): FleetError =>
  new FleetError('USAGE', `${directory} has a ${name} already`, {
    hint: 'Name a new folder; nothing was written',
  });

const entriesOf = async (directory: string): Promise<readonly string[]> =>
  (await unlessMissing(readdir(directory), `reading ${directory}`)) ?? [];

const bytesOf = (file: string): Promise<Buffer | undefined> =>
  unlessMissing(readFile(file), `reading ${file}`);
