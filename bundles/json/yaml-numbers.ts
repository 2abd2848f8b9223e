import type { ScalarTag, Tags } from 'yaml';

const INTEGER = /^([-+]?)(0x[0-9a-f]+|0b[01]+|0o[0-7]+|0[0-7]*|[1-9][0-9]*)$/i;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
/** A number that starts with its point: no underscore may follow the point. */
const POINT_FLOAT = /^\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?$/;
const INFINITE = /^([-+]?)\.(?:inf|Inf|INF)$/;
const NOT_A_NUMBER = /^\.(?:nan|NaN|NAN)$/;

/**
 * The number that a plain YAML scalar is to Go's yaml.v2 and sigs.k8s.io/yaml, with which kubectl, Flux and the API server read objects:
 * 017 and 0o17 are 15, 1_000 is 1000, and 1e400 is text. An integer of up to 64 bits is a bigint, any other number a double.
 * @returns undefined for text
 */
export const yamlNumber = (text: string): bigint | number | undefined => {
  if (!/^[-+.0-9]/.test(text)) return undefined;
  if (text.startsWith('.') && POINT_FLOAT.test(text)) return finite(Number(text.replaceAll('_', '')));
  const infinite = INFINITE.exec(text);
  if (infinite) return infinite[1] === '-' ? -Infinity : Infinity;
  if (NOT_A_NUMBER.test(text)) return Number.NaN;
  if (text.startsWith('.')) return undefined;
  const plain = text.replaceAll('_', '');
  const integer = readInteger(plain) ?? readInteger(plain.replace(/^0b([-+])/, '$10b'));
  return integer ?? (FLOAT.test(plain) ? finite(Number(plain)) : undefined);
};

const finite = (value: number): number | undefined => (Number.isFinite(value) ? value : undefined);

const readInteger = (text: string): bigint | undefined => {
  const parts = INTEGER.exec(text);
  if (!parts) return undefined;
  const [, sign = '', digits = ''] = parts;
  const octal = /^0[0-7]+$/.test(digits);
  const size = BigInt(octal ? `0o${digits.slice(1)}` : digits.toLowerCase());
  const value = sign === '-' ? -size : size;
  // Go has 64 bits, unsigned when there is no sign; a larger integer is read as a float.
  return value >= -(2n ** 63n) && value < (sign === '' ? 2n ** 64n : 2n ** 63n) ? value : undefined;
};

const INT = 'tag:yaml.org,2002:int';
const FLOAT_TAG = 'tag:yaml.org,2002:float';

/** The library only calls `test`, and a pattern alone cannot say how many bits a number takes. */
const IS_NUMBER = Object.assign(/^/, { test: (text: string) => yamlNumber(text) !== undefined });

const asWritten: ScalarTag['stringify'] = ({ source, value }) => source ?? String(value);

const NUMBER: ScalarTag = {
  tag: INT,
  default: true,
  identify: (value) => typeof value === 'bigint' || typeof value === 'number',
  test: IS_NUMBER,
  resolve: yamlNumber,
  stringify: asWritten,
};

/** Whole numbers beyond 2^53 are rounded. */
const DOUBLE: ScalarTag = { ...NUMBER, resolve: (text) => Number(yamlNumber(text)) };

/** `!!float 1` */
const TAGGED_FLOAT: ScalarTag = {
  tag: FLOAT_TAG,
  resolve: (text) => {
    const value = yamlNumber(text);
    return value === undefined ? text : Number(value);
  },
  stringify: asWritten,
};

/** For `customTags` of the YAML library: numbers as yamlNumber reads them, written back as their author wrote them. */
export const withYamlNumbers = (tags: Tags): Tags => withNumber(NUMBER, tags);

/**
 * As withYamlNumbers, for values that become JSON: a whole number beyond 2^53 is a rounded number instead of a bigint. Documents are still
 * written back with the text of their author.
 */
export const withYamlDoubles = (tags: Tags): Tags => withNumber(DOUBLE, tags);

const withNumber = (number: ScalarTag, tags: Tags): Tags => [
  number,
  TAGGED_FLOAT,
  ...tags.filter((tag) => typeof tag === 'string' || (tag.tag !== INT && tag.tag !== FLOAT_TAG)),
];
