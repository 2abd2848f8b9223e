import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { type Body, bodyOf } from './body-of.ts';

export type Received = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Body;
};

/** Bytes that wait for the reader before the connection has to wait as well. */
const WAITING = 512 << 10;

/**
 * One request by undici's dispatcher. The body is handed on as it comes from the connection: a stream in between would join what
 * waits and so copy each byte again, and what is copied has to be collected.
 * @throws what undici throws, also while the body is read
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
    // One that waits for a connection has nothing to report yet.
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
      // Who reads no further wants no more; the connection is of no use to anybody else.
      if (!end) controller?.abort(new Error('nobody reads on'));
    }
  }

  signal?.addEventListener('abort', stop, { once: true });

  connections.dispatch(request, {
    onRequestStart: (given) => {
      controller = given;
      if (signal?.aborted) stop();
    },
    onResponseStart: (_controller, status, headers) => {
      // 100 Continue and its like come before the answer (RFC 9110 section 15.2).
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
