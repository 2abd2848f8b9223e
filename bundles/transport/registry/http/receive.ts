import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { type Body, bodyOf } from './body-of.ts';

export type Received = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Body;
};

/** High-water mark in bytes: above it the connection is paused. */
const WAITING = 512 << 10;

/**
 * Sends one request by undici's dispatcher. Chunks of the body are passed on as they arrive, because a stream would copy each byte once
 * more. @throws errors of undici, also while the body is read
 */
export const receive = (
  connections: Dispatcher,
  request: Dispatcher.DispatchOptions,
  signal?: AbortSignal,
): Promise<Received> => {
  const { promise, resolve, reject } = Promise.withResolvers<Received>();
  const pieces: Uint8Array[] = [];
  let waiting = 0;
  let controller: Dispatcher.DispatchController | undefined;
  let end: { readonly error?: Error } | undefined;
  let wake: (() => void) | undefined;

  const stop = (): void => {
    const reason = toError(signal?.reason);
    controller?.abort(reason);
    // The request still waits for a connection.
    reject(reason);
  };
  const finish = (error?: Error): void => {
    end ??= error === undefined ? {} : { error };
    signal?.removeEventListener('abort', stop);
    if (error) reject(error);
    wake?.();
  };

  async function* read(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const piece = pieces.shift();
        if (piece) {
          waiting -= piece.byteLength;
          if (waiting <= WAITING / 2 && !end) controller?.resume();
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
      pieces.length = 0;
      // The reader stopped early, so the connection is closed.
      if (!end) controller?.abort(new Error('the reader stopped'));
    }
  }

  signal?.addEventListener('abort', stop, { once: true });

  connections.dispatch(request, {
    onRequestStart: (given) => {
      controller = given;
      if (signal?.aborted) stop();
    },
    onResponseStart: (_controller, status, headers) => {
      // Informational responses such as 100 Continue precede the response (RFC 9110 section 15.2).
      if (status >= 200) resolve({ status, headers, body: bodyOf(read()) });
    },
    onResponseData: (given, piece) => {
      pieces.push(piece);
      waiting += piece.byteLength;
      if (waiting >= WAITING) given.pause();
      wake?.();
    },
    onResponseEnd: () => finish(),
    onResponseError: (_controller, error) => finish(error),
  });
  return promise;
};

const toError = (reason: unknown): Error =>
  reason instanceof Error ? reason : new DOMException('This operation was aborted', 'AbortError');
