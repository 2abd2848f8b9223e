import { type AttackRow, row, rowOf } from './row.ts';

/** What one team does to the releases and removals of others (N70 to N79). */
export const BLAST_RADIUS: readonly AttackRow[] = [
  rowOf(
    'N70',
    'removal of another held',
    'a package that fails at the site, claims a file of the package that the platform withdraws, or depends on it, so that it stays',
    '`CHECK_FAILED`, `APPLY_FAILED`, `SITE_VALUES`: that package fails alone; the withdrawn one is removed',
    [
      ['CHECK_FAILED', 'whose check fails'],
      ['APPLY_FAILED', 'that cannot be written'],
      ['CHECK_FAILED', 'that claims a file of it'],
      ['SITE_VALUES', 'that needs a value that no site has'],
      ['CHECK_FAILED', 'that depended on it'],
    ],
  ),
  rowOf(
    'N71',
    'value that no site has',
    'a required site value that no site has, or that none fits, so that the site refuses the release of all',
    '`SITE_VALUES` for that package; the others are applied',
    [['SITE_VALUES']],
  ),
  rowOf(
    'N72',
    'rename that stops a channel',
    'a deployment target is renamed, so that the channel of all waits for a person who allows the removal',
    '`REMOVALS_HELD` for that application; the others are released',
    [['REMOVALS_HELD']],
  ),
  rowOf(
    'N73',
    'broken repository that keeps',
    'another repository of the team is broken, so that a withdrawn registration counts as held and stays',
    '`REFERENCE_MISSING` for that repository; the withdrawn registration is removed',
    [['REFERENCE_MISSING']],
  ),
  row(
    'N74',
    'dependency that keeps',
    'a package depends on the one that the platform withdraws, so that the channel gets no release',
    'DEPENDENCY_MISSING',
  ),
  rowOf(
    'N75',
    'boot without the agent',
    'a unit that hangs before the agent or its targets at a boot, makes a cycle with it or conflicts with it',
    'ACCEPT: the agent starts all the same, and the next release removes the unit',
    [['ACCEPT']],
  ),
  rowOf(
    'N76',
    'others come late',
    'many packages, each within the limits, whose health takes its time, at every release, so that the packages and removals of others come late or never',
    'ACCEPT: the workspaces take turns, and removals that nothing holds go first',
    [
      ['ACCEPT', 'of a team with many'],
      ['ACCEPT', 'where all may take as long'],
      ['ACCEPT', 'removal of another team'],
    ],
  ),
  rowOf(
    'N90',
    'reboots of hosts',
    'a team without root has hosts rebooted: by /run/reboot-required, by a unit, or by a ClusterType of its own',
    '`OUT_OF_BOUNDS`, `UNKNOWN_KIND`',
    [
      ['OUT_OF_BOUNDS', 'by a file'],
      ['OUT_OF_BOUNDS', 'by a unit'],
      ['UNKNOWN_KIND', 'by a ClusterType'],
    ],
  ),
  rowOf(
    'N91',
    'fields of site values',
    'a site input, or the value of a site, reaches what is not decided there: privileges, images, namespaces, RBAC, the quota of its own namespace, values of other teams',
    '`OUT_OF_BOUNDS`',
    [
      ['OUT_OF_BOUNDS', 'at the build'],
      ['OUT_OF_BOUNDS', 'at the agent'],
      ['OUT_OF_BOUNDS', 'in a tree'],
    ],
  ),
  rowOf(
    'N92',
    'secrets in a tree',
    'a value of a site that is a secret gets into a folder of a tree, where everybody can read it who reads the branch',
    '`SITE_VALUES` for that application; the others are written',
    [['SITE_VALUES', 'an input']],
  ),
  rowOf(
    'N93',
    'local value that is not granted',
    'a person at a site changes a value there that the platform did not grant to the site, that its schema does not admit, or that may be a secret',
    '`VALUE_NOT_GRANTED`, `SITE_VALUES`',
    [
      ['VALUE_NOT_GRANTED', 'not granted'],
      ['SITE_VALUES', 'out of its schema'],
    ],
  ),
  rowOf(
    'N94',
    'forged local value',
    "a local value in the agent's database is changed, or replaced by the edit of another agent or of another key",
    '`BAD_SIGNATURE`: shown as held, and the value of the office is used',
    [['BAD_SIGNATURE']],
  ),
  rowOf(
    'N95',
    'forged report of a local value',
    'a report with local values that another key signed, that is about another agent, or that is imported again after the answer',
    '`UNKNOWN_KEY`, `REPORT_INVALID`; ACCEPT, and nothing is decided again',
    [
      ['UNKNOWN_KEY', 'another key'],
      ['REPORT_INVALID', 'another agent'],
      ['ACCEPT', 'imported again'],
    ],
  ),
  row(
    'N96',
    'answer that nobody gave',
    'an intruder at the hub has an answer to a local value signed that is in no decision',
    'SIGNER_REFUSED',
  ),
  row(
    'N97',
    'fixed values of a team',
    'a registered repository of configuration has fixed values, so that they override those that the platform fixed, or that people set',
    'OUT_OF_BOUNDS',
  ),
  row(
    'N98',
    'work for the manager',
    'a unit that keeps systemd itself busy: a pattern of files, thousands of calendars, starts without a limit',
    'OUT_OF_BOUNDS',
  ),
  row(
    'N99',
    'name of a service',
    'a team whose registration is called like a service of the host, such as `cron` or `systemd-logind`, replaces or stops that service',
    'OUT_OF_BOUNDS',
  ),
];
