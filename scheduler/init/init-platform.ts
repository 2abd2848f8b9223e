import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compareBytes } from '#bundles/digest';
import { fillFolder, type NewFile } from './fill-folder.ts';

const SCAFFOLD = join(import.meta.dirname, 'scaffold/');

/** How the fleet is called in the files of the scaffold. */
const PLACEHOLDER = 'my-fleet';

/** The files of a new platform repository of this fleet, in byte order of their paths. */
export const planPlatform = async (fleet: string): Promise<readonly NewFile[]> => {
  const entries = await readdir(SCAFFOLD, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(SCAFFOLD.length))
    .toSorted(compareBytes);
  return await Promise.all(
    paths.map(async (path) => {
      const text = (await readFile(join(SCAFFOLD, path), 'utf8')).replaceAll(PLACEHOLDER, fleet);
      // npm leaves files of that name out of packages.
      return { path: path === 'gitignore' ? '.gitignore' : path, text, mode: modeOf(text) };
    }),
  );
};

const modeOf = (text: string): number => (text.startsWith('#!') ? 0o755 : 0o644);

/** Writes a platform repository into a new or empty directory. @throws FleetError USAGE when something else is there */
export const initPlatform = async (
  directory: string,
  fleet: string,
  signal: AbortSignal,
): Promise<readonly NewFile[]> => {
  const files = await planPlatform(fleet);
  await fillFolder(directory, files, signal);
  return files;
};
