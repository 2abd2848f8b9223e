import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Value } from '../../../scheduler/model/model.ts';
import { compileSchema } from '../../../scheduler/plan/compose/schema-drafts.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { KNOWN } from './json-schema-suite/known.ts';

/** A group of the public suite: a schema, and values with the verdict that it must give. */
type Group = {
  readonly description: string;
  readonly schema: Readonly<Record<string, Value>> | boolean;
  readonly tests: readonly { readonly description: string; readonly data: Value; readonly valid: boolean }[];
};

const DRAFTS = {
  draft4: 'http://json-schema.org/draft-04/schema#',
  draft6: 'http://json-schema.org/draft-06/schema#',
  draft7: 'http://json-schema.org/draft-07/schema#',
  'draft2019-09': 'https://json-schema.org/draft/2019-09/schema',
  'draft2020-12': 'https://json-schema.org/draft/2020-12/schema',
} as const;

/** What is not required of a validator, but promised by us. */
const FORMATS =
  'date time date-time hostname ipv4 ipv6 json-pointer relative-json-pointer uri uri-reference uri-template';
const OPTIONAL = [
  'ecmascript-regex',
  'non-bmp-regex',
  'bignum',
  ...FORMATS.split(' ').map((name) => `format/${name}`),
].map((name) => `optional/${name}.json`);

/** In the later drafts a format is an annotation by default; we judge it. */
const LEFT_OUT = ['format.json'];

type Outcome = 'right' | 'wrong' | 'refused';

const judge = (group: Group, $schema: string): Outcome => {
  const schema = typeof group.schema === 'boolean' ? group.schema : { $schema, ...group.schema };
  try {
    const check = compileSchema(schema, 'fleet').judge;
    return group.tests.every(({ data, valid }) => (check(data).length === 0) === valid) ? 'right' : 'wrong';
  } catch (error) {
    // On purpose: a build needs no other network than Git's, and no name is safe as __proto__.
    return /nothing is fetched|cannot be called __proto__/.test((error as Error).message)
      ? 'refused'
      : 'wrong';
  }
};

describeWith(['jsonSchemaSuite'], 'the public JSON-Schema-Test-Suite', ({ jsonSchemaSuite }) => {
  test.for(Object.entries(DRAFTS))(
    'agrees with our verdicts, %s',
    { timeout: 120_000 },
    ([draft, $schema]) => {
      const folder = join(jsonSchemaSuite, 'tests', draft);
      const files = readdirSync(folder).filter((name) => name.endsWith('.json') && !LEFT_OUT.includes(name));
      const optional = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
        OPTIONAL.includes(name),
      );
      const count = { right: 0, wrong: 0, refused: 0 };
      const wrong: string[] = [];
      for (const file of [...files, ...optional]) {
        for (const group of JSON.parse(readFileSync(join(folder, file), 'utf8')) as readonly Group[]) {
          const outcome = judge(group, $schema);
          count[outcome] += 1;
          if (outcome === 'wrong') wrong.push(`${file}: ${group.description}`);
        }
      }
      console.info(
        `${draft}: ${count.right} groups right, ${count.refused} refused on purpose, ${count.wrong} known to be wrong`,
      );
      expect(wrong.toSorted()).toEqual([...KNOWN[draft as keyof typeof DRAFTS]].toSorted());
      expect(count.right).toBeGreaterThan(150);
    },
  );
});
