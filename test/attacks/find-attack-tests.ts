import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

/** 'M26', 'H2, H4': how the title of a test of the attack table begins. */
const TITLE = /^((?:[A-Z]\d{1,2})(?:, [A-Z]\d{1,2})*)(?::| )/;
const LITERAL = /['"`]((?:[MTPHSONLFAIB]\d{1,2})(?:, [MTPHSONLFAIB]\d{1,2})*)(?::| )/g;

/** The rows that a title names. */
export const rowsOfTitle = (title: string): readonly string[] => TITLE.exec(title)?.[1]?.split(', ') ?? [];

/** Every test file with the rows that titles in it name, by path from the top of the repository. */
export const findAttackTests = (): ReadonlyMap<string, readonly string[]> =>
  new Map(
    readdirSync(join(ROOT, 'test'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
      .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
      .filter((file) => !/^test\/(docs|fixtures)\//.test(file))
      .toSorted()
      .flatMap((file) => {
        const text = readFileSync(join(ROOT, file), 'utf8');
        const rows = [...text.matchAll(LITERAL)].flatMap(([, ids = '']) => ids.split(', '));
        return rows.length === 0 ? [] : [[file, [...new Set(rows)]] as const];
      }),
  );

/** Unit and component tests: they need nothing but this process. */
export const isInProcess = (file: string): boolean =>
  /^test\/(bundles|cli|scheduler|exporter|agent|docs)\//.test(file) && !file.endsWith('.integration.test.ts');
