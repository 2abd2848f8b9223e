import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compareBytes } from '#bundles/digest';
import { ALL_KINDS, readAuthorSchema } from './author-schemas.ts';
import { fillFolder, type NewFile } from './fill-folder.ts';

const SCAFFOLD = join(import.meta.dirname, 'scaffold/');

/** The fleet's name in the scaffold. */
const PLACEHOLDER = 'my-fleet';

/** The files of a new platform repository, ordered bytewise by path. */
export const planPlatform = async (fleet: string): Promise<readonly NewFile[]> => {
  const entries = await readdir(SCAFFOLD, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(SCAFFOLD.length))
    .toSorted(compareBytes);
  const scaffold = await Promise.all(
    paths.map(async (path) => {
      const text = (await readFile(join(SCAFFOLD, path), 'utf8')).replaceAll(PLACEHOLDER, fleet);
      // npm excludes files named .gitignore from packages.
      return { path: path === 'gitignore' ? '.gitignore' : path, text, mode: modeOf(text) };
    }),
  );
  const schema = { path: SCHEMA, text: await readAuthorSchema(ALL_KINDS), mode: 0o644 };
  return [...scaffold, schema].toSorted((a, b) => compareBytes(a.path, b.path));
};

/** For editors; .vscode/settings.json in the scaffold refers to it. */
const SCHEMA = `schemas/${ALL_KINDS}.schema.json`;

const modeOf = (text: string): number => (text.startsWith('#!') ? 0o755 : 0o644);

/**
 * Writes a platform repository into a new or empty directory.
 * @throws FleetError USAGE when the directory contains anything else
 */
export const initPlatform = async (
  directory: string,
  fleet: string,
  signal: AbortSignal,
): Promise<readonly NewFile[]> => {
  const files = await planPlatform(fleet);
  await fillFolder(directory, files, signal);
  return files;
};
