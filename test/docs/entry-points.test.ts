import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const TRACKED = new Set(readdirSync(ROOT).filter((name) => !['dist', 'node_modules'].includes(name)));

/** Paths in code spans of the pages that new contributors start from: `agent/commands/status.ts`. A name without its ending stands for files that begin so. */
const pathsIn = (file: string): readonly string[] =>
  [...readFileSync(join(ROOT, file), 'utf8').matchAll(/`([\w.-]+\/[\w./-]*)`/g)]
    .flatMap(([, path]) => path ?? [])
    .filter((path) => TRACKED.has(path.split('/')[0] ?? ''));

const isThere = (path: string): boolean => {
  if (existsSync(join(ROOT, path))) return true;
  const at = path.lastIndexOf('/');
  const folder = join(ROOT, path.slice(0, at));
  return existsSync(folder) && readdirSync(folder).some((name) => name.startsWith(`${path.slice(at + 1)}.`));
};

it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md'])('%s names paths that exist', (file) => {
  const paths = pathsIn(file);
  expect(paths.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !isThere(path))).toEqual([]);
});
