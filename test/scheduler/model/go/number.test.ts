import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  float,
  formatFloat,
  int,
  isFloat,
  isInt,
  toNumber,
  WholeFloat,
} from '../../../../scheduler/model/go/number.ts';
import { numberLiteral } from '../../../../scheduler/render/go/values/number-literal.ts';

describe('a number of Go templates', () => {
  it('distinguishes 5 from 5.0, with one representation for each', () => {
    expect([isInt(5), isFloat(5), isInt(float(5)), isFloat(float(5))]).toEqual([true, false, false, true]);
    expect(float(5)).toBeInstanceOf(WholeFloat);
    expect([float(1.5), float(1e300)]).toEqual([1.5, 1e300]);
    expect([int(5n), int(2n ** 60n), int(2n ** 63n)]).toEqual([5, 2n ** 60n, -(2n ** 63n)]);
  });

  it('is written to JSON like any number', () => {
    expect(JSON.stringify({ a: float(5) })).toBe('{"a":5}');
  });

  it.each([
    [5, '5'],
    [123456, '123456'],
    [1e6, '1e+06'],
    [1234567, '1.234567e+06'],
    [0.0001, '0.0001'],
    [0.00001, '1e-05'],
    [-2.5, '-2.5'],
    [1e100, '1e+100'],
    [Infinity, '+Inf'],
    [-Infinity, '-Inf'],
    [Number.NaN, 'NaN'],
    [-0, '-0'],
  ])('prints %s as Go does: %s', (value, expected) => {
    expect(formatFloat(value)).toBe(expected);
  });

  it('prints every float so that it is read back exactly', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) =>
        Object.is(Number(formatFloat(value)), value),
      ),
    );
  });

  it.each([
    ['1', 1],
    ['-1', -1],
    ['0x1F', 31],
    ['0o17', 15],
    ['017', 15],
    ['0b101', 5],
    ['1_000', 1000],
    ['1.5', 1.5],
    ['9223372036854775807', 9223372036854775807n],
    ['9223372036854775808', undefined],
    ['08', undefined],
    ['1__0', undefined],
    ['1e999', undefined],
  ])('reads %s', (text, expected) => {
    expect(numberLiteral(text)).toBe(expected);
  });

  it.each(['1.0', '1e3', '5.'])('reads %s as a float', (text) => {
    const value = numberLiteral(text);
    expect(value).toBeInstanceOf(WholeFloat);
    expect(value !== undefined && toNumber(value)).toBe(Number(text));
  });
});
