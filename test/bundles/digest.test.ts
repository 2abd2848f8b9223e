import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compareBytes,
  digestFromHex,
  digestOf,
  hexOf,
  isDigest,
  parseDigest,
  shortDigest,
} from '#bundles/digest';
import { refusal } from './refusal.ts';
import { runs } from '../harness/run/long.ts';

// FIPS 180-2, appendix B.1.
const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

describe('a digest', () => {
  it('is SHA-256 in lower-case hex', () => {
    expect(digestOf('abc')).toBe(`sha256:${ABC}`);
    expect(digestOf(Buffer.from('abc'))).toBe(`sha256:${ABC}`);
    expect(hexOf(digestOf('abc'))).toBe(ABC);
    expect(digestFromHex(ABC)).toBe(digestOf('abc'));
    expect(shortDigest(digestOf('abc'))).toBe('sha256:ba7816bf8f01');
  });

  it.each([
    ABC,
    `sha512:${ABC}${ABC}`,
    `sha256:${ABC.toUpperCase()}`,
    `sha256:${ABC}0`,
    `sha256:${ABC.slice(1)}`,
    `sha256:${ABC}\n`,
    ` sha256:${ABC}`,
    `sha256:../../${ABC.slice(6)}`,
    '',
    null,
    undefined,
    7,
    [`sha256:${ABC}`],
  ])('is not %j', (text) => {
    expect(isDigest(text)).toBe(false);
    expect(refusal(() => parseDigest(text))).toBe('SCHEMA');
  });

  it.each([undefined, null, '', 'abc', `${ABC}0`, { toString: () => 'x' }, [ABC], { toString: 0 }])(
    'digestFromHex refuses %j',
    (hex) => {
      expect(refusal(() => digestFromHex(hex))).toBe('SCHEMA');
    },
  );
});

describe('compareBytes', () => {
  it('orders by UTF-8 bytes, which differs from UTF-16 order above U+FFFF', () => {
    const pair = ['\uFFFF', '\u{10000}'];
    expect(pair.toSorted()).toEqual(pair.toReversed());
    expect(pair.toSorted(compareBytes)).toEqual(pair);
    expect(['b', 'ä', 'a', 'B', '', '\u{1F600}', '\uFB03', 'a0'].toSorted(compareBytes)).toEqual([
      '',
      'B',
      'a',
      'a0',
      'b',
      'ä',
      '\uFB03',
      '\u{1F600}',
    ]);
  });

  it('orders any two strings by their encoded bytes, including unpaired surrogates', () => {
    const unit = fc.constantFrom(
      'a',
      'b',
      '\u00e4',
      '\ud7ff',
      '\ud83d',
      '\ude00',
      '\udfff',
      '\ue000',
      '\uffff',
    );
    const text = fc.array(unit, { maxLength: 4 }).map((units) => units.join(''));
    fc.assert(
      fc.property(text, text, (a, b) => {
        const encoded = Buffer.compare(Buffer.from(a), Buffer.from(b));
        // A lone half is encoded as U+FFFD, so two strings may be the same in bytes.
        expect(Math.sign(compareBytes(a, b))).toBe(
          encoded === 0 && a.length !== b.length ? Math.sign(a.length - b.length) : encoded,
        );
      }),
      { numRuns: runs(5_000) },
    );
  });

  it('is a total order: any input order sorts to the same list', () => {
    const unit = fc.constantFrom('a', 'Z', 'ä', '\uFB03', '\u{1F600}', '\u0000');
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit, maxLength: 4 })), (texts) => {
        const sorted = texts.toSorted(compareBytes);
        expect(texts.toReversed().toSorted(compareBytes)).toEqual(sorted);
        expect(sorted.map((text) => Buffer.from(text).toString('hex'))).toEqual(
          texts.map((text) => Buffer.from(text).toString('hex')).toSorted(),
        );
      }),
    );
  });
});
