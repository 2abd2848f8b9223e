import { type AttackRow, row, rowOf } from './row.ts';

/** The audit log, by somebody who can write to the layout or the registry and has no audit key (A). */
export const AUDIT: readonly AttackRow[] = [
  rowOf(
    'A1',
    'truncated log',
    'the newest entries are removed; or the whole log is put back as it was before a release',
    '`AUDIT_TRUNCATED`',
    [
      ['AUDIT_TRUNCATED', 'newest entries are removed'],
      ['AUDIT_TRUNCATED', 'log is put back'],
    ],
  ),
  row('A2', 'reordered log', 'two entries change places', 'AUDIT_CHAIN'),
  rowOf(
    'A3',
    'replaced entry',
    'an entry is replaced by another signed statement, and the chain is made to fit',
    '`AUDIT_CHAIN`, `AUDIT_CHECKPOINT`',
    [
      ['AUDIT_CHAIN', 'the chain is left'],
      ['AUDIT_CHECKPOINT', 'the chain is made to fit'],
    ],
  ),
  rowOf(
    'A4',
    'forged entry',
    "an entry is appended: without a checkpoint, with a checkpoint by another key, or a statement by another role's key",
    '`AUDIT_CHECKPOINT`, `UNKNOWN_KEY`',
    [
      ['AUDIT_CHECKPOINT', 'without a checkpoint'],
      ['UNKNOWN_KEY', 'checkpoint by another key'],
      ['UNKNOWN_KEY', 'statement by another role'],
    ],
  ),
  rowOf(
    'A5',
    'older log published',
    'an older log, or one that continues an older one, is published over a newer one',
    '`ROLLBACK`, `AUDIT_TRUNCATED`, `EQUIVOCATION`',
    [
      ['ROLLBACK', 'older log'],
      ['AUDIT_TRUNCATED', 'continues an older one'],
      ['EQUIVOCATION', 'same length'],
    ],
  ),
];
