import { parseYaml11Collection } from '../../../model/yaml/yaml-1-1-value.ts';
import { checkDepth, checkLength, fail, type Run, chargeSteps } from '../../run.ts';
import { toYaml } from '../yaml/to-yaml.ts';
import { isScalar } from '../yaml/yaml-keys.ts';
import { goText } from '../print.ts';
import { type Dict, isMap, sortedEntries, type Value } from '../values/value.ts';
import { hash } from './hash.ts';
import { copy } from './maps.ts';
import { type FunctionTable, fixed } from './template-function.ts';

/** The functions that Kalypso adds to sprig's (behaviour spec 2.6); `unquote` is in text.ts. */

const yaml = (run: Run, value: Value): string => {
  const text = toYaml(value, (depth, length) => {
    chargeSteps(run, 1 + (length >>> 6));
    checkDepth(run, depth, 'a value is');
  });
  checkLength(run, text.length);
  return text;
};

/**
 * A map with its lists and maps converted to YAML text, as a ConfigMap's data requires. Kalypso intends the same, but skips
 * maps that come from configuration values.
 */
const stringify = (run: Run, value: Value): string => {
  if (!isMap(value)) return yaml(run, value);
  const flat = Object.create(null) as Dict;
  for (const [key, item] of sortedEntries(value))
    flat[goText(run, key)] = isScalar(item) ? item : `${yaml(run, item)}\n`;
  return yaml(run, flat);
};

/** Parses a map or list, typed like configuration values. Costs a step for each character, because YAML parsing is slow. */
const fromYaml = (run: Run, text: string): Value => {
  chargeSteps(run, text.length);
  const value = parseYaml11Collection(text);
  return value === undefined ? fail(run, 'fromYaml takes the text of a YAML map or list') : copy(run, value);
};

export const YAML: FunctionTable = {
  fromYaml: fixed(['string'], fromYaml),
  toYaml: fixed(['any'], yaml),
  stringify: fixed(['any'], stringify),
  hash: fixed(['any'], hash),
};
