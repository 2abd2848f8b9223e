import { pino } from 'pino';

/** Bytes of log that wait in memory while they cannot be written. What comes after is dropped. */
const MAX_WAITING_BYTES = 1 << 20;

/**
 * The destination of a daemon's log, by default standard output. While it cannot be written, as on a full disk, the daemon
 * continues, and a later line brings what waits. pino's own destination would end the process and never return from the end.
 */
export const logDestination = (dest: string | number = 1): ReturnType<typeof pino.destination> => {
  const destination = pino.destination({ dest, sync: true, maxLength: MAX_WAITING_BYTES });
  destination.on('error', () => undefined);
  return destination;
};
