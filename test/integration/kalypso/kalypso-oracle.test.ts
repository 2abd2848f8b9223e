import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FleetError } from '../../../bundles/errors.ts';
import { GOJSONSCHEMA_FORMATS } from '../../../scheduler/plan/compose/gojsonschema/formats.ts';
import { judgedValues } from '../../../scheduler/plan/compose/check-config.ts';
import { compileSchema, type SchemaCheck } from '../../../scheduler/plan/compose/schema-drafts.ts';
import { isReadDifferently } from '../../../scheduler/model/yaml/yaml-1-1-value.ts';
import { typeKalypsoValue } from '../../../scheduler/load/platform/config-layers.ts';
import type { Value } from '../../../scheduler/model/model.ts';
import { buildGoOracle, type GoOracle, hasGo } from '../../harness/neighbours/go-oracle.ts';
import { runs } from '../../harness/run/long.ts';
import { schema, value } from './kalypso-oracle/schemas.ts';
import { tagged, type Tagged } from './kalypso-oracle/tagged.ts';
import { FORMATS, textFor } from './kalypso-oracle/texts.ts';
import { YAML_SEEDS, yamlText } from './kalypso-oracle/yaml-texts.ts';

/**
 * Kalypso's form against the modules that Kalypso is made with: verdicts of gojsonschema on generated schemas and values, on texts for each
 * format, and on texts that are nearly numbers; and what yaml.v2 makes of texts that are YAML, or nearly. KALYPSO_ORACLE_COUNT makes them more, KALYPSO_ORACLE_SEED other.
 */

const SEED = Number(process.env['KALYPSO_ORACLE_SEED'] ?? 20_261_123);
const COUNT = Number(process.env['KALYPSO_ORACLE_COUNT'] ?? runs(2000, 4));

type Answer = {
  readonly valid: boolean;
  readonly failures?: readonly string[];
  readonly error?: string;
  readonly value?: Tagged;
};
/** docs/kalypso.md, "Values". */
const SEEDS_READ_DIFFERENTLY = ['a: -', 'a: b\r\nc: d\re: f\n', 'a: b\u2028c: d\u0085e: f'];

type Verdict = 'valid' | 'invalid' | 'refused';

if (!hasGo)
  console.warn(
    "SKIPPED: Kalypso's form is not compared with gojsonschema and yaml.v2, as there is no `go` here.",
  );

const compile = (written: unknown): SchemaCheck | FleetError => {
  try {
    return compileSchema(written as Value, 'kalypso');
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
};

/** gojsonschema follows such a schema until its stack is full, and its process ends. */
const isEndless = (check: SchemaCheck | FleetError): boolean =>
  check instanceof FleetError && check.message.includes('refers to itself without end');

const verdictOf = ({ valid, error }: Answer): Verdict => {
  if (error === undefined) {
    return valid ? 'valid' : 'invalid';
  }
  return 'refused';
};

describe.skipIf(!hasGo)("compared with Kalypso's modules, our code", () => {
  let oracle: GoOracle<Answer>;
  beforeAll(() => {
    oracle = buildGoOracle(`${import.meta.dirname}/kalypso-oracle`);
  }, 120_000);
  afterAll(() => oracle.close());

  const sample = <T>(arbitrary: fc.Arbitrary<T>, count = COUNT): readonly T[] =>
    fc.sample(arbitrary, { numRuns: count, seed: SEED });

  it('agrees about generated schemas and documents', { timeout: 120_000 }, () => {
    const cases = sample(fc.record({ schema, documents: fc.array(value, { minLength: 3, maxLength: 3 }) }))
      .map((one) => ({ ...one, check: compile(one.schema) }))
      .filter(({ check }) => !isEndless(check))
      .flatMap(({ documents, ...one }) => documents.map((document) => ({ ...one, document })));
    const answers = oracle.ask(
      cases.map((one) =>
        JSON.stringify({ schema: JSON.stringify(one.schema), document: JSON.stringify(one.document) }),
      ),
    );
    const count = { valid: 0, invalid: 0, refused: 0 };
    const differences = cases.flatMap(({ check, ...one }, at) => {
      const theirs = answers[at] as Answer;
      const judged = (): Verdict =>
        !(check instanceof FleetError) && check.judge(one.document).length === 0 ? 'valid' : 'invalid';
      const own = check instanceof FleetError ? 'refused' : judged();
      count[own] += 1;
      return own === verdictOf(theirs) ? [] : [{ ...one, own, theirs }];
    });
    console.info(`gojsonschema: ${JSON.stringify(count)} verdicts, ${differences.length} differ`);
    expect(differences.slice(0, 5)).toEqual([]);
    for (const verdict of Object.values(count)) expect(verdict).toBeGreaterThan(COUNT / 10);
  });

  it.for(FORMATS)('agrees about texts in the format %s', (format) => {
    const texts = sample(textFor(format), COUNT / 4);
    const answers = oracle.ask(texts.map((text) => JSON.stringify({ format, text })));
    const check = GOJSONSCHEMA_FORMATS[format] as (text: string) => boolean;
    const differences = texts.filter((text, at) => check(text) !== answers[at]?.valid);
    expect(differences).toEqual([]);
    expect(answers.filter(({ valid }) => valid).length).toBeGreaterThan(COUNT / 100);
  });

  it('agrees about texts that are numbers', () => {
    const text = fc.oneof(
      fc.string({ unit: fc.constantFrom(...Array.from('0179_.eE-+xXpaf')), maxLength: 9 }),
      fc.constantFrom('0x1p-2', '0X_1.8p+3', '1e400', '0x1p2000', '1_000', '-0', '12345678901234567890'),
    );
    const texts = sample(text);
    const isNumber = { properties: { v: { type: 'number' } } };
    const answers = oracle.ask(
      texts.map((v) => JSON.stringify({ schema: JSON.stringify(isNumber), values: { v } })),
    );
    const differences = texts.filter(
      (v, at) => (typeof judgedValues({ v })['v'] === 'number') !== answers[at]?.valid,
    );
    expect(differences).toEqual([]);
    expect(answers.filter(({ valid }) => valid).length).toBeGreaterThan(COUNT / 10);
  });

  describe('reads the value of a ConfigMap', () => {
    const compare = (texts: readonly string[]) => {
      const answers = oracle.ask(texts.map((yaml) => JSON.stringify({ yaml })));
      return texts.flatMap((text, at) => {
        const theirs = answers[at]?.value;
        const own = tagged(typeKalypsoValue(text));
        return JSON.stringify(own) === JSON.stringify(theirs) ? [] : [{ text, own, theirs }];
      });
    };

    it('as yaml.v2 does, or advises of a possible difference', { timeout: 120_000 }, () => {
      const unlike = compare(YAML_SEEDS);
      expect(unlike.filter(({ text }) => !isReadDifferently(text))).toEqual([]);
      expect(unlike.map(({ text }) => text)).toEqual(SEEDS_READ_DIFFERENTLY);
    });

    it('in the same way, or with advice, for nearly all random texts', { timeout: 120_000 }, () => {
      const texts = sample(yamlText, COUNT * 5);
      const unlike = compare(texts);
      const silent = unlike.filter(({ text }) => !isReadDifferently(text));
      console.info(
        `yaml.v2: ${texts.length} texts, ${unlike.length} read differently, ${silent.length} of them without advice`,
      );
      expect(silent.length, JSON.stringify(silent.slice(0, 5))).toBeLessThan(texts.length / 100);
    });
  });
});
