import type { Scalar } from './type-expression.ts';

/** A YAML scalar; whole numbers are bigint. */
export type ScalarValue = string | number | bigint | boolean;

const QUANTITY = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[numkMGTPE]|[KMGTPE]i|[eE][-+]?\d+)?$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[-+]\d{2}:\d{2})$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Description of the required scalar, for a message; undefined if the value is valid. Follows the API server's decoder. */
export const wrongScalar = (scalar: Scalar, value: ScalarValue): string | undefined => {
  switch (scalar) {
    case 'string':
      return typeof value === 'string' ? undefined : 'text';
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'true or false';
    case 'int32':
      return isWhole(value, 31n) ? undefined : 'a whole number of 32 bits';
    case 'int64':
      return isWhole(value, 63n) ? undefined : 'a whole number';
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? undefined : 'a number';
    case 'quantity':
      if (typeof value === 'boolean') return 'a quantity like 500m or 2Gi';
      return typeof value !== 'string' || QUANTITY.test(value) ? undefined : 'a quantity like 500m or 2Gi';
    case 'int-or-string':
      return typeof value === 'string' || isWhole(value, 31n) ? undefined : 'a whole number or text';
    case 'time':
      return typeof value === 'string' && TIME.test(value) ? undefined : 'a time like 2026-01-31T08:00:00Z';
    case 'base64':
      // Go's decoder ignores line ends.
      return typeof value === 'string' && BASE64.test(value.replaceAll(/[\r\n]/g, ''))
        ? undefined
        : 'text in base64';
  }
};

const isWhole = (value: ScalarValue, bits: bigint): boolean => {
  if (typeof value === 'number' && Number.isInteger(value)) return isWhole(BigInt(value), bits);
  return typeof value === 'bigint' && value >= -(1n << bits) && value < 1n << bits;
};
