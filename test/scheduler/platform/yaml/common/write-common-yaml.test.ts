import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Document, LineCounter, Pair, parseAllDocuments, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { writeCommonYaml } from '../../../../../scheduler/platform/yaml/common/write-common-yaml.ts';
import { optionsFor } from '../../../../../scheduler/platform/yaml/parse-documents.ts';
import { nearlyYaml, TEXTS } from './yaml-texts.ts';

const parse = (text: string): readonly Document[] => {
  const documents = parseAllDocuments(text, optionsFor(new LineCounter()));
  return Array.isArray(documents) ? documents.filter(({ errors }) => errors.length === 0) : [];
};
const libraryText = (document: Document): string => document.toString({ lineWidth: 0 });

const BITS = [
  '\n',
  '\n\n',
  ' ',
  ':',
  ': ',
  '- ',
  '-',
  '#',
  ' #',
  '"',
  "'",
  '{',
  '[',
  ',',
  '|',
  '>',
  '&a',
  '*a',
  '!t',
  '?',

  '%',
  '\\',
  '\\n',
  '@',
  'é',
  '\0',
  'null',
  '~',
  '0x1F',
  '0o7',
  '1e3',
  'true',
  'False',
  '.5',
  '5.',
  '---',
  '...',

  '<<',
  '1.10',
  '+.inf',
  '.nan',
  'a',
  'word',
  '=',
  '$',
  '/',
  '`',
  '1_000',
  '12:30',
  'more than forty letters of words',
];
const text = fc.array(fc.constantFrom(...BITS), { minLength: 1, maxLength: 4 }).map((bits) => bits.join(''));
const styles = [undefined, 'PLAIN', 'QUOTE_DOUBLE', 'QUOTE_SINGLE', 'BLOCK_LITERAL'] as const;
const scalar = fc.tuple(text, fc.constantFrom(...styles)).map(([value, type]) => {
  const made = new Scalar(value);
  if (type) made.type = type;
  return made;
});
/** What is put into a document by its own methods is no node. */
const leaf = fc.oneof({ weight: 4, arbitrary: scalar }, { weight: 1, arbitrary: text });

const filled = <T extends YAMLMap | YAMLSeq>(collection: T, items: readonly unknown[]): T =>
  Object.assign(collection, { items });
const { node } = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(fc.tuple(leaf, tie('node')), { maxLength: 3 }).map((pairs) =>
      filled(
        new YAMLMap(),
        pairs.map(([key, value]) => new Pair(key, value)),
      ),
    ),
    fc.array(tie('node'), { maxLength: 3 }).map((items) => filled(new YAMLSeq(), items)),
  ),
}));

describe('writing common YAML', () => {
  it('is what the library writes, whatever values stand in whatever style, or is declined', () => {
    let same = 0;
    fc.assert(
      fc.property(leaf, node, (key, value) => {
        const document = new Document(undefined, optionsFor(new LineCounter()));
        document.contents = filled(new YAMLMap(document.schema), [new Pair(key, value)]) as never;
        const written = writeCommonYaml(document);
        if (written === undefined) return;
        same += 1;
        expect(written).toBe(libraryText(document));
      }),
      { numRuns: 3000 },
    );
    expect(same).toBeGreaterThan(150);
  });

  it('is what the library writes of what was read, or is declined', () => {
    let same = 0;
    fc.assert(
      fc.property(nearlyYaml, (yaml) => {
        for (const document of parse(yaml)) {
          const written = writeCommonYaml(document);
          if (written === undefined) continue;
          same += 1;
          expect(written).toBe(libraryText(document));
        }
      }),
      { numRuns: 1000 },
    );
    expect(same).toBeGreaterThan(100);
  });

  it('writes what was set in a document, and numbers as they were written', () => {
    const [document] = parse(
      'kind: A\nmetadata:\n  name: a\nmode: 0644\non: TRUE\nnone:\nlist:\n- |\n  a\n\n  b\n',
    );
    document?.setIn(['metadata', 'namespace'], 'shop');
    expect(document && writeCommonYaml(document)).toBe(
      'kind: A\nmetadata:\n  name: a\n  namespace: shop\nmode: 0644\non: TRUE\nnone:\nlist:\n  - |\n    a\n\n    b\n',
    );
  });

  it.each([
    'a: &x 1\nb: *x\n',
    'a: 1 # comment\n',
    'a: !t b\n',
    'a: {b: c}\n',
    '%YAML 1.2\n---\na: 1\n',
    ...TEXTS.slice(1, 2),
  ])('leaves to the library what is rare: %j', (yaml) => {
    expect(parse(yaml).map(writeCommonYaml)).toEqual([undefined]);
  });
});
