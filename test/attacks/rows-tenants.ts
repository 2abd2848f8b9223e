import { type AttackRow, row, rowOf } from './row.ts';

/** Patterns and schemas of an application repository (N1 to N9). */
export const SCHEMAS: readonly AttackRow[] = [];

/** What building an application repository may reach, and what it may cost (N10 to N19). */
export const BUILDS: readonly AttackRow[] = [
  rowOf(
    'N10',
    'kustomization that fetches',
    'a kustomization, or settings of its generators, that make Kustomize fetch from the office: behind a key, an anchor, a patch',
    '`FIELD_INVALID`; what is not found by name has no network: `TEMPLATE_FAILED`',
    [['FIELD_INVALID'], ['TEMPLATE_FAILED']],
  ),
  row(
    'N11',
    'schema of values that fetches',
    "a chart whose values.schema.json refers to the network or to the office's disk",
    'FIELD_INVALID',
  ),
];

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
