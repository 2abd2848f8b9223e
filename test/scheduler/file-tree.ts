import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A directory of its own, gone when the test is. */
export const temporaryDirectory = async (): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'fleet-ferry-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
};

/** Writes files by relative path. */
export const writeFiles = async (
  directory: string,
  files: Readonly<Record<string, string>>,
): Promise<void> => {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
};

/** All files under a directory as text, by relative path, sorted. */
export const readTree = async (directory: string): Promise<Record<string, string>> => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const read = await Promise.all(
    files
      .toSorted()
      .map(async (file) => [file.slice(directory.length + 1), await readFile(file, 'utf8')] as const),
  );
  return Object.fromEntries(read);
};
