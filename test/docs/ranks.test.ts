import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findFault } from '../lint/plugin.ts';

const ROOT = join(import.meta.dirname, '../..');

type Orders = Readonly<Record<string, readonly string[]>>;

const ORDERS = (
  JSON.parse(readFileSync(join(ROOT, '.oxlintrc.json'), 'utf8')) as {
    readonly rules: { readonly 'house/one-way': readonly [string, Orders] };
  }
).rules['house/one-way'][1];

type Folder = {
  readonly path: string;
  readonly folders: readonly string[];
  readonly files: readonly string[];
};

/** Every folder with code in it or below. */
const readFolders = (path: string): readonly Folder[] => {
  const entries = readdirSync(join(ROOT, path), { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name));
  const below = entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => [name, readFolders(join(path, name))] as const);
  const folders = below.filter(([, found]) => found.length > 0);
  if (files.length + folders.length === 0) return [];
  const own = { path, folders: folders.map(([name]) => name), files: files.map(({ name }) => name) };
  return [own, ...folders.flatMap(([, found]) => found)];
};

const FOLDERS = ['scheduler', 'agent', 'exporter', 'bundles'].flatMap(readFolders);

test('each folder with subfolders has an order in the lint rule that names all its folders and files', () => {
  const missing = FOLDERS.filter(
    ({ folders, files }) => folders.length > 0 && folders.length + files.length > 1,
  ).flatMap(({ path, folders, files }) => {
    const order = ORDERS[path] ?? [];
    const loose = order.includes('*.ts') ? [] : files;
    return [...folders, ...loose].filter((name) => !order.includes(name)).map((name) => `${path}/${name}`);
  });
  expect(missing).toEqual([]);
});

test('each order names only existing folders and files, once', () => {
  const known = new Map(FOLDERS.map(({ path, folders, files }) => [path, [...folders, ...files, '*.ts']]));
  const wrong = Object.entries(ORDERS).flatMap(([path, order]) => [
    ...order.filter((name) => !known.get(path)?.includes(name)),
    ...order.filter((name, at) => order.indexOf(name) !== at),
  ]);
  expect(wrong).toEqual([]);
});

const ORDER = { program: ['model', 'shared.ts', 'load', '*.ts'], 'program/load': ['files'] };

test.for([
  ['program/load/a.ts', '../model/b.ts', undefined],
  ['program/model/a.ts', '../load/b.ts', 'program/load/b.ts comes after program/model/a.ts'],
  ['program/model/a.ts', '../shared.ts', 'program/shared.ts comes after program/model/a.ts'],
  ['program/load/files/a.ts', '../../shared.ts', undefined],
  ['program/load/files/a.ts', '../../main.ts', 'program/main.ts comes after program/load/files/a.ts'],
  ['program/main.ts', './load/files/a.ts', undefined],
  ['program/other/a.ts', '../model/b.ts', 'program/other/a.ts has no place in the order of program/'],
  ['program/load/a.ts', './files/b.ts', 'program/load/a.ts has no place in the order of program/load/'],
] as const)('%s that imports %s: %s', ([file, specifier, fault]) => {
  const found = findFault(file, specifier, ORDER);
  if (fault === undefined) expect(found).toBeUndefined();
  else expect(found).toContain(fault);
});
