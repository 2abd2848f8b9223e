import type { AttackRow } from './row.ts';

/** Media that a stranger prepared, read by any program (M40 to M59). */
export const FOUND_MEDIA: readonly AttackRow[] = [];

/** What the office does with a medium that comes back (O1 to O19). */
export const OFFICE: readonly AttackRow[] = [];
