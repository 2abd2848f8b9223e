import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseExactJson, writeExactJson } from '../../../bundles/json/exact-json.ts';

test('parseExactJson and writeExactJson keep every digit of whole numbers at any place', () => {
  const whole = fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String);
  fc.assert(
    fc.property(fc.array(whole, { minLength: 1 }), fc.constantFrom('', ' ', '\n'), (numbers, space) => {
      const list = `[${numbers.join(`,${space}`)}]`;
      const text = `{"list":${space}${list},"nested":{"n":${space}${numbers[0]}}}`;
      expect(writeExactJson(parseExactJson(text))).toBe(text.replaceAll(/\s/g, ''));
    }),
  );
});

test('parseExactJson and writeExactJson treat all other values as JSON does', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      const read = parseExactJson(text);
      expect(writeExactJson(read)).toBe(text);
      if (!/\d{16}/.test(text)) expect(read).toEqual(JSON.parse(text));
    }),
  );
  expect(parseExactJson('["12345678901234567890", 1.2345678901234567890, 1e21]')).toEqual([
    '12345678901234567890',
    1.2345678901234567,
    1e21,
  ]);
});
