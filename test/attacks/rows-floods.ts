import type { AttackRow } from './row.ts';

/** Floods: unsigned input that costs memory, disk or time (F1 to F19). */
export const FLOODS: readonly AttackRow[] = [];
