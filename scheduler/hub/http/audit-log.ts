import { type Logger, pino } from 'pino';
import { LOG_OPTIONS } from '#cli/open-log';

/**
 * Audit log of a command: JSON lines on the stream. undefined on a terminal, where the command prints text instead.
 */
export const auditLog = (stream: NodeJS.WriteStream): Logger | undefined =>
  stream.isTTY ? undefined : pino(LOG_OPTIONS, stream).child({ audit: true });
