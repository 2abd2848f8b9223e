import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CODES, type ErrorCode, FleetError } from '#bundles/errors';
import { EXIT_CODES } from '#cli/help-command';
import { FOUND_MEDIA } from '../attacks/rows-office.ts';
import { MEDIA, ROWS } from '../attacks/rows.ts';

/** docs/errors.md and bundles/errors.ts say the same, and every code is raised by some program. */
const ROOT = join(import.meta.dirname, '..', '..');
const CATALOGUE = readFileSync(join(ROOT, 'docs', 'errors.md'), 'utf8');
const ATTACKS = readFileSync(join(ROOT, 'docs', 'attacks.md'), 'utf8');

/** Codes that no source raises yet, each with the reason it has its name already. Short, and true. */
const RESERVED: Readonly<Partial<Record<ErrorCode, string>>> = {
  REPORT_REPLAY: 'a report that repeats what is known is no mistake when it comes by stick',
};

type Row = {
  readonly code: string;
  readonly exit: number;
  readonly again: string;
  readonly means: string;
  readonly todo: string;
};

/** Rows of five columns that begin with a code. */
const rows: readonly Row[] = CATALOGUE.split('\n').flatMap((line) => {
  const [, code = '', exit, again = '', means = '', todo = '', end] = line
    .split('|')
    .map((cell) => cell.trim());
  const name = /^`([A-Z_]+)`$/.exec(code)?.[1];
  return name !== undefined && end === '' ? [{ code: name, exit: Number(exit), again, means, todo }] : [];
});

const names = Object.keys(CODES) as ErrorCode[];

/** The themes of CODES, by the comments between them. */
const themes: ReadonlyMap<string, string> = (() => {
  const source = readFileSync(join(ROOT, 'bundles', 'errors.ts'), 'utf8');
  const table = source.slice(source.indexOf('export const CODES'), source.indexOf('} as const'));
  let theme = '';
  return new Map(
    table.split('\n').flatMap((line) => {
      theme = /^ {2}\/\/ (.+)$/.exec(line)?.[1] ?? theme;
      const code = /^ {2}([A-Z_]+):/.exec(line)?.[1];
      return code === undefined ? [] : [[code, theme] as const];
    }),
  );
})();

describe('the catalogue of error codes', () => {
  it('lists every code once, in the order of the source, and no other', () => {
    expect(rows.map(({ code }) => code)).toEqual(names);
  });

  it.each(names)('lists the exit code and retryability of %s, its meaning and the remedy', (code) => {
    const row = rows.find((it) => it.code === code);
    const error = new FleetError(code, '');
    expect(row).toMatchObject({ exit: error.exitCode, again: error.retryable ? 'yes' : 'no' });
    expect(row?.means).toMatch(/^\S.{10,}[.*]$/s);
    expect(row?.todo).toMatch(/^\S.{6,}\.$/s);
  });

  it('groups them by the themes of the source', () => {
    let heading = '';
    const found = new Map<string, string>();
    for (const line of CATALOGUE.split('\n')) {
      heading = /^## (.+)$/.exec(line)?.[1] ?? heading;
      const code = /^\| `([A-Z_]+)` \| \d/.exec(line)?.[1];
      if (code !== undefined) found.set(code, heading);
    }
    expect([...found]).toEqual([...themes]);
  });

  it('explains every exit code', () => {
    const explained = [...CATALOGUE.matchAll(/^\| (\d) \| /gm)].map(([, exit]) => Number(exit));
    expect(explained).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    for (const code of names) expect(explained).toContain(CODES[code].exit);
    const table = [...CATALOGUE.matchAll(/^\| (\d) \| (.+?) \| (.+?) \|$/gm)];
    expect(table.map(([, exit, meaning, who]) => [exit, { meaning, who }])).toEqual(
      Object.entries(EXIT_CODES),
    );
  });

  it('answers each row of the media attacks with existing codes', () => {
    const attacks = ATTACKS.split('\n').filter((line) => /^\| (M\d+|T) \| /.test(line));
    expect(attacks).toHaveLength([...MEDIA, ...FOUND_MEDIA].length + 1);
    for (const line of attacks) {
      const answers = [...(line.split('|')[3] ?? '').matchAll(/`([A-Z_]+)`/g)].map(([, code]) => code);
      expect(answers.length > 0 || /ACCEPT/.test(line), line).toBe(true);
      for (const code of answers) expect(names, line).toContain(code);
    }
  });

  it('leaves the rows of the attack table to docs/attacks.md', () => {
    const ids = ROWS.map(({ id }) => id);
    expect(ids.filter((id) => new RegExp(`\\b${id}\\b`).test(CATALOGUE))).toEqual([]);
  });
});

type Source = { readonly path: string; readonly text: string };

const sourcesBelow = (folder: string): readonly Source[] =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[jt]s$/.test(entry.name))
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return { path, text: readFileSync(path, 'utf8') };
    });

/** What a comment says is not what the program does. */
const withoutComments = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1');

describe('the error codes', () => {
  const sources = ['bundles', 'scheduler', 'exporter', 'agent']
    .flatMap(sourcesBelow)
    .map(({ path, text }) => {
      const code = withoutComments(text);
      // The table names them all; what follows it raises some.
      return path.endsWith(join('bundles', 'errors.ts')) ? code.slice(code.indexOf('} as const')) : code;
    });
  const all = sources.join('\n');
  const raised = new Set(names.filter((code) => new RegExp(`\\b${code}\\b`).test(all)));

  it('are thrown somewhere in the sources, or listed as reserved with a reason', () => {
    expect(names.filter((code) => !raised.has(code) && !(code in RESERVED))).toEqual([]);
  });

  it('are not listed as reserved when the sources throw them', () => {
    expect(Object.keys(RESERVED).filter((code) => raised.has(code as ErrorCode))).toEqual([]);
  });

  it('are marked as reserved in the catalogue exactly when they are reserved', () => {
    const marked = rows.filter(({ means }) => means.includes('*Reserved:')).map(({ code }) => code);
    expect(marked).toEqual(names.filter((code) => code in RESERVED));
  });
});
