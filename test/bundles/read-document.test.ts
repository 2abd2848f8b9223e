import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shapeOf } from '#bundles/json/json-shape';
import { parseStrictJson } from '#bundles/json/strict-json';
import { parseDocument, readDocument } from '#bundles/json/validate';
import { refusal } from './refusal.ts';

const LIMITS = { maxBytes: 1 << 20 };
const SHAPE = shapeOf({
  type: 'object',
  properties: { name: { type: 'string' }, list: { type: 'array', items: { properties: { a: {} } } } },
});
const read = (text: string) => parseStrictJson(Buffer.from(text), { ...LIMITS, shape: SHAPE });

const MEDIUM = {
  format: 1,
  fleet: 'acme',
  createdAt: '2026-11-21T08:00:00Z',
  documents: [],
  bundles: [],
  chunks: [],
  critical: [] as readonly string[],
};

describe('readDocument with a list of wanted fields', () => {
  it('returns the wanted fields only', () => {
    expect(
      read('{"x":{"name":1},"name":"n","list":[{"a":{"b":[1]},"c":1},{}],"critical":["y"],"name2":2}'),
    ).toEqual({ name: 'n', list: [{ a: { b: [1] } }, {}], critical: ['y'] });
  });

  it.each([
    ['TOO_DEEP', `{"x":${'['.repeat(40)}${']'.repeat(40)}}`],
    ['BAD_JSON', '{"x":{"a":1,"a":2}}'],
    ['BAD_JSON', String.raw`{"x":{"a":1,"\u0061":2}}`],
    ['BAD_JSON', '{"x":[1,]}'],
    ['BAD_JSON', '{"x":01}'],
    ['BAD_JSON', '{"x":"\u0001"}'],
    ['BAD_JSON', String.raw`{"x":"\x"}`],
    ['BAD_JSON', String.raw`{"x":"\u12g4"}`],
    ['BAD_JSON', '{"x":tru}'],
    ['BAD_JSON', '{"name":"a","x":1,"name":"b"}'],
    ['BAD_JSON', '{"x":1} 2'],
  ])('is refused with %s for a fault inside an unwanted field: %s', (code, text) => {
    expect(refusal(() => read(text))).toBe(code);
  });

  it('is refused with the same code as by the strict parser, for any content of unknown fields', () => {
    fc.assert(
      fc.property(fc.json(), fc.string(), (value, junk) => {
        const text = `{"x":${value}${junk}}`;
        const whole = refusal(() => parseStrictJson(Buffer.from(text), LIMITS));
        expect(refusal(() => read(text))).toBe(whole);
      }),
    );
  });

  it('validates against the schema as parseDocument does', () => {
    const extended = { ...MEDIUM, later: { much: [1, 2] }, documents: [] };
    const bytes = Buffer.from(JSON.stringify(extended));
    expect(readDocument('medium', bytes, LIMITS, 'm')).toEqual(MEDIUM);
    for (const wrong of [
      { ...MEDIUM, bundles: {} },
      { ...MEDIUM, bundles: [[]] },
      { ...MEDIUM, fleet: { a: 1 } },
      { ...MEDIUM, critical: ['later'] },
      { ...MEDIUM, critical: {} },
      [],
      'x',
      null,
    ]) {
      const text = Buffer.from(JSON.stringify(wrong));
      const before = refusal(() => parseDocument('medium', JSON.parse(String(text)), 'm'));
      expect(before).toBeDefined();
      expect(refusal(() => readDocument('medium', text, LIMITS, 'm'))).toBe(before);
    }
  });

  it('keeps objects that the schema does not describe further', () => {
    const event = {
      agent: 'plant-7/press-1',
      seq: 1,
      prev: `sha256:${'0'.repeat(64)}`,
      bootId: 'b',
      at: '2026-11-21T08:00:00Z',
      monotonicMs: 1,
      type: 'check',
      detail: { any: [{ thing: 1 }] },
    };
    const bytes = Buffer.from(JSON.stringify({ ...event, later: 1 }));
    expect(readDocument('event', bytes, LIMITS, 'e')).toEqual(event);
  });
});

describe('the memory that parsing may take', () => {
  // Of 4 MiB: enough to pass the budget of a small cap.
  const fill = (one: string): string =>
    Array(Math.floor((4 << 20) / (one.length + 1)))
      .fill(one)
      .join(',');

  it.each([
    ['empty objects', fill('{}')],
    ['empty arrays', fill('[]')],
    ['arrays of one', fill('[0]')],
    ['objects with keys of their own', Array.from({ length: 400_000 }, (_, at) => `{"${at}":0}`).join(',')],
  ])('is limited for many %s: TOO_LARGE', (_, items) => {
    const bytes = Buffer.from(`[${items}]`);
    expect(refusal(() => parseStrictJson(bytes, { maxBytes: bytes.length }))).toBe('TOO_LARGE');
  });

  it('is enough for a small document with many empty items', () => {
    for (const text of [`[${'[0],'.repeat(60_000)}0]`, `[${'{},'.repeat(80_000)}0]`])
      expect(refusal(() => parseStrictJson(Buffer.from(text), LIMITS))).toBeUndefined();
  });
});
