import type { Run } from '../run.ts';
import { formOf, type Value } from './values/value.ts';

/**
 * Whether the value is a Go map[string]string: Labels and Manifests (behaviour spec 2.6), and results of split. With `index` a
 * missing key of such a map is an empty text.
 */
export const isStringMap = (run: Run, value: Value): boolean =>
  value === run.given.labels ||
  value === run.given.manifests ||
  (typeof value === 'object' && value !== null && formOf(value)?.type === 'map[string]string');
