import type { Run } from '../run.ts';
import type { Value } from './value.ts';

/** Is it Labels or Manifests? Those are maps of strings in Kalypso, which shows where a key is missing (behaviour spec 2.6). */
export const isStringMap = (run: Run, value: Value): boolean =>
  value === run.context.labels || value === run.context.manifests;
