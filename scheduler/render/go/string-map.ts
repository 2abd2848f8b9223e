import type { Run } from '../run.ts';
import { formOf, type Value } from './value.ts';

/**
 * Is it a Go map of strings, as Labels and Manifests are (behaviour spec 2.6) and what split gives? That shows where a key is
 * missing.
 */
export const isStringMap = (run: Run, value: Value): boolean =>
  value === run.given.labels ||
  value === run.given.manifests ||
  (typeof value === 'object' && value !== null && formOf(value)?.type === 'map[string]string');
