import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

// Small files, many of them, and nobody waits beside: at once they take a fifth of what the event loop takes for them.

/** A directory of its own, gone when the test is. */
export const temporaryDirectory = async (): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'fleet-ferry-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
};

/** Writes files by relative path. */
export const writeFiles = async (
  directory: string,
  files: Readonly<Record<string, string>>,
): Promise<void> => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
};

/** All files under a directory as text, by relative path, sorted. */
export const readTree = async (directory: string): Promise<Record<string, string>> => {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    files.toSorted().map((file) => [file.slice(directory.length + 1), readFileSync(file, 'utf8')]),
  );
};
