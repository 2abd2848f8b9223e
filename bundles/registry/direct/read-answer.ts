import type { Buffers } from '../../layout/read-span.ts';
import { bodyOf } from '../body-of.ts';
import type { Received } from '../receive.ts';
import { parseResponseHead, type ResponseHead } from './response-head.ts';

/** How a socket reads into memory of ours: `place` says where to, `take` what came; false: no more for now. */
export type Reading = { readonly place: () => Uint8Array; readonly take: (bytes: Uint8Array) => boolean };

/** One answer, while it comes. */
export type AnswerReading = Reading & {
  /** It is we who make it wait. */
  readonly isPaused: () => boolean;
  /** What has arrived is given to the reader before that. */
  readonly fail: (error: Error) => void;
};

/** An answer whose body's end cannot be told from its head. */
export type Unreadable = { readonly status: number; readonly body: undefined };

export type AnswerHooks = {
  readonly onHead: (received: Received | Unreadable) => void;
  /** Nothing more comes; behind it, unless there is an error, onHead or onDone. */
  readonly onEnd: (error: Error | undefined) => void;
  /** All of it came, and nothing behind it. */
  readonly onDone: (persists: boolean) => void;
  readonly resume: () => void;
  /** It is not to go on: is told to `fail`. */
  readonly close: (error: Error) => void;
};

/** Where bytes go that nobody has a buffer for; one for each connection. */
export const newSpill = (): Buffer => Buffer.allocUnsafeSlow(SPILL);

/** TLS hands on what it has deciphered, also to those who want no more: all that is in one read of a socket, 64 KiB, and a record. */
const SPILL = 128 << 10;
/** Little comes with a head: what comes behind it is to go into the reader's buffers. */
export const HEAD_BLOCK = 4 << 10;
/** The first that comes after a pause is copied, and so not to be much. */
const SPILL_BLOCK = 16 << 10;
/** Of what is read into memory of its own. */
const OWN_BLOCK = 256 << 10;
/** Of an answer, with all that come before it (RFC 9110 section 15.2). */
const MAX_HEADS = 64 << 10;
const END_OF_HEAD = '\r\n\r\n';

/**
 * A head, and a body that goes from the socket into the reader's buffers. Of those one is taken only when the reader comes for what
 * is in the one before: he may still be writing the one before that.
 * @param resumes the request was for a range. Its reader may pass over what he has already, unseen by those who still write what
 * he gave them: that goes into memory of its own.
 */
export const readAnswer = (
  spill: Buffer,
  { buffers, resumes }: { readonly buffers: Buffers; readonly resumes: boolean },
  hooks: AnswerHooks,
): AnswerReading => {
  let text = '';
  let tail = '';
  let heads = 0;
  let hasHead = false;
  let persists = false;
  /** Bytes that have not arrived. */
  let left = 0;
  /** What is read into, unless the reader has to come first. */
  let block: Uint8Array | undefined;
  let filled = 0;
  let spilled = 0;
  let nextBlock: () => Uint8Array = buffers;
  const full: Uint8Array[] = [];
  let paused = false;
  let end: { readonly error?: Error | undefined } | undefined;
  let wake: (() => void) | undefined;

  const finish = (error?: Error): void => {
    if (end) return;
    end = { error };
    hooks.onEnd(error);
    wake?.();
  };

  const ownBlock = (most: number) => (): Uint8Array =>
    Buffer.allocUnsafeSlow(Math.max(1, Math.min(most, left + spilled)));

  async function* read(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const piece = full.shift();
        if (piece) {
          goOn();
          yield piece;
        } else if (end?.error) {
          throw end.error;
        } else if (end) {
          return;
        } else {
          await new Promise<void>((resume) => {
            wake = resume;
          });
        }
      }
    } finally {
      // Who reads no further wants no more; the connection is of no use to anybody else.
      if (!end) hooks.close(new Error('nobody reads on'));
      full.length = 0;
    }
  }

  /** The reader came for a piece. */
  const goOn = (): void => {
    if (end || full.length > 0) return;
    fill();
    if (end || full.length > 0 || !paused) return;
    paused = false;
    hooks.resume();
  };

  /** Gets a block as soon as one may be taken, and into it what has come meanwhile. */
  const fill = (): void => {
    while (left + spilled > 0) {
      if (!block && full.length > 0) return;
      block ??= nextBlock();
      if (spilled === 0) return;
      const count = Math.min(spilled, block.byteLength - filled);
      block.set(spill.subarray(0, count), filled);
      spill.copyWithin(0, count, spilled);
      spilled -= count;
      put(block, count);
    }
  };

  const put = (into: Uint8Array, count: number): void => {
    filled += count;
    const isLast = left + spilled === 0;
    if (filled < into.byteLength && !isLast) return;
    full.push(into.subarray(0, filled));
    block = undefined;
    filled = 0;
    if (isLast) done();
    else wake?.();
  };

  const done = (): void => {
    finish();
    // The last may have waited in the spill: who comes next would never hear an answer.
    if (paused) hooks.resume();
    paused = false;
    hooks.onDone(persists);
  };

  const begin = (parsed: ResponseHead, rest: Uint8Array): void => {
    hasHead = true;
    persists = parsed.persists;
    const { status, headers, length } = parsed;
    if (length === undefined) {
      finish();
      hooks.onHead({ status, body: undefined });
      return;
    }
    // Words about a failure are kept by who reads them; only what is copied goes into buffers that are used again.
    if (status >= 300) nextBlock = ownBlock(HEAD_BLOCK);
    else if (resumes) nextBlock = ownBlock(OWN_BLOCK);
    hooks.onHead({ status, headers, body: bodyOf(read()) });
    left = length;
    // No buffer is taken before there is something for it: tries that come to nothing would use up those of an earlier blob.
    if (length > 0) {
      if (rest.byteLength > 0) takeBody(rest);
    } else {
      persists &&= rest.byteLength === 0;
      done();
    }
  };

  const takeHead = (bytes: Uint8Array): void => {
    const more = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
    text += more;
    tail += more;
    // Only what is new is looked at: a head may come byte by byte.
    const isWhole = tail.includes(END_OF_HEAD);
    tail = tail.slice(1 - END_OF_HEAD.length);
    for (let at = isWhole ? text.indexOf(END_OF_HEAD) : -1; at >= 0; at = text.indexOf(END_OF_HEAD)) {
      const parsed = parseResponseHead(text.slice(0, at));
      text = text.slice(at + END_OF_HEAD.length);
      heads += at;
      // 100 Continue and its like come before the answer (RFC 9110 section 15.2).
      if (parsed.status >= 200) return begin(parsed, Buffer.from(text, 'latin1'));
      tail = text.slice(1 - END_OF_HEAD.length);
    }
    if (heads + text.length > MAX_HEADS) throw new Error('its answer begins with a head that does not end');
  };

  const takeBody = (bytes: Uint8Array): void => {
    const count = Math.min(bytes.byteLength, left);
    // What follows belongs to no answer that anybody asked for, nor does what comes behind it.
    persists &&= count === bytes.byteLength;
    left -= count;
    if (block && bytes.buffer === block.buffer && bytes.byteOffset === block.byteOffset + filled)
      return put(block, count);
    spill.set(bytes.subarray(0, count), spilled);
    spilled += count;
    fill();
  };

  return {
    place: () => {
      if (!hasHead) return spill.subarray(0, HEAD_BLOCK);
      if (block) return block.subarray(filled, filled + left);
      return spill.subarray(spilled, spilled + SPILL_BLOCK);
    },
    take: (bytes) => {
      try {
        if (hasHead) takeBody(bytes);
        else takeHead(bytes);
      } catch (error) {
        hooks.close(error as Error);
        return false;
      }
      paused = !end && full.length > 0;
      return !paused;
    },
    isPaused: () => paused,
    fail: (error) => {
      if (end) return;
      // On a bad line that is all that ever comes at once.
      if (block && filled > 0) full.push(block.subarray(0, filled));
      if (spilled > 0) full.push(Buffer.from(spill.subarray(0, spilled)));
      finish(error);
    },
  };
};
