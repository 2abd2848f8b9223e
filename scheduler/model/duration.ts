const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const;

/** A number from 1 to 99999 and a unit: `90s`, `30m`, `12h`, `14d`, `2w`. */
export const DURATION = /^[1-9][0-9]{0,4}[smhdw]$/;

/** '14d' -> 1209600. Returns undefined for text that does not match DURATION. */
export const durationSeconds = (text: string): number | undefined =>
  DURATION.test(text)
    ? Number.parseInt(text, 10) * SECONDS[text.slice(-1) as keyof typeof SECONDS]
    : undefined;
