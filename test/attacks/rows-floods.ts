import { type AttackRow, rowOf } from './row.ts';

/** Floods: unsigned input that costs memory, disk or time (F1 to F19). */
export const FLOODS: readonly AttackRow[] = [
  rowOf(
    'F7',
    'misleading text',
    'bidirectional controls and invisible characters in names, messages and codes',
    'ACCEPT: shown as escapes, in tables, logs and JSON',
    [['ACCEPT']],
  ),
];
