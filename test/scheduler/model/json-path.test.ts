import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDocument, type YAMLMap } from 'yaml';
import { type JsonPath, parseJsonPath, selectNodes } from '../../../scheduler/model/json-path.ts';
import { runs } from '../../harness/run/long.ts';

const select = (value: object | string, text: string): readonly string[] => {
  const document = parseDocument(typeof value === 'string' ? value : JSON.stringify(value));
  const path = parseJsonPath(text);
  if (typeof path === 'string') throw new Error(path);
  return selectNodes(document.contents as YAMLMap, document, path).map((found) => found.path);
};

describe('a JSONPath', () => {
  const object = { spec: { image: 'a', parts: [{ image: 'b' }, { image: 'c', 'x.y/z': { image: 'd' } }] } };

  test.each([
    ['$.spec.image', ['spec.image']],
    ["$['spec']['image']", ['spec.image']],
    ['$["spec"].image', ['spec.image']],
    ['$.spec.parts[*].image', ['spec.parts[0].image', 'spec.parts[1].image']],
    ['$.spec.parts[1].image', ['spec.parts[1].image']],
    ['$.spec.parts[-1].image', ['spec.parts[1].image']],
    ['$.spec.parts[2].image', []],
    ["$.spec.parts[1]['x.y/z'].image", ['spec.parts[1]["x.y/z"].image']],
    ['$.spec.*', ['spec.image', 'spec.parts']],
    ['$.spec.parts..image', ['spec.parts[0].image', 'spec.parts[1].image', 'spec.parts[1]["x.y/z"].image']],
    ['$..parts[0]', ['spec.parts[0]']],
    ['$.spec.parts.image', []],
    ['$.spec.image.tag', []],
  ])('%s selects the values', (text, expected) => {
    expect(select(object, text)).toEqual(expected);
  });

  test.each([
    ['spec.image', 'does not begin with $'],
    ['$', 'names the whole object'],
    ['$.spec[', 'character 7'],
    ['$.spec[1:2]', 'slices, filters and lists are not taken'],
    ['$.spec[?@.a]', 'slices, filters and lists are not taken'],
    ["$.spec['a','b']", 'slices, filters and lists are not taken'],
    ['$.spec.a-b', 'has "-b" at character 9'],
    ['$.spec[01]', 'character 7'],
    ['$.spec.[0]', 'character 7'],
    ['$.a...b', 'character 4'],
    [`$${'.a'.repeat(65)}`, 'more than 64 steps'],
  ])('%s is refused with the position', (text, expected) => {
    expect(parseJsonPath(text)).toContain(expected);
  });

  test('follows aliases, also circular ones', () => {
    expect(select('base: &b {image: x}\nspec: *b\n', '$.spec.image')).toEqual(['spec.image']);
    expect(select('spec: &s\n  self: *s\n  image: x\n', '$..image').length).toBeGreaterThan(0);
  });

  test('built from any names and indexes selects exactly that value', () => {
    const step = fc.oneof(
      fc.string({ maxLength: 6 }),
      fc.constantFrom('é', '\u2028', '\n', '__proto__', "it's", '\\', '<<'),
      fc.integer({ min: 0, max: 3 }),
    );
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 5 }), (steps) => {
        const text = `$${steps.map((one) => `[${JSON.stringify(one)}]`).join('')}`;
        const found = parseJsonPath(text) as JsonPath;
        expect(
          found.segments.map(({ select: one }) => ('name' in one ? one.name : 'index' in one && one.index)),
        ).toEqual(steps);
        const value = steps.reduceRight<unknown>(
          (inner, one) => (typeof one === 'number' ? [...Array(one).fill(0), inner] : { [one]: inner }),
          'here',
        );
        const document = parseDocument(JSON.stringify({ root: value }));
        const nodes = selectNodes(
          document.contents as YAMLMap,
          document,
          parseJsonPath(`$.root${text.slice(1)}`) as JsonPath,
        );
        expect(nodes.map(({ node }) => node?.toJSON())).toEqual(['here']);
      }),
      { numRuns: runs(30) },
    );
  });
});
