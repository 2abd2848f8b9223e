import { type Logger, pino } from 'pino';
import { plainText } from '#bundles/errors';

/** How every line of the hub and the signer looks: JSON, with the level as a word, safe to show on a terminal. */
export const LOG_OPTIONS = {
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label: string) => ({ level: label }) },
  hooks: { streamWrite: plainText },
};

/**
 * For a command that somebody's log keeps: one JSON line on standard error. On a terminal there is a person, who is told
 * in words.
 */
export const auditLog = (stream: NodeJS.WriteStream): Logger | undefined =>
  stream.isTTY ? undefined : pino(LOG_OPTIONS, stream).child({ audit: true });
