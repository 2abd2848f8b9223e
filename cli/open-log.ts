import { type Logger, pino } from 'pino';
import { plainText } from '#bundles/errors';
import { logDestination } from './log-destination.ts';

/** Log format of the daemons: JSON lines, the level as a word, without terminal control characters. */
export const LOG_OPTIONS = {
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label: string) => ({ level: label }) },
  hooks: { streamWrite: plainText },
};

/** The log of a daemon, on standard output. */
export const openLog = (): Logger => pino({ ...LOG_OPTIONS }, logDestination());
