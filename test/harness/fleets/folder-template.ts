import { mkdirSync, writeFileSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** The files of a folder in memory: a world that is made once and written for each test. */
export type FolderTemplate = readonly {
  readonly path: string;
  readonly bytes: Buffer;
  readonly mode: number;
}[];

export const readTemplate = async (folder: string): Promise<FolderTemplate> => {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return await Promise.all(
    files.map(async (file) => ({
      path: relative(folder, file),
      bytes: await readFile(file),
      mode: (await stat(file)).mode,
    })),
  );
};

export const writeTemplate = (template: FolderTemplate, target: string): void => {
  for (const { path, bytes, mode } of template) {
    mkdirSync(join(target, dirname(path)), { recursive: true });
    writeFileSync(join(target, path), bytes, { mode });
  }
};
