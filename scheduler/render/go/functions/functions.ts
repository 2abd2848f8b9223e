import { CORE } from './core.ts';
import { ENCODING } from './encoding.ts';
import { JSONS } from './json.ts';
import { LISTS } from './lists.ts';
import { LOGIC } from './logic.ts';
import { MAPS } from './maps.ts';
import { MATH } from './math.ts';
import { PATTERNS } from './patterns.ts';
import type { TemplateFunction } from './template-function.ts';
import { TEXT } from './text.ts';
import { YAML } from './yaml.ts';

const ALL: ReadonlyMap<string, TemplateFunction> = new Map(
  [CORE, LOGIC, TEXT, LISTS, MAPS, MATH, ENCODING, JSONS, PATTERNS, YAML].flatMap((table) =>
    Object.entries(table),
  ),
);

/** Every function but `and` and `or`, by name. */
export const findFunction = (name: string): TemplateFunction | undefined => ALL.get(name);

export const FUNCTION_NAMES: readonly string[] = [...ALL.keys(), 'and', 'or'].toSorted();
