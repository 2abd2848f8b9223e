import { isUtf8 } from 'node:buffer';
import { FleetError } from '../errors.ts';
import type { Shape } from './json-shape.ts';

/** Limits of untrusted JSON, in bytes and levels, applied before its content is read. */
export type JsonLimits = {
  readonly maxBytes: number;
  readonly maxDepth?: number;
  /** Fields to build; by default all. */
  readonly shape?: Shape;
  /** Bytes of memory that the result may take; by default twice `maxBytes` plus 32 MiB. */
  readonly maxHeld?: number;
};

const FREE_BYTES = 32 << 20;

/**
 * Parses untrusted JSON. Rejects documents that exceed a limit, are not UTF-8, have duplicate keys, or would take far more memory than
 * they have bytes. No message quotes the content.
 * @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP
 */
export const parseStrictJson = (
  bytes: Uint8Array,
  { maxBytes, maxDepth = 32, shape = 'whole', maxHeld = 2 * maxBytes + FREE_BYTES }: JsonLimits,
  what = 'document',
): unknown => {
  if (bytes.byteLength > maxBytes) {
    throw new FleetError('TOO_LARGE', `${what} has ${bytes.byteLength} bytes, at most ${maxBytes} are read`);
  }
  if (!isUtf8(bytes)) throw new FleetError('BAD_JSON', `${what} is not UTF-8`);
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return readJson(buffer, { maxDepth, maxHeld, shape, what });
};

type ReadJsonOptions = {
  readonly maxDepth: number;
  /** Bytes of memory, as estimated below, that the result and the keys of open objects may take. */
  readonly maxHeld: number;
  readonly shape: Shape;
  /** Name of the document in messages. */
  readonly what: string;
};

/**
 * Memory that V8 allocates, in bytes, rounded up; measured with the inputs of test/bundles/json-memory.integration.test.ts. An
 * object has room for four fields, more go to a second block, and many to a hash table. A key that no object before it had
 * costs a hidden class, and so does each object once V8 has given up sharing them.
 */
const COST = {
  object: 56,
  field: 16,
  hashedField: 80,
  newKey: 360,
  unsharedObject: 300,
  array: 48,
  firstItem: 144,
  item: 24,
  string: 24,
  number: 16,
  openKey: 80,
};
const FAST_FIELDS = 12;
const SHARED_KEYS = 1500;
/** Up to this number of keys they are compared one by one: most objects are small, and a set for each would be garbage. */
const FEW_KEYS = 16;

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];
const [MINUS, PLUS, DOT, ZERO, NINE, LOWER_U] = [0x2d, 0x2b, 0x2e, 0x30, 0x39, 0x75];
/** Characters allowed after a backslash, except u. */
const ESCAPES: ReadonlySet<number | undefined> = new Set(Buffer.from('"\\/bfnrt'));
const LITERALS = new Map<number | undefined, { readonly text: Buffer; readonly value: boolean | null }>(
  [true, false, null].map((value) => {
    const text = Buffer.from(String(value));
    return [text[0], { text, value }];
  }),
);

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE;
const isHex = (byte: number | undefined): boolean =>
  isDigit(byte) || (byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);

/**
 * Parses JSON (RFC 8259) from bytes in one pass, without a copy of the text. Returns the same values as JSON.parse, limited to
 * the fields that `shape` names; other fields are checked but not built.
 * @param bytes valid UTF-8
 * @throws FleetError BAD_JSON also for a key that an object has twice, TOO_DEEP, TOO_LARGE past `maxHeld`
 */
const readJson = (bytes: Buffer, { maxDepth, maxHeld, shape, what }: ReadJsonOptions): unknown => {
  let at = 0;
  let depth = 0;
  let held = 0;
  let isAscii = true;
  let isEscaped = false;
  /** Keys of the objects that are open, innermost last. */
  const openKeys: string[] = [];
  const knownKeys = new Set<string>();

  const bad = (why = 'the text breaks off or has an unexpected character'): FleetError =>
    new FleetError('BAD_JSON', `${what} is not JSON: ${why}, at byte ${at}`);

  const hold = (cost: number): void => {
    held += cost;
    if (held <= maxHeld) return;
    throw new FleetError(
      'TOO_LARGE',
      `${what} would take more than ${maxHeld} bytes of memory, at byte ${at} of ${bytes.length}`,
    );
  };

  const skipSpace = (): void => {
    for (;;) {
      const byte = bytes[at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return;
      at += 1;
    }
  };

  const nest = (): void => {
    at += 1;
    depth += 1;
    if (depth > maxDepth)
      throw new FleetError('TOO_DEEP', `${what} nests deeper than ${maxDepth} levels, at byte ${at}`);
    skipSpace();
  };

  /** Reads the comma or closing bracket after an item; true after a comma. */
  const hasNext = (close: number): boolean => {
    skipSpace();
    const byte = bytes[at];
    if (byte !== COMMA && byte !== close) throw bad();
    at += 1;
    if (byte === close) return false;
    skipSpace();
    return true;
  };

  const skipEscape = (): void => {
    isEscaped = true;
    at += 1;
    if (ESCAPES.has(bytes[at])) return;
    if (bytes[at] !== LOWER_U) throw bad();
    for (let digit = 0; digit < 4; digit++) {
      at += 1;
      if (!isHex(bytes[at])) throw bad();
    }
  };

  /** From its opening quote to behind its closing one. */
  const skipString = (): void => {
    if (bytes[at] !== QUOTE) throw bad();
    isAscii = true;
    isEscaped = false;
    for (at += 1; ; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) break;
      if (byte === undefined || byte < 0x20) throw bad();
      if (byte === BACKSLASH) skipEscape();
      else if (byte >= 0x80) isAscii = false;
    }
    at += 1;
  };

  /** The string that was just skipped. */
  const textFrom = (start: number): string => {
    const encoding = isAscii ? 'latin1' : 'utf8';
    if (!isEscaped) return bytes.toString(encoding, start + 1, at - 1);
    return JSON.parse(bytes.toString(encoding, start, at)) as string;
  };

  const readString = (): string => {
    const start = at;
    skipString();
    // Beyond Latin-1 a character takes two bytes; with escapes there are two copies for a moment.
    hold(COST.string + (at - start) * (isAscii ? 1 : 2) * (isEscaped ? 2 : 1));
    return textFrom(start);
  };

  const skipDigits = (): void => {
    if (!isDigit(bytes[at])) throw bad();
    while (isDigit(bytes[at])) at += 1;
  };

  const skipNumber = (): void => {
    if (bytes[at] === MINUS) at += 1;
    if (bytes[at] === ZERO) at += 1;
    else skipDigits();
    if (bytes[at] === DOT) {
      at += 1;
      skipDigits();
    }
    if (((bytes[at] ?? 0) | 0x20) !== 0x65) return;
    at += 1;
    if (bytes[at] === PLUS || bytes[at] === MINUS) at += 1;
    skipDigits();
  };

  const readNumber = (): number => {
    const start = at;
    skipNumber();
    const value = Number(bytes.toString('latin1', start, at));
    if (value !== (value | 0)) hold(COST.number);
    return value;
  };

  const readLiteral = ({ text, value }: { readonly text: Buffer; readonly value: boolean | null }) => {
    if (!text.equals(bytes.subarray(at, at + text.length))) throw bad();
    at += text.length;
    return value;
  };

  /** A key of the innermost object, whose keys begin at `first`. */
  const readKey = (first: number, many: Set<string> | undefined): string => {
    const start = at;
    skipString();
    hold(COST.openKey + (at - start) * (isAscii ? 1 : 2));
    const key = textFrom(start);
    if (many ? many.has(key) : openKeys.includes(key, first)) throw bad('an object has a key twice');
    openKeys.push(key);
    many?.add(key);
    skipSpace();
    if (bytes[at] !== COLON) throw bad();
    at += 1;
    skipSpace();
    return key;
  };

  const holdField = (key: string, fields: number): void => {
    hold(fields > FAST_FIELDS ? COST.hashedField : COST.field);
    if (knownKeys.has(key)) return;
    knownKeys.add(key);
    hold(COST.newKey + 2 * key.length);
  };

  const readObject = (of: Shape): object | undefined => {
    nest();
    const [first, before] = [openKeys.length, held];
    let result: Record<string, unknown> | undefined;
    if (of !== 'skip') {
      result = {};
      hold(COST.object + (knownKeys.size > SHARED_KEYS ? COST.unsharedObject : 0));
    }
    let keyCosts = 0;
    let many: Set<string> | undefined;
    if (bytes[at] === CLOSE_BRACE) at += 1;
    else {
      do {
        const known = held;
        const key = readKey(first, many);
        keyCosts += held - known;
        const count = openKeys.length - first;
        if (count === FEW_KEYS) many = new Set(openKeys.slice(first));
        const inner = typeof of === 'string' ? of : (of.fields.get(key) ?? of.others);
        const value = readValue(inner);
        if (!result || inner === 'skip') continue;
        holdField(key, count);
        setField(result, key, value);
      } while (hasNext(CLOSE_BRACE));
    }
    depth -= 1;
    openKeys.length = first;
    held = result ? held - keyCosts : before;
    return result;
  };

  const readArray = (of: Shape): readonly unknown[] | undefined => {
    nest();
    const inner = typeof of === 'string' ? of : of.items;
    const result: unknown[] | undefined = of === 'skip' ? undefined : [];
    if (result) hold(COST.array);
    if (bytes[at] === CLOSE_BRACKET) at += 1;
    else {
      if (result && inner !== 'skip') hold(COST.firstItem);
      do {
        const value = readValue(inner);
        if (!result || inner === 'skip') continue;
        hold(COST.item);
        result.push(value);
      } while (hasNext(CLOSE_BRACKET));
    }
    depth -= 1;
    return result;
  };

  const readValue = (of: Shape): unknown => {
    const byte = bytes[at];
    if (byte === OPEN_BRACE) return readObject(of);
    if (byte === OPEN_BRACKET) return readArray(of);
    if (byte === QUOTE) return of === 'skip' ? skipString() : readString();
    const literal = LITERALS.get(byte);
    if (literal) return readLiteral(literal);
    return of === 'skip' ? skipNumber() : readNumber();
  };

  skipSpace();
  const value = readValue(shape);
  skipSpace();
  if (at < bytes.length) throw bad();
  return value;
};

/** As in JSON.parse, `__proto__` is an ordinary field. */
const setField = (object: Record<string, unknown>, key: string, value: unknown): void => {
  if (key !== '__proto__') object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
};
