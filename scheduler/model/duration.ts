import { durationMs } from '#bundles/duration';

/** A number from 1 to 99999 and a unit: `90s`, `30m`, `12h`, `14d`, `2w`. */
export const DURATION = /^[1-9][0-9]{0,4}[smhdw]$/;

/** '14d' -> 1209600. Returns undefined for text that does not match DURATION. */
export const durationSeconds = (text: string): number | undefined =>
  DURATION.test(text) ? durationMs(text) / 1000 : undefined;
