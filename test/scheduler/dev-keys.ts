import { join } from 'node:path';
import { initDevRoot } from '../../scheduler/keys/root/init-dev-root.ts';
import { type FolderTemplate, readTemplate, writeTemplate } from '../harness/fleets/folder-template.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';

/** When the keys of fleet halden are made. */
export const NOW = new Date('2026-11-23T08:00:00Z');

let made: Promise<FolderTemplate> | undefined;

/** Writes the keys of fleet halden to the folder `keys` of this folder: made once for each process, then copied. */
export const writeDevKeys = async (folder: string): Promise<void> => {
  writeTemplate(await (made ??= makeKeys()), folder);
};

const makeKeys = async (): Promise<FolderTemplate> => {
  await using folder = await temporaryDirectory('dev-keys');
  await initDevRoot(join(folder.path, 'keys'), 'halden', NOW);
  return await readTemplate(folder.path);
};
