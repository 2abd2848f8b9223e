import { checkDepth, fail, type Run, chargeSteps } from '../../run.ts';
import { GoContext } from '../values/go-context.ts';
import { isFloat, isInt, plainInt, toNumber } from '../../../model/go/number.ts';
import { Opaque } from '../values/opaque.ts';
import { isList, sortedEntries, type Value } from '../values/value.ts';

/** A 64-bit number in two halves: BigInt would be twenty times slower. */
type Word = { readonly high: number; readonly low: number };

/** FNV-1, 64 bits: multiply by 2^40 + 0x1b3, then xor. */
class Fnv {
  #high = 0xcbf29ce4;
  #low = 0x84222325;

  byte(value: number): void {
    const low = this.#low;
    const product = (low & 0xffff) * 0x1b3;
    const middle = (low >>> 16) * 0x1b3 + (product >>> 16);
    const carry = Math.floor(middle / 0x10000);
    this.#high = (Math.imul(this.#high, 0x1b3) + carry + (low << 8)) >>> 0;
    this.#low = (((middle << 16) | (product & 0xffff)) ^ value) >>> 0;
  }

  bytes(values: Uint8Array): void {
    for (const value of values) this.byte(value);
  }

  /** Eight bytes, least significant first. */
  word({ high, low }: Word): void {
    for (let shift = 0; shift < 32; shift += 8) this.byte((low >>> shift) & 0xff);
    for (let shift = 0; shift < 32; shift += 8) this.byte((high >>> shift) & 0xff);
  }

  digest(): Word {
    return { high: this.#high, low: this.#low };
  }
}

const ofWords = (...words: readonly Word[]): Word => {
  const fnv = new Fnv();
  for (const word of words) fnv.word(word);
  return fnv.digest();
};

const ofBytes = (bytes: Uint8Array): Word => {
  const fnv = new Fnv();
  fnv.bytes(bytes);
  return fnv.digest();
};

const bytesOf = (write: (view: DataView) => void): Uint8Array => {
  const bytes = new Uint8Array(8);
  write(new DataView(bytes.buffer));
  return bytes;
};

/** Go's NaN has other bits than JavaScript's. */
const GO_NAN = 0x7ff8000000000001n;

const ofFloat = (value: number): Word =>
  ofBytes(
    bytesOf((view) =>
      Number.isNaN(value) ? view.setBigUint64(0, GO_NAN, true) : view.setFloat64(0, value, true),
    ),
  );

const ofInt = (value: bigint): Word =>
  ofBytes(bytesOf((view) => view.setBigUint64(0, BigInt.asUintN(64, value), true)));

/** hashstructure v1 over FNV-1 (behaviour spec 2.6). */
const hashOf = (run: Run, value: Value, depth: number): Word => {
  chargeSteps(run, 1);
  checkDepth(run, depth, 'a value is');
  if (value === null || value === undefined) return ofInt(0n);
  if (typeof value === 'string') {
    chargeSteps(run, value.length >>> 4);
    return ofBytes(Buffer.from(value));
  }
  if (typeof value === 'boolean') return ofBytes(Uint8Array.of(value ? 1 : 0));
  if (isInt(value)) return ofInt(BigInt(plainInt(value)));
  if (isFloat(value)) return ofFloat(toNumber(value));
  if (isList(value))
    return value.reduce<Word>((word, item) => ofWords(word, hashOf(run, item, depth + 1)), {
      high: 0,
      low: 0,
    });
  if (value instanceof GoContext || value instanceof Opaque)
    return fail(run, 'hash takes a value, not an object or the context itself');
  let high = 0;
  let low = 0;
  for (const [key, item] of sortedEntries(value)) {
    const word = ofWords(hashOf(run, key, depth + 1), hashOf(run, item, depth + 1));
    high ^= word.high;
    low ^= word.low;
  }
  return { high: high >>> 0, low: low >>> 0 };
};

/** Kalypso's `hash`: 64 bits as an unsigned decimal. Not cryptographic. */
export const hash = (run: Run, value: Value): string => {
  const { high, low } = hashOf(run, value, 0);
  return ((BigInt(high) << 32n) | BigInt(low)).toString();
};
