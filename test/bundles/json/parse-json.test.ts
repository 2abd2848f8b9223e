import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '#bundles/json/parse-json';
import { parseStrictJson } from '#bundles/json/strict-json';
import { anyCharacter } from '../../harness/fleets/any-character.ts';

describe('parseJson', () => {
  it('reads an escaped key correctly after an object with the same first key', () => {
    // This is what misleads JSON.parse of Node 24: an object with the key \ behind the same beginning.
    expect(parseJson(String.raw`{"a-beginning":1,"\\":1}`)).toEqual({ 'a-beginning': 1, '\\': 1 });
    expect(parseJson(String.raw`{"a-beginning":1,"\u0061":1}`)).toEqual({ 'a-beginning': 1, a: 1 });
    expect(parseJson(String.raw`[{"x":{"a-beginning":1,"\"":[{"\n":2}]}}]`)).toEqual([
      { x: { 'a-beginning': 1, '"': [{ '\n': 2 }] } },
    ]);
  });

  it('has the same result as parseStrictJson for an escaped key', () => {
    const read = (text: string): unknown => parseStrictJson(Buffer.from(text), { maxBytes: 1000 });
    read(String.raw`{"another-beginning":1,"\\":1}`);
    expect(read(String.raw`{"another-beginning":1,"\"":1}`)).toEqual({ 'another-beginning': 1, '"': 1 });
  });

  it('restores any document', () => {
    const strings = fc.string({ unit: anyCharacter });
    fc.assert(
      fc.property(fc.jsonValue(), fc.dictionary(strings, strings), (value, strange) => {
        for (const document of [value, strange, [{ strange, value }]])
          expect(JSON.stringify(parseJson(JSON.stringify(document)))).toBe(JSON.stringify(document));
      }),
    );
  });

  it('keeps a key called __proto__, also an escaped one, and the last of two equal keys', () => {
    expect(Object.keys(parseJson(String.raw`{"\u005f_proto__":{"a":1}}`) as object)).toEqual(['__proto__']);
    expect(parseJson(String.raw`{"a":1,"\u0061":2}`)).toEqual({ a: 2 });
  });

  it.each([String.raw`{"\x":1}`, String.raw`{"\":1}`, String.raw`{"\u0061":}`, String.raw`{"\u0061":1`])(
    'refuses invalid JSON with an escaped key: %s',
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    },
  );
});
