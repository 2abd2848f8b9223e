import { type Ajv, str } from 'ajv';
import { decimal } from '../render/go/functions/decimal.ts';

/** Replaces Ajv's multipleOf, which divides doubles: there 1.13 is no multiple of 0.01. */
export const withExactMultiples = (ajv: Ajv): Ajv =>
  ajv.removeKeyword('multipleOf').addKeyword({
    keyword: 'multipleOf',
    type: 'number',
    schemaType: 'number',
    errors: false,
    validate: (factor: number, value: number) => isMultiple(value, factor),
    error: { message: ({ schemaCode }) => str`must be multiple of ${schemaCode}` },
  });

const isMultiple = (value: number, factor: number): boolean => {
  const [a, b] = [decimal(value), decimal(factor)];
  const exponent = Math.min(a.exponent, b.exponent);
  const scaled = ({ value: digits, exponent: own }: typeof a): bigint =>
    digits * 10n ** BigInt(own - exponent);
  return scaled(a) % scaled(b) === 0n;
};
