import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Document, LineCounter, parseAllDocuments } from 'yaml';
import { readCommonYaml } from '../../../../../scheduler/platform/yaml/common/read-common-yaml.ts';
import { optionsFor, parseDocuments } from '../../../../../scheduler/platform/yaml/parse-documents.ts';
import { nearlyYaml, TEXTS } from './yaml-texts.ts';

/** Documents without what all documents share, and with the lines that were counted. */
const read = (reader: (lines: LineCounter) => readonly Document[] | undefined) => {
  const lines = new LineCounter();
  const documents = reader(lines)?.map(({ schema: _schema, options: _options, ...rest }) => rest);
  return documents && { documents, lineStarts: lines.lineStarts };
};
const ours = (text: string) => read((lines) => readCommonYaml(text, optionsFor(lines)));
const theirs = (text: string) =>
  read((lines) => {
    const documents = parseAllDocuments(text, optionsFor(lines));
    return Array.isArray(documents) ? documents : [];
  });

const ROOT = join(import.meta.dirname, '../../../../..');
const FILES = ['examples', 'scheduler/templates', 'deploy', 'test'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.ya?ml$/.test(file))
    .map((file) => join(folder, file)),
);

describe('common YAML', () => {
  it('is what the library makes of it, place for place, or is declined', () => {
    let same = 0;
    fc.assert(
      fc.property(nearlyYaml, (text) => {
        const made = ours(text);
        if (!made) return;
        same += 1;
        expect(made).toStrictEqual(theirs(text));
      }),
      { numRuns: 1500 },
    );
    // A reader that declines all would be right.
    expect(same).toBeGreaterThan(300);
  });

  it.each(TEXTS)('is all of this: %j', (text) => {
    expect(ours(text)).toStrictEqual(theirs(text));
  });

  it('is what the files of this repository are written in', () => {
    const declined = FILES.filter((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8');
      const made = ours(text);
      if (made) expect(made, file).toStrictEqual(theirs(text));
      return !made;
    });
    expect(declined.length).toBeLessThan(FILES.length / 2);
  });

  it.each([
    'a: &x 1\nb: *x\n',
    'a: {<<: *x}\n',
    '%YAML 1.1\n---\na: 1\n',
    'a: !!str 1\n',
    '? a\n: b\n',
    'a: b: c\n',
    'a: >\n  folded\n',
    'a: one\n  two\n',
    'a:\tb\n',
    'a: 1\r\n',
    '\ufeffa: 1\n',
    'a: "one\n  two"\n',
    'a: 1\n...\n',
    '- a\n- b\n',
    'a: [1\n',
    '',
    '# nothing\n',
    `${'k'.repeat(1100)}: 1\n`,
  ])('leaves to the library what is rare, and what is wrong: %j', (text) => {
    expect(ours(text)).toBeUndefined();
  });

  it('leaves to the library what nests deep', () => {
    const blocks = Array.from({ length: 300 }, (_, at) => `${' '.repeat(at)}a:\n`).join('');
    expect(ours(blocks)).toBeUndefined();
    expect(ours(`a: ${'['.repeat(300)}${']'.repeat(300)}\n`)).toBeUndefined();
  });

  it.each([
    ['in double quotes', `a: "${'x\\n'.repeat(2e6)}"\n`],
    ['in single quotes', `a: '${"''".repeat(4e6)}'\n`],
    ['without quotes', `a: ${'x'.repeat(4e6)}\n`],
  ])('reads a text of megabytes %s', (_how, text) => {
    expect(readCommonYaml(text, optionsFor(new LineCounter()))).toHaveLength(1);
  });

  it('has keys that are there twice told as elsewhere', () => {
    const problems: Parameters<typeof parseDocuments>[2] = [];
    expect(ours('a: 1\na: 2\n')).toBeDefined();
    expect(parseDocuments('f.yaml', Buffer.from('a: 1\na: 2\n'), problems)).toEqual([]);
    expect(problems).toMatchObject([{ code: 'YAML_SYNTAX', at: { file: 'f.yaml', line: 2, column: 1 } }]);
  });
});
