import type { Scalar } from './type-expression.ts';

/** A YAML scalar; whole numbers are bigint. */
export type ScalarValue = string | number | bigint | boolean;

const QUANTITY = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[numkMGTPE]|[KMGTPE]i|[eE][-+]?\d+)?$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[-+]\d{2}:\d{2})$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const isText = (value: ScalarValue): value is string => typeof value === 'string';
const isNumber = (value: ScalarValue): boolean => typeof value === 'number' || typeof value === 'bigint';

type Check = { readonly wanted: string; readonly accepts: (value: ScalarValue) => boolean };

/** The decoder of the API server accepts these. */
const CHECKS: Readonly<Record<Scalar, Check>> = {
  string: { wanted: 'text', accepts: isText },
  boolean: { wanted: 'true or false', accepts: (value) => typeof value === 'boolean' },
  int32: { wanted: 'a whole number of 32 bits', accepts: (value) => isWhole(value, 31n) },
  int64: { wanted: 'a whole number', accepts: (value) => isWhole(value, 63n) },
  number: { wanted: 'a number', accepts: isNumber },
  quantity: {
    wanted: 'a quantity like 500m or 2Gi',
    accepts: (value) => isNumber(value) || (isText(value) && QUANTITY.test(value)),
  },
  'int-or-string': {
    wanted: 'a whole number or text',
    accepts: (value) => isText(value) || isWhole(value, 31n),
  },
  time: {
    wanted: 'a time like 2026-01-31T08:00:00Z',
    accepts: (value) => isText(value) && TIME.test(value),
  },
  base64: {
    wanted: 'text in base64',
    // Go's decoder ignores line ends.
    accepts: (value) => isText(value) && BASE64.test(value.replaceAll(/[\r\n]/g, '')),
  },
};

/** Description of the required scalar, for a message; undefined if the value is valid. */
export const wrongScalar = (scalar: Scalar, value: ScalarValue): string | undefined => {
  const { wanted, accepts } = CHECKS[scalar];
  return accepts(value) ? undefined : wanted;
};

const isWhole = (value: ScalarValue, bits: bigint): boolean => {
  if (typeof value === 'number' && Number.isInteger(value)) return isWhole(BigInt(value), bits);
  return typeof value === 'bigint' && value >= -(1n << bits) && value < 1n << bits;
};
