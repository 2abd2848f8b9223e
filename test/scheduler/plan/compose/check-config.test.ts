import { describe, expect, test } from 'vitest';
import { type FleetError, formatError } from '../../../../bundles/errors.ts';
import { createConfigCheck } from '../../../../scheduler/plan/compose/check-config.ts';
import { createComposer } from '../../../../scheduler/plan/compose/compose-config.ts';
import type { PlatformForm, Value } from '../../../../scheduler/model/model.ts';
import { clusterType, layer, schema, target } from '../../model-objects.ts';

const check = (
  form: PlatformForm,
  values: Record<string, Value>,
  schemas: readonly Value[],
  own: readonly string[] = [],
): string | undefined => {
  const error = verdict(form, values, schemas, own);
  return error && formatError(error);
};

const verdict = (
  form: PlatformForm,
  values: Record<string, Value>,
  schemas: readonly Value[],
  own: readonly string[] = [],
): FleetError | undefined => {
  const composer = createComposer({
    configs: [layer('base', { values })],
    schemas: schemas.map((one, at) => schema(`s${at}`, one)),
  });
  const shop = target('shop/web', { configSchemas: own });
  return createConfigCheck(form)(composer(clusterType('edge'), shop), shop, 'edge/shop-web');
};

test('a wrong value is reported with its path, the assignment and the position of the value', () => {
  expect(
    check('fleet', { url: 'x', db: { port: 'high' } }, [
      { properties: { db: { properties: { port: { type: 'integer' } } } } },
    ]),
  ).toBe(
    'base.yaml:11:3: CONFIG_SCHEMA: edge/shop-web: db.port must be integer (schema s0). Change the value, or the schema.',
  );
});

test('a missing value is reported at the schema that requires it', () => {
  expect(check('fleet', { db: {} }, [{ properties: { db: { required: ['url'] } } }])).toBe(
    's0.yaml:5:3: CONFIG_SCHEMA: edge/shop-web: db.url is missing (schema s0). Set it in a Config that selects this assignment, or change the schema.',
  );
});

test('all schemas are checked, and up to five failures are listed', () => {
  const said = check('fleet', { a: 'x', b: 1 }, [
    { properties: { a: { type: 'number' } }, additionalProperties: false },
    { required: ['c', 'd', 'e', 'f'], properties: { b: { enum: [2, 3] } } },
  ]);
  expect(said).toMatch(/a must be number \(schema s0\)/);
  expect(said).toMatch(/b is not allowed \(schema s0\)/);
  expect(said).toMatch(/c is missing \(schema s1\)/);
  expect(said).toMatch(/; and 2 more\./);
});

test("the target's own schemas are checked, and a broken one is SCHEMA_INVALID at the target", () => {
  expect(check('fleet', { a: 1 }, [], ['{"required": ["b"]}'])).toMatch(
    /^apps\/shop\/web.yaml:1:1: CONFIG_SCHEMA: .*b is missing \(schema shop-web\/configSchemas\[0\]\)/,
  );
  expect(check('fleet', { a: 1 }, [], ['required: [a]'])).toBeUndefined();
  expect(check('fleet', { a: 1 }, [], ['{"required": '])).toMatch(
    /^apps\/shop\/web.yaml:1:1: SCHEMA_INVALID: /,
  );
  expect(check('fleet', { a: 1 }, [{ type: 'nonsense' }])).toMatch(
    /^s0.yaml:5:3: SCHEMA_INVALID: ConfigSchema s0: /,
  );
});

test('a schema with an external reference is refused, and nothing is fetched', () => {
  for (const $ref of ['https://example.com/schema.json', 'file:///etc/passwd', 'other.json'])
    expect(check('fleet', {}, [{ $ref }])).toMatch(
      new RegExp(
        `s0.yaml:5:3: SCHEMA_INVALID: .*refers to ${$ref}, which is not in it, and nothing is fetched`,
      ),
    );
});

test('a pattern made for backtracking takes linear time; one with look-around is refused', () => {
  const start = performance.now();
  const text = `${'a'.repeat(3000)}!`;
  expect(check('fleet', { v: text }, [{ properties: { v: { pattern: '^(a+)+$' } } }])).toMatch(
    /must match pattern/,
  );
  expect(check('fleet', { v: text }, [{ properties: { v: { pattern: '^(?=a)(a+)+$' } } }])).toMatch(
    /SCHEMA_INVALID: ConfigSchema s0: .*the pattern "\^\(\?=a\)\(a\+\)\+\$" cannot be used: it has look-around .* Patterns run in linear time \(RE2\)/,
  );
  expect(check('fleet', { v: 'ab' }, [{ properties: { v: { pattern: '(' } } }])).toMatch(/SCHEMA_INVALID/);
  expect(performance.now() - start).toBeLessThan(5000);
});

test.for([
  ['^(?=a)ab$'],
  ['^(?<!a)ab$'],
  ['^(a)\\1$'],
  ['^(?:(?:a{100}){9}b{1000}){1}(?:c{900}d{900}){10}$'],
] as const)('N7: pattern beyond RE2, %s -> SCHEMA_INVALID', ([pattern]) => {
  const error = verdict('fleet', { v: 'ab' }, [{ properties: { v: { pattern } } }]);
  expect(error?.code).toBe('SCHEMA_INVALID');
  expect(error?.hint).toMatch(/^Patterns run in linear time \(RE2\)/);
});

test('N8: catastrophic pattern, on the text that it does not match -> CONFIG_SCHEMA', () => {
  const start = performance.now();
  for (const pattern of ['^(a+)+$', '^(a|aa)+$', '(x+x+)+y', '^(.*a){20}$']) {
    const values = { v: `${'a'.repeat(2000)}${'x'.repeat(2000)}!` };
    expect(verdict('fleet', values, [{ properties: { v: { pattern } } }])?.code).toBe('CONFIG_SCHEMA');
  }
  expect(performance.now() - start).toBeLessThan(10_000);
});

test.for([
  '',
  'https://json-schema.org/draft/2019-09/schema',
  'https://json-schema.org/draft/2020-12/schema',
])('every pattern of a schema is applied, with $schema "%s"', ($schema) => {
  const own = {
    ...($schema && { $schema }),
    properties: { a: { pattern: '^a+$' }, b: { pattern: '^b+$' } },
    patternProperties: { '^c': { type: 'number' }, '^d': { type: 'boolean' } },
    additionalProperties: false,
  };
  expect(check('fleet', { a: 'aa', b: 'bb', c: 1, d: true }, [own])).toBeUndefined();
  expect(check('fleet', { a: 'bb', b: 'aa' }, [own])).toMatch(/a must match .*; b must match/);
  expect(check('fleet', { c: 'x', d: 1 }, [own])).toMatch(/c must be number .*; d must be boolean/);
  expect(check('fleet', { e: 1 }, [own])).toMatch(/e is not allowed/);
});

test('a name of Object.prototype is missing until it is set', () => {
  expect(check('fleet', {}, [{ required: ['toString'] }])).toMatch(/toString is missing/);
  expect(check('fleet', {}, [{ properties: { constructor: { type: 'object' } } }])).toBeUndefined();
});

test("patterns are JSON Schema's in the fleet form, and Go's in Kalypso's", () => {
  const spaces = [{ properties: { v: { pattern: '^\\s$' } } }];
  expect(check('fleet', { v: '\u00a0' }, spaces)).toBeUndefined();
  expect(check('kalypso', { v: '\u00a0' }, spaces)).toMatch(/must match pattern/);
  expect(check('kalypso', { v: 'a' }, [{ properties: { v: { pattern: '^\\u0061$' } } }])).toMatch(
    /SCHEMA_INVALID/,
  );
});

test('N5: multiplying references in the schema of a configuration -> SCHEMA_INVALID', () => {
  const level = (at: number): Value => ({
    allOf: [{ $ref: `#/$defs/${at + 1}` }, { $ref: `#/$defs/${at + 1}` }],
  });
  const $defs = Object.fromEntries(Array.from({ length: 41 }, (_, at) => [at, at === 40 ? {} : level(at)]));
  expect(verdict('fleet', {}, [{ $defs, $ref: '#/$defs/0' }])?.code).toBe('SCHEMA_INVALID');
});

test('references that multiply or are circular are refused', () => {
  const levels = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [
      `l${at}`,
      { allOf: [{ $ref: `#/definitions/l${at + 1}` }, { $ref: `#/definitions/l${at + 1}` }] },
    ]),
  );
  const bomb = { $ref: '#/definitions/l0', definitions: { ...levels, l40: { type: 'object' } } };
  expect(check('fleet', {}, [bomb])).toMatch(/SCHEMA_INVALID: ConfigSchema s0: .*references multiply/);
  expect(check('fleet', {}, [{ $ref: '#' }])).toMatch(/SCHEMA_INVALID: ConfigSchema s0: /);
  const tree = { properties: { child: { $ref: '#' } }, additionalProperties: false };
  expect(check('fleet', { child: { child: {} } }, [tree])).toBeUndefined();
  expect(check('fleet', { child: { chld: {} } }, [tree])).toMatch(/child.chld is not allowed/);
});

describe("Kalypso's form validates text that looks like a number as a number", () => {
  test.for([
    ['007', { type: 'integer' }, true],
    ['007', { type: 'string' }, false],
    ['1.5', { type: 'number' }, true],
    ['1.5', { type: 'integer' }, false],
    ['1e3', { type: 'number' }, true],
    ['true', { type: 'boolean' }, false],
    ['inf', { type: 'string' }, true],
    ['1.2.3', { type: 'string' }, true],
  ] as const)('%s against %j: %s', ([text, type, accepted]) => {
    expect(check('kalypso', { v: text }, [{ properties: { v: type } }]) === undefined).toBe(accepted);
  });

  test('only at the top level, and not in the fleet form', () => {
    const wantsNumber = {
      properties: { v: { type: 'number' }, deep: { properties: { v: { type: 'string' } } } },
    };
    expect(check('kalypso', { v: '5', deep: { v: '5' } }, [wantsNumber])).toBeUndefined();
    expect(check('fleet', { v: '5' }, [wantsNumber])).toMatch(/v must be number/);
  });
});

describe("Kalypso's form reads a schema as gojsonschema does", () => {
  const limited = { properties: { v: { minimum: 5, exclusiveMinimum: true } } };
  test.for([
    ['draft 4 limits without $schema', limited, { v: '5' }, /v must be > 5/],
    ['draft 4 limits without $schema, kept', limited, { v: '6' }, undefined],
    [
      'draft 4 id',
      {
        id: 'http://x.example/y',
        definitions: { p: { type: 'integer' } },
        properties: { v: { $ref: 'http://x.example/y#/definitions/p' } },
      },
      { v: 'x' },
      /v must be integer/,
    ],
    [
      'a foreign $schema',
      { $schema: 'https://schemas.example/x', properties: { v: { const: 5 } } },
      { v: '5' },
      undefined,
    ],
    [
      'a draft it does not know',
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        properties: { v: { prefixItems: [false] } },
      },
      { v: '[1]' },
      undefined,
    ],
    [
      'siblings of $ref',
      { definitions: { t: {} }, properties: { v: { $ref: '#/definitions/t', type: 'object' } } },
      { v: 'x' },
      undefined,
    ],
    ['exact multiples', { properties: { v: { multipleOf: 0.01 } } }, { v: '1.13' }, undefined],
    [
      'a format of a number',
      { properties: { v: { format: 'email' } } },
      { v: '5' },
      /v must match format "email of text", and Kalypso's form judges "5" as a number/,
    ],
    ['time', { properties: { v: { format: 'time' } } }, { v: '99:99' }, /must match format/],
    ['a time of one digit', { properties: { v: { format: 'time' } } }, { v: '9:05:05' }, undefined],
    [
      'date-time',
      { properties: { v: { format: 'date-time' } } },
      { v: '2026-01-01T25:00:00Z' },
      /must match/,
    ],
    ['email', { properties: { v: { format: 'email' } } }, { v: 'postgres://db' }, /must match format/],
    ['iri', { properties: { v: { format: 'iri' } } }, { v: 'no scheme' }, /must match format/],
    [
      'text that is a number',
      { properties: { v: { type: 'string' } } },
      { v: '5' },
      /v must be string, and Kalypso's form judges "5" as a number/,
    ],
  ] as const)('%s', ([, one, values, said]) => {
    const told = check('kalypso', values, [one]);
    if (said === undefined) expect(told).toBeUndefined();
    else expect(told).toMatch(said);
  });

  test.for([
    ['minLength greater than maxLength', { minLength: 2, maxLength: 1 }],
    ['an unknown type', { type: 'text' }],
    ['exclusiveMinimum without minimum', { exclusiveMinimum: true }],
    ['a reference that leads nowhere', { properties: { v: { $ref: '#/definitions/t' } } }],
    ['a type twice', { type: ['string', 'string'] }],
  ] as const)('%s is refused', ([, one]) => {
    expect(check('kalypso', { v: 'x' }, [one])).toMatch(/SCHEMA_INVALID/);
  });

  test('a missing value is described from the schema that a reference names', () => {
    const error = check('kalypso', {}, [
      { $defs: { tz: { type: 'string' } }, properties: { TZ: { $ref: '#/$defs/tz' } }, required: ['TZ'] },
    ]);
    expect(error).toMatch(/TZ is missing/);
  });
});

test('multipleOf with a decimal is computed exactly', () => {
  const cents = [{ properties: { v: { multipleOf: 0.01 } } }];
  expect(check('fleet', { v: 1.13 }, cents)).toBeUndefined();
  expect(check('fleet', { v: 1.135 }, cents)).toMatch(/v must be multiple of 0.01/);
});

describe('drafts', () => {
  const draft = (name: string) => `http://json-schema.org/${name}/schema#`;
  test.for([
    [
      'draft 4, exclusive limit',
      { $schema: draft('draft-04'), properties: { v: { minimum: 5, exclusiveMinimum: true } } },
      { v: 5 },
      false,
    ],
    [
      'draft 4, inclusive limit',
      { $schema: draft('draft-04'), properties: { v: { minimum: 5, exclusiveMinimum: false } } },
      { v: 5 },
      true,
    ],
    [
      'draft 4, id',
      {
        $schema: draft('draft-04'),
        id: 'http://x/y',
        definitions: { p: { type: 'integer' } },
        properties: { id: { $ref: '#/definitions/p' } },
      },
      { id: 'x' },
      false,
    ],
    [
      'draft 4, a property called minimum',
      { $schema: draft('draft-04'), properties: { minimum: { type: 'string' } } },
      { minimum: 'x' },
      true,
    ],
    ['draft 6', { $schema: draft('draft-06'), properties: { v: { exclusiveMinimum: 5 } } }, { v: 5 }, false],
    ['draft 7', { $schema: draft('draft-07'), if: { required: ['a'] }, else: false }, {}, false],
    [
      '2019-09',
      { $schema: 'https://json-schema.org/draft/2019-09/schema', dependentRequired: { a: ['b'] } },
      { a: 1 },
      false,
    ],
    [
      '2020-12',
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        properties: { v: { prefixItems: [{ type: 'string' }] } },
      },
      { v: [1] },
      false,
    ],
    ['a boolean', false, {}, false],
    ['a format', { properties: { v: { format: 'ipv4' } } }, { v: '10.0.0.256' }, false],
    ['a format that is unknown', { properties: { v: { format: 'colour' } } }, { v: 'x' }, true],
  ] as const)('%s', ([, one, values, accepted]) => {
    const said = check('fleet', values, [one]);
    expect(said ?? 'accepted').toMatch(accepted ? /^accepted$/ : /CONFIG_SCHEMA/);
  });
});
