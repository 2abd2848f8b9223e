import type { Value } from '../../../model/model.ts';
import { parseFloat64 } from '../../../model/go/parse-float.ts';
import { type ConfigMapping, plainValue } from '../../../model/plain-value.ts';

/**
 * Returns the values that Kalypso passes to gojsonschema: a top-level string that Go parses as a number becomes that number (behaviour
 * spec 2.5). Templates get the strings.
 */
export const judgedValues = (values: ConfigMapping): { readonly [key: string]: Value } =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key,
      // An integer that a double would round is a number all the same.
      typeof value === 'string' ? (parseFloat64(value) ?? value) : plainValue(value, Number),
    ]),
  );
