import { type Logger, pino } from 'pino';
import { plainText } from '#bundles/errors';

/** Log format of the hub and the signer: JSON lines, the level as a word, without terminal control characters. */
export const LOG_OPTIONS = {
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label: string) => ({ level: label }) },
  hooks: { streamWrite: plainText },
};

/**
 * Audit log of a command: JSON lines on the stream. undefined on a terminal, where the command prints text instead.
 */
export const auditLog = (stream: NodeJS.WriteStream): Logger | undefined =>
  stream.isTTY ? undefined : pino(LOG_OPTIONS, stream).child({ audit: true });
