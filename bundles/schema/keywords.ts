import { isDeepStrictEqual } from 'node:util';
import { type Check, type Mistake, mistake, under } from './mistake.ts';

/** What a keyword looks at: other values fit it, whatever they are. */
type Subject = 'any' | 'number' | 'string' | 'array' | 'object';
type Fields = Readonly<Record<string, unknown>>;
type Compile = (schema: unknown) => Check;
type Keyword = {
  readonly of: Subject;
  /** @param schema that the keyword stands in */
  readonly check: (argument: never, compile: Compile, schema: Fields) => Check;
};

const refuse = (
  keyword: string,
  message: string,
  isWrong: (value: never) => boolean,
  params?: Mistake['params'],
): Check => {
  const wrong = mistake(keyword, message, params);
  return (value) => (isWrong(value as never) ? wrong : undefined);
};

/** In characters, as the specification counts them (section 6.3.1), and not in UTF-16 units. */
const lengthOf = (text: string): number => {
  let length = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0xd800 || unit > 0xdbff) continue;
    const next = text.charCodeAt(at + 1);
    if (next >= 0xdc00 && next <= 0xdfff) [length, at] = [length - 1, at + 1];
  }
  return length;
};

const same = (one: unknown, other: unknown): boolean =>
  one === other || (typeof one === 'object' && isDeepStrictEqual(one, other));

const firstOf = (checks: readonly Check[], value: unknown): Mistake | undefined => {
  for (const check of checks) {
    const found = check(value);
    if (found) return found;
  }
  return undefined;
};

/** @param sizeOf counted in this unit */
const bound = (
  keyword: `${'max' | 'min'}${string}`,
  of: Subject,
  unit: string,
  sizeOf: (value: never) => number,
): Keyword => ({
  of,
  check: (limit: number) =>
    keyword.startsWith('max')
      ? refuse(keyword, `must NOT have more than ${limit} ${unit}`, (value) => sizeOf(value) > limit)
      : refuse(keyword, `must NOT have fewer than ${limit} ${unit}`, (value) => sizeOf(value) < limit),
});

const countItems = (items: readonly unknown[]): number => items.length;
const countProperties = (fields: Fields): number => Object.keys(fields).length;

/** In the order in which they are asked, so that the first mistake told is always the same one. */
export const KEYWORDS: Readonly<Record<string, Keyword>> = {
  const: {
    of: 'any',
    check: (wanted: unknown) =>
      refuse('const', 'must be equal to constant', (value: unknown) => !same(value, wanted)),
  },
  enum: {
    of: 'any',
    check: (wanted: readonly unknown[]) =>
      refuse(
        'enum',
        'must be equal to one of the allowed values',
        (value: unknown) => !wanted.some((one) => same(value, one)),
        { allowedValues: wanted },
      ),
  },
  oneOf: {
    of: 'any',
    check: (branches: readonly unknown[], compile) => {
      const checks = branches.map(compile);
      const several = mistake('oneOf', 'must match exactly one schema in oneOf');
      return (value) => {
        const found = checks.map((check) => check(value));
        const fitting = found.filter((one) => one === undefined).length;
        if (fitting === 1) return undefined;
        return fitting === 0 ? found[0] : several;
      };
    },
  },
  maximum: {
    of: 'number',
    check: (bound: number) => refuse('maximum', `must be <= ${bound}`, (value: number) => value > bound),
  },
  minimum: {
    of: 'number',
    check: (bound: number) => refuse('minimum', `must be >= ${bound}`, (value: number) => value < bound),
  },
  maxLength: bound('maxLength', 'string', 'characters', lengthOf),
  minLength: bound('minLength', 'string', 'characters', lengthOf),
  pattern: {
    of: 'string',
    check: (source: string) => {
      const pattern = new RegExp(source, 'u');
      const message = `must match pattern "${source}"`;
      return refuse('pattern', message, (value: string) => !pattern.test(value), { pattern: source });
    },
  },
  maxItems: bound('maxItems', 'array', 'items', countItems),
  minItems: bound('minItems', 'array', 'items', countItems),
  uniqueItems: {
    of: 'array',
    check: () => (value) => {
      const items = value as readonly unknown[];
      for (let later = items.length - 1; later > 0; later--)
        for (let earlier = later - 1; earlier >= 0; earlier--)
          if (same(items[later], items[earlier]))
            return mistake(
              'uniqueItems',
              `must NOT have duplicate items (items ## ${earlier} and ${later} are identical)`,
            );
      return undefined;
    },
  },
  items: {
    of: 'array',
    check: (schema: unknown, compile) => {
      const check = compile(schema);
      return (value) => {
        for (const [at, item] of (value as readonly unknown[]).entries()) {
          const found = check(item);
          if (found) return under(at, found);
        }
        return undefined;
      };
    },
  },
  maxProperties: bound('maxProperties', 'object', 'properties', countProperties),
  required: {
    of: 'object',
    check: (names: readonly string[]) => {
      const checks = names.map((name) =>
        refuse(
          'required',
          `must have required property '${name}'`,
          (value: Fields) => value[name] === undefined,
        ),
      );
      return (value) => firstOf(checks, value);
    },
  },
  propertyNames: {
    of: 'object',
    check: (schema: unknown, compile) => {
      const check = compile(schema);
      return (value) => {
        for (const name of Object.keys(value as Fields)) {
          const found = check(name);
          if (found) return found;
        }
        return undefined;
      };
    },
  },
  additionalProperties: {
    of: 'object',
    check: (schema: unknown, compile, { properties = {} }) => {
      const known = new Set(Object.keys(properties as Fields));
      const check = schema === false ? undefined : compile(schema);
      return (value) => {
        for (const [key, one] of Object.entries(value as Fields)) {
          if (known.has(key)) continue;
          if (!check)
            return mistake('additionalProperties', 'must NOT have additional properties', {
              additionalProperty: key,
            });
          const found = check(one);
          if (found) return under(key, found);
        }
        return undefined;
      };
    },
  },
  properties: {
    of: 'object',
    check: (schemas: Fields, compile) => {
      const checks = Object.entries(schemas).map(([key, schema]) => [key, compile(schema)] as const);
      return (value) => {
        for (const [key, check] of checks) {
          const one = (value as Fields)[key];
          const found = one === undefined ? undefined : check(one);
          if (found) return under(key, found);
        }
        return undefined;
      };
    },
  },
};
