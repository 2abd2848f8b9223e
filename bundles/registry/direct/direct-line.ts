import type { Socket } from 'node:net';
import type { Buffers } from '../../layout/read-span.ts';
import type { Received } from '../receive.ts';
import { lineFailure } from './line-failure.ts';
import {
  type AnswerReading,
  HEAD_BLOCK,
  newSpill,
  readAnswer,
  type Reading,
  type Unreadable,
} from './read-answer.ts';
import { requestHead } from './request-head.ts';

export type OpenSocket = (reading: Reading) => Promise<Socket>;

/** What one request says, ready for the connection. */
export type DirectRequest = {
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Where the body of a good answer goes. */
  readonly buffers: Buffers;
  readonly signal?: AbortSignal | undefined;
};

/** One connection, for one request after the other. */
export type DirectLine = {
  /**
   * One that is unreadable takes the connection along.
   * @param release called when the line can take the next request
   * @throws what the connection meets
   */
  readonly get: (request: DirectRequest, release: () => void) => Promise<Received | Unreadable>;
  readonly isOpen: () => boolean;
  /** @param error for who still reads */
  readonly close: (error: Error) => void;
};

export type LinePatience = { readonly headers: number; readonly body: number; readonly idle: number };

/**
 * Reads bodies from the socket straight into the reader's buffers. What undici does for every piece (memory for it, two copies,
 * a stream between) costs four times as much as the transfer itself, and fills the heap with what lives for a moment
 * (docs/benchmarks.md, docs/decisions/0023).
 */
export const openDirectLine = async (open: OpenSocket, patience: LinePatience): Promise<DirectLine> => {
  const spill = newSpill();
  let current: AnswerReading | undefined;
  let isAsked = true;
  let refuse = (): void => {
    isAsked = false;
  };
  const opened = await open({
    place: () => current?.place() ?? spill.subarray(0, HEAD_BLOCK),
    take: (bytes) => {
      if (current) return current.take(bytes);
      // Nobody asked: what follows could be taken for the answer to something else.
      refuse();
      return false;
    },
  });
  refuse = () => void opened.destroy();
  if (!isAsked) refuse();

  const end = (error: Error): void => {
    opened.destroy();
    current?.fail(error);
    current = undefined;
  };
  opened.on('error', end);
  opened.on('end', () => end(cut()));
  opened.on('close', () => end(cut()));
  opened.on('timeout', () => {
    // It may be we who make it wait.
    if (!current?.isPaused()) end(lineFailure('UND_ERR_BODY_TIMEOUT', 'the body stopped'));
  });
  opened.setTimeout(patience.idle);
  // Or nobody hears that the other side has closed.
  opened.resume();
  const isOpen = (): boolean => !opened.destroyed && opened.writable;

  return {
    isOpen,
    close: end,
    get: async ({ path, headers, buffers, signal, origin }, release) => {
      const request = requestHead(origin, path, headers);
      signal?.throwIfAborted();
      if (!isOpen()) throw cut();
      const { promise, resolve, reject } = Promise.withResolvers<Received | Unreadable>();
      const stop = (): void => end(toError(signal?.reason));
      // For all of a head: one that comes byte by byte is none.
      const late = setTimeout(
        () => end(lineFailure('UND_ERR_HEADERS_TIMEOUT', 'no answer came')),
        patience.headers,
      );
      opened.setTimeout(0);
      signal?.addEventListener('abort', stop, { once: true });
      const resumes = Object.keys(headers).some((name) => name.toLowerCase() === 'range');
      current = readAnswer(
        spill,
        { buffers, resumes },
        {
          onHead: (received) => {
            clearTimeout(late);
            opened.setTimeout(patience.body);
            if (!received.body) opened.destroy();
            resolve(received);
          },
          onEnd: (error) => {
            clearTimeout(late);
            signal?.removeEventListener('abort', stop);
            if (error) reject(error);
          },
          onDone: (persists) => {
            current = undefined;
            opened.setTimeout(patience.idle);
            if (!persists) opened.destroy();
            else if (isOpen()) release();
          },
          resume: () => {
            // What was waited for until now was not the other side.
            opened.setTimeout(patience.body);
            opened.resume();
          },
          close: end,
        },
      );
      opened.write(request, 'latin1');
      return promise;
    },
  };
};

const cut = (): Error => lineFailure('UND_ERR_SOCKET', 'other side closed');

const toError = (reason: unknown): Error =>
  reason instanceof Error ? reason : new DOMException('This operation was aborted', 'AbortError');
