const DECIMAL = /^[-+]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:[eE][-+]?\d+(?:_\d+)*)?$/;
const HEXADECIMAL =
  /^([-+]?)0[xX](?=_?[\da-fA-F]|\.[\da-fA-F])((?:_?[\da-fA-F])*)(?:\.((?:[\da-fA-F](?:_?[\da-fA-F])*)?))?[pP]([-+]?\d+(?:_\d+)*)$/;

/** Go's strconv.ParseFloat. `inf` and `nan`, which JSON lacks, are not numbers here. */
export const parseFloat64 = (text: string): number | undefined => {
  const value = DECIMAL.test(text) ? Number(text.replaceAll('_', '')) : parseHexadecimal(text);
  return value !== undefined && Number.isFinite(value) ? value : undefined;
};

/** `0x1.8p3`: hexadecimal digits times a power of two. */
const parseHexadecimal = (text: string): number | undefined => {
  const parts = HEXADECIMAL.exec(text.slice(0, MAX_LENGTH));
  if (!parts || text.length > MAX_LENGTH) return undefined;
  const [, sign = '', whole = '', fraction = '', power = ''] = parts.map((part) => part?.replaceAll('_', ''));
  const value = Number(`0x0${whole}${fraction}`) * 2 ** (Number(power) - 4 * fraction.length);
  return sign === '-' ? -value : value;
};

const MAX_LENGTH = 200;
