import { type AttackRow, rowOf } from './row.ts';

/** Patterns and schemas of an application repository (N1 to N9). */
export const SCHEMAS: readonly AttackRow[] = [];

/** What building an application repository may reach, and what it may cost (N10 to N19). */
export const BUILDS: readonly AttackRow[] = [];

/** What a package may name on a host, and which secrets (N20 to N29). */
export const HOST_BOUNDS: readonly AttackRow[] = [];

/** Secret values and image names of an application repository (N30 to N39). */
export const SHOWN_SECRETS: readonly AttackRow[] = [
  rowOf(
    'N30',
    'another spelling',
    'naming an image in another spelling than its signature policy and the lock file do',
    '`IMAGE_UNSIGNED`; the lock entry holds for every spelling',
    [['IMAGE_UNSIGNED', 'spelled in another way']],
  ),
  rowOf(
    'N31',
    'values in a difference',
    'a Secret in JSON, a list, a template, a text, a script or with a mistake, so that a difference or a pull request shows its values',
    'ACCEPT; `***` is shown, and whether it differs',
    [['ACCEPT', 'are not shown, only that they differ']],
  ),
];
