/** A JSON number of sixteen digits or more, outside the range in which a double is exact. May match inside a string, which costs only time. */
const LONG_NUMBER = /[-:,[\s]\d{16}/;

type Context = { readonly source?: string };
type Parse = (text: string, reviver: (key: string, value: unknown, context: Context) => unknown) => unknown;
type RawJson = { readonly rawJSON: (text: string) => object };

/**
 * JSON.parse that keeps whole numbers exact: one beyond 2^53 is a bigint, as in `parseManifests`. Numbers with a fraction or an exponent
 * are doubles, as in Go.
 * @param parse for text without such a number @throws SyntaxError
 */
export const parseExactJson = (text: string, parse: (text: string) => unknown = JSON.parse): unknown =>
  LONG_NUMBER.test(text) ? (JSON.parse as Parse)(text, exactly) : parse(text);

const exactly = (_key: string, value: unknown, { source = '' }: Context): unknown =>
  typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
    ? BigInt(source)
    : value;

/** JSON.stringify that also writes bigints, as numbers. */
export const writeExactJson = (value: unknown): string => {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, raw);
  }
};

const raw = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? (JSON as unknown as RawJson).rawJSON(String(value)) : value;
