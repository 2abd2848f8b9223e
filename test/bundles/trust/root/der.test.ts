import { describe, expect, it } from 'vitest';
import { bitString, decodeDer, encodeDer, oid, sequence, set, TAG } from '#bundles/trust/root/der';

const decode = (hex: string) => decodeDer(Buffer.from(hex, 'hex'));

describe('writing DER', () => {
  it('uses the shortest length encoding', () => {
    const heads = [0, 1, 127, 128, 255, 256, 65_536].map((length) =>
      encodeDer(TAG.octetString, Buffer.alloc(length)).subarray(0, 5).toString('hex').slice(0, 10),
    );
    expect(heads).toEqual([
      '0400',
      '040100',
      '047f000000',
      '0481800000',
      '0481ff0000',
      '0482010000',
      '0483010000',
    ]);
  });

  it('writes object identifiers as X.690 does', () => {
    expect(oid('1.2.840.113549').toString('hex')).toBe('06062a864886f70d');
    expect(oid('2.5.29.17').toString('hex')).toBe('0603551d11');
  });

  it('is decoded to the values that were encoded', () => {
    const bytes = sequence(oid('2.5.4.3'), set(bitString(Buffer.from([1, 2]))), sequence());
    const value = decodeDer(bytes);
    expect(value.raw).toEqual(bytes);
    expect(value.children.map(({ tag }) => tag)).toEqual([TAG.oid, TAG.set, TAG.sequence]);
    expect(value.children[1]?.children[0]?.content).toEqual(Buffer.from([0, 1, 2]));
    expect(value.children[2]?.children).toEqual([]);
  });
});

describe('reading DER refuses', () => {
  it.each([
    ['nothing', ''],
    ['a tag alone', '30'],
    ['a value cut short', '300302'],
    ['a value cut short inside', '3003020200'],
    ['a length cut short', '3082'],
    ['bytes behind the end', '020100ff'],
    ['two values', '020100020100'],
    ['an indefinite length', '30800000'],
    ['a length with a leading zero', '3081020500'],
    ['a length that needed no second byte', '048100'],
    ['a length of four bytes', '048400000000'],
    ['a tag of several bytes', '1f8101'],
  ])('%s', (_what, hex) => {
    expect(() => decode(hex)).toThrow(RangeError);
  });

  it('values nested deeper than any request', () => {
    let bytes = sequence();
    for (let depth = 0; depth < 20; depth++) bytes = sequence(bytes);
    expect(() => decodeDer(bytes)).toThrow(/too deep/);
  });
});
