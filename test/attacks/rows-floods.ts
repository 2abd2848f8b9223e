import { type AttackRow, row, rowOf } from './row.ts';

/** Floods: unsigned input that costs memory, disk or time (F1 to F19). */
export const FLOODS: readonly AttackRow[] = [
  row('F1', 'unknown fields', '64 MiB of objects in a field of medium.json that nobody knows', 'ACCEPT'),
  row(
    'F2',
    'small JSON, large memory',
    'known fields, or keys, of tables of contents and lists that take many times their bytes in memory',
    'TOO_LARGE',
  ),
  row(
    'F3',
    'flood of contradictions',
    'one report after the other that contradicts what the agent said before, of 4 MB each',
    'REPORT_CHAIN',
  ),
  rowOf(
    'F4',
    'flood of requests',
    '1,000 slow clients and 100 hostile ones, with stolen keys, long bodies and junk',
    '`TOO_MANY`; others are served',
    [['TOO_MANY']],
  ),
  row(
    'F12',
    'streams of one reader',
    'a reader of one workspace opens all streams of changes, so that nobody else is told',
    'BUSY',
  ),
  rowOf(
    'F7',
    'misleading text',
    'bidirectional controls and invisible characters in names, messages and codes',
    'ACCEPT: shown as escapes, in tables, logs and JSON',
    [['ACCEPT']],
  ),
];
