import type { IncomingMessage } from 'node:http';
import { FleetError } from '#bundles/errors';
import type { Place } from './admit.ts';

export type BodyLimits = {
  readonly maxBytes: number;
  /** The request's admission; undefined if it needed none. */
  readonly place: Place | undefined;
  /** Buffer to read into if it is large enough. The result is then a view of it. */
  readonly room?: Buffer | undefined;
};

/** A body may take GRACE_MS plus a second per BYTES_PER_SECOND received: an eighth of a satellite link, which a site's agents share. */
const GRACE_MS = 15_000;
const BYTES_PER_SECOND = 1 << 10;
const LOOK_MS = 1_000;

/**
 * Reads a whole body and checks size and rate while it arrives. After an error the rest is discarded.
 * @throws FleetError TOO_LARGE; BUSY if it arrives too slowly or must make room for others; ABORTED if the client disconnects
 */
export const readBody = (
  payload: IncomingMessage,
  { maxBytes, place, room }: BodyLimits,
): Promise<Buffer> => {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const announced = Number(payload.headers['content-length'] ?? 0);
  const isRoom = room !== undefined && room.byteLength >= announced;
  const allocate = (): Buffer => (isRoom ? room.subarray(0, announced) : Buffer.allocUnsafeSlow(announced));
  /** One buffer, which grows where no length is announced: chunks that are kept take up to a hundred times their bytes if they have one each. */
  let bytes = announced <= maxBytes ? allocate() : Buffer.alloc(0);
  const since = performance.now();
  let size = 0;
  const tooLarge = (): FleetError =>
    new FleetError('TOO_LARGE', `the request has more than ${maxBytes} bytes, which this path takes`);

  const onData = (chunk: Buffer): void => {
    size += chunk.byteLength;
    if (size > maxBytes) {
      end(() => reject(tooLarge()));
      return;
    }
    if (size > bytes.byteLength) {
      const longer = Buffer.allocUnsafeSlow(Math.min(maxBytes, Math.max(size, 2 * bytes.byteLength)));
      bytes.copy(longer, 0, 0, size - chunk.byteLength);
      bytes = longer;
    }
    chunk.copy(bytes, size - chunk.byteLength);
  };
  const onEnd = (): void => end(() => resolve(bytes.subarray(0, size)));
  const onGone = (): void =>
    end(() => reject(new FleetError('ABORTED', 'the caller disconnected in the middle of a request')));
  const onSlow = (): void => end(() => reject(place?.signal.reason as FleetError));
  const look = setInterval(() => {
    const late = performance.now() - since - GRACE_MS;
    if (late > (size / BYTES_PER_SECOND) * 1000)
      end(() => reject(new FleetError('BUSY', 'the request arrives too slowly')));
  }, LOOK_MS).unref();

  const end = (settle: () => void): void => {
    clearInterval(look);
    payload.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone);
    place?.signal.removeEventListener('abort', onSlow);
    place?.arrived();
    settle();
    // The connection closes after the response; until then further data is discarded.
    if (!payload.readableEnded) payload.on('error', () => {}).resume();
  };

  if (announced > maxBytes) end(() => reject(tooLarge()));
  else if (place?.signal.aborted === true) onSlow();
  else {
    place?.signal.addEventListener('abort', onSlow);
    payload.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone);
  }
  return promise;
};
