import type { Received } from '../receive.ts';
import { unlessAborted } from '../unless-aborted.ts';
import {
  type DirectLine,
  type DirectRequest,
  type LinePatience,
  openDirectLine,
  type OpenSocket,
} from './direct-line.ts';
import { lineFailure } from './line-failure.ts';
import type { Unreadable } from './read-answer.ts';

/** Connections for what is big: bodies go from the socket into the reader's own buffers. */
export type DirectLines = {
  /** Undefined where this origin's answers have to be read by somebody who knows more of HTTP. @throws what a connection meets */
  readonly get: (request: DirectRequest) => Promise<Received | undefined>;
  readonly destroy: () => void;
};

/** Whoever answers in chunks mostly does so always; but a proxy is set up anew, and an agent asks for months. */
const UNREADABLE_FOR = 15 * 60_000;

/**
 * @param connect a socket to an origin, its TLS done
 * @param now milliseconds that only go forward
 */
export const newDirectLines = (
  connect: (origin: string, ...reading: Parameters<OpenSocket>) => ReturnType<OpenSocket>,
  patience: LinePatience,
  now: () => number = () => performance.now(),
): DirectLines => {
  const idle = new Map<string, DirectLine[]>();
  const all = new Set<DirectLine>();
  /** Origins whose answers have no length, or are in chunks, and when that is to be seen again. */
  const others = new Map<string, number>();
  let destroyed = false;

  const open = async (origin: string): Promise<DirectLine> => {
    for (const line of all) if (!line.isOpen()) all.delete(line);
    const line = await openDirectLine((reading) => connect(origin, reading), patience);
    if (destroyed) line.close(gone());
    all.add(line);
    return line;
  };

  const idleOne = (origin: string): DirectLine | undefined => {
    const waiting = idle.get(origin) ?? [];
    for (let line = waiting.pop(); line; line = waiting.pop()) if (line.isOpen()) return line;
    return undefined;
  };

  const getBy = (line: DirectLine, request: DirectRequest): Promise<Received | Unreadable> =>
    line.get(request, () => {
      idle.set(request.origin, [...(idle.get(request.origin) ?? []), line]);
    });

  const getAnew = async (request: DirectRequest): Promise<Received | Unreadable> => {
    const line = open(request.origin);
    try {
      return await getBy(await unlessAborted(line, request.signal), request);
    } catch (error) {
      // One that nobody waits for any more.
      line.then(({ close }) => close(error as Error)).catch(() => {});
      throw error;
    }
  };

  return {
    get: async (request) => {
      const { origin, signal } = request;
      if (destroyed) throw gone();
      signal?.throwIfAborted();
      if (now() < (others.get(origin) ?? Number.NEGATIVE_INFINITY)) return undefined;
      const used = idleOne(origin);
      const received = await (used
        ? // The other side may have closed it while nobody used it: no reason to make anybody wait (RFC 9112 section 9.3.1).
          getBy(used, request).catch((error: unknown) => {
            if (destroyed || signal?.aborted || !isCut(error)) throw error;
            return getAnew(request);
          })
        : getAnew(request));
      if (received.body) return received;
      // Errors are not told by who has the blobs: a proxy on the way may speak for once.
      if (received.status < 400) others.set(origin, now() + UNREADABLE_FOR);
      return undefined;
    },
    destroy: () => {
      destroyed = true;
      for (const line of all) line.close(gone());
    },
  };
};

const CUT: readonly unknown[] = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'];

/** As undici says it: not to be tried again. */
const gone = (): Error => lineFailure('UND_ERR_DESTROYED', 'the connections are closed');

const isCut = (error: unknown): boolean => CUT.includes((error as { readonly code?: unknown }).code);
