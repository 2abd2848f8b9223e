import { checkType } from './check-type.ts';
import { KEYWORDS } from './keywords.ts';
import type { Check } from './mistake.ts';

/** What says nothing about the value. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  '$defs',
  'title',
  'description',
  'default',
]);
const NAMES = Object.keys(KEYWORDS);

/**
 * One of the published schemas (docs/schemas, JSON Schema 2020-12) as a function. They use few keywords; a library that knows all of them
 * writes programs and has them compiled, which takes longer than most commands, and lets text become code in a process that
 * reads what strangers wrote (docs/decisions/0022). Schemas that people write go to the library.
 * @param part a JSON pointer of the form `/$defs/<name>`; the whole schema when it is left out
 * @throws TypeError for a keyword that is not known here: a mistake of ours, which a test finds
 */
export const compileSchema = (schema: object, part = ''): Check => {
  const root = schema as Readonly<Record<string, unknown>>;
  const definitions = (root['$defs'] ?? {}) as Readonly<Record<string, unknown>>;

  const definition = (reference: string): unknown => {
    const found = definitions[reference.replace(/^#?\/\$defs\//, '')];
    if (found === undefined) throw new TypeError(`nothing is at ${reference}`);
    return found;
  };

  const compile = (given: unknown): Check => {
    if (given === true) return () => undefined;
    const { type, $ref: reference, ...fields } = given as Readonly<Record<string, unknown>>;
    if (typeof reference === 'string') return compile(definition(reference));
    for (const name of Object.keys(fields))
      if (!Object.hasOwn(KEYWORDS, name) && !ANNOTATIONS.has(name))
        throw new TypeError(`no keyword known here: ${name}`);
    const steps = NAMES.flatMap((name) => {
      const keyword = KEYWORDS[name];
      if (!keyword || !(name in fields)) return [];
      return [{ of: keyword.of, check: keyword.check(fields[name] as never, compile, fields) }];
    });
    const isType = type === undefined ? undefined : checkType(type);
    return (value) => {
      const wrong = isType?.(value);
      if (wrong || steps.length === 0) return wrong;
      const subject = subjectOf(value);
      for (const { of, check } of steps) {
        if (of !== 'any' && of !== subject) continue;
        const found = check(value);
        if (found) return found;
      }
      return undefined;
    };
  };

  return compile(part === '' ? root : definition(part));
};

const subjectOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'array';
  return value === null ? 'null' : typeof value;
};
