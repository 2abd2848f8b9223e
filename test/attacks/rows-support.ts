import { type AttackRow, row, rowOf } from './row.ts';

/** Support bundles, by couriers, thieves of tokens and programs that print secrets (B). */
export const SUPPORT: readonly AttackRow[] = [
  row(
    'B1',
    'forged request',
    "a request for a support bundle in a site statement that is not by the office's key",
    'UNKNOWN_KEY',
  ),
  rowOf(
    'B2',
    'replayed request',
    'an older site statement with a request that was answered; a request whose time is over',
    '`ROLLBACK`; ACCEPT, and nothing is made',
    [
      ['ROLLBACK', 'older statement'],
      ['ACCEPT', 'its time is over'],
    ],
  ),
  rowOf(
    'B3',
    'forged answer',
    'a support bundle by another key or machine, for a request of another agent, made after its end, or changed on the way',
    '`UNKNOWN_KEY`, `REPORT_INVALID`, `DIGEST_MISMATCH`',
    [
      ['UNKNOWN_KEY', 'another key'],
      ['REPORT_INVALID', 'a request of another'],
      ['DIGEST_MISMATCH', 'changed, longer'],
    ],
  ),
  row(
    'B4',
    'secrets in a journal',
    'a program prints tokens, keys and passwords, with escape sequences, so that the bundle carries them home',
    'ACCEPT',
  ),
  rowOf(
    'B5',
    'hostile archive',
    'a bundle of many megabytes; one with links, devices or paths that lead elsewhere',
    '`TOO_LARGE`, `ENTRY_TYPE`, `BAD_NAME`',
    [
      ['TOO_LARGE', 'above the size limit'],
      ['ENTRY_TYPE', 'a link or a device'],
      ['BAD_NAME', 'an entry at'],
    ],
  ),
  rowOf(
    'B6',
    'forged entries of a journal',
    'a program prints under the name of systemd, of the kernel or of the agent, or lines that look like entries of these, so that a support bundle seems to prove something else',
    "ACCEPT: such a name is replaced by the program's unit, and further lines are indented",
    [['ACCEPT']],
  ),
];
