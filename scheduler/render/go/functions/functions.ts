import { CORE, LOGIC } from './core.ts';
import { DATES } from './dates.ts';
import { ENCODING } from './encoding.ts';
import { FLOATS } from './floats.ts';
import { JSONS } from './json.ts';
import { LISTS } from './lists.ts';
import { MAPS } from './maps.ts';
import { MATH } from './math.ts';
import { PATTERNS } from './patterns.ts';
import { SEMVER } from './semver.ts';
import type { TemplateFunction } from './template-function.ts';
import { TEXT } from './text.ts';
import { URLS } from './urls.ts';
import { WORD_FUNCTIONS } from './words.ts';
import { YAML } from './yaml.ts';

const ALL: ReadonlyMap<string, TemplateFunction> = new Map(
  [
    CORE,
    LOGIC,
    TEXT,
    WORD_FUNCTIONS,
    LISTS,
    MAPS,
    MATH,
    FLOATS,
    ENCODING,
    JSONS,
    YAML,
    PATTERNS,
    DATES,
    SEMVER,
    URLS,
  ].flatMap((table) => Object.entries(table)),
);

/** Every function except `and` and `or`, by name. */
export const findFunction = (name: string): TemplateFunction | undefined => ALL.get(name);

export const FUNCTION_NAMES: readonly string[] = [...ALL.keys(), 'and', 'or'].toSorted();
