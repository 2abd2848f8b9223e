import type { Value } from '../../platform/model.ts';
import { parseFloat64 } from '../../render/go/parse-float.ts';
import type { ConfigMapping } from '../merge.ts';
import { plainValue } from '../plain-value.ts';

/**
 * The values that Kalypso hands to gojsonschema: a text at the top that Go reads as a number is that number (behaviour spec 2.5). The
 * values that templates see stay texts.
 */
export const judgedValues = (values: ConfigMapping): { readonly [key: string]: Value } =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key,
      // An integer that a double would round is a number all the same.
      typeof value === 'string' ? (parseFloat64(value) ?? value) : plainValue(value, Number),
    ]),
  );
