import { type AttackRow, row, rowOf } from './row.ts';

/** Somebody at the office: with the layout or the database in hand and no key, with the signer's socket, or with an older copy (I). */
export const INSIDER: readonly AttackRow[] = [
  rowOf(
    'I1',
    'restored access',
    'the database is restored, so that agents, tokens, break-glass codes and sessions that were taken away after the backup count again',
    'ACCEPT; all of them are taken away again, and other lost changes are named',
    [['ACCEPT']],
  ),
  row(
    'I2',
    'forgotten revocation',
    'the note of a revoked bundle is removed from the layout, or lost by a restore, and the bundle is built again or released by number',
    'REVOKED',
  ),
  row(
    'I3',
    'older audit log in the layout',
    'an older audit log, whole and valid, is put back into the layout, or the log is removed, so that decisions vanish and a new log begins',
    'AUDIT_TRUNCATED',
  ),
  row(
    'I4',
    'machine moved out of the chain',
    'with the socket of a signer with a chain: a site statement that moves a machine of prod to an environment whose releases were not promoted to prod, at once, in two steps, or at another site',
    'SIGNER_REFUSED',
  ),
  rowOf(
    'I5',
    'old machine as new evidence',
    'with the socket of a signer that judges reports: moving a machine that was in dev for long to qa, so that it counts there before the soak time is over',
    'ACCEPT; it counts there from the soak time after the move on',
    [['ACCEPT']],
  ),
  row(
    'I6',
    'lease of an old release',
    'with the socket of the lease key: a lease of an older release, so that it looks current where newer ones are withheld',
    'SIGNER_REFUSED',
  ),
  row(
    'I7',
    'fork in the registry',
    'a copy of the layout with the same keys publishes a release with a higher number, which takes back what the published one brought',
    'EQUIVOCATION',
  ),
  rowOf(
    'I8',
    'older layout behind newer sites',
    'the layout, or its pointer of a channel, is put back, so that numbers are given out again',
    'ACCEPT; an alarm as soon as a site reports a newer release, and status names it',
    [['ACCEPT']],
  ),
  row(
    'I9',
    'used up numbers',
    'a number of 2^53 in the file of floors of the layout, or in backup.json, so that no site ever takes a release again',
    'LAYOUT_INVALID',
  ),
  row(
    'I10',
    'pipe in the layout',
    'a pipe in the place of index.json or of the floors, so that builds and the hub wait for ever',
    'MEDIUM_INVALID',
  ),
  rowOf(
    'I11',
    'made while the clock was ahead',
    'a token, break-glass code or session that is made while the clock of the office is years ahead, to use it for years',
    '`TOKEN_INVALID`, `SESSION_INVALID`',
    [
      ['TOKEN_INVALID', 'a token that was made'],
      ['SESSION_INVALID', 'the clock was set back'],
    ],
  ),
  row(
    'I12',
    'planted keys.yaml',
    'another user puts a keys.yaml, which names commands, into a key directory that lies in a folder like /tmp',
    'PERMISSION',
  ),
  row(
    'I13',
    'older key directory',
    'a copy of the key directory from before a root is put back, so that releases are signed under the old root and media lose the new one',
    'ROOT_BEHIND',
  ),
  row(
    'I14',
    'planted tree in the cache',
    "another user of the build machine changes the tree of a commit in the build's cache, which is then built and signed",
    'PERMISSION',
  ),
  row(
    'I15',
    'older database behind its layout',
    'the database alone is an older copy, and a command is repeated until its number is above the one of the layout, so that revoked agents and old values are signed again',
    'ROLLBACK',
  ),
  row(
    'I16',
    'interrupted restore',
    'a restore is killed, or ends because the registry is out of reach, after the old layout is in place and before its numbers are raised, and the next build gives out numbers again',
    'LAYOUT_INVALID',
  ),
  rowOf(
    'I17',
    'passwords in an environment',
    'git, a credential helper, apt or a command of an agent, which parse what others wrote, are taken over and read passwords and tokens of our programs from their environment',
    'ACCEPT; none of these is in the environment of what our programs run, except of a signing command',
    [['ACCEPT']],
  ),
  rowOf(
    'I18',
    'older layers in the layout',
    'a statement about a bundle, by which the values of sites are composed, is put back in the layout to an older one, or removed, so that sites get values of before or lose them',
    '`ROLLBACK`, `BUNDLE_UNSIGNED`; the sites keep the values that they have',
    [['ROLLBACK'], ['BUNDLE_UNSIGNED']],
  ),
];
