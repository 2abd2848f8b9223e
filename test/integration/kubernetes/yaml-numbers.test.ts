import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { withYamlNumbers } from '#bundles/json/yaml-numbers';
import { buildGoOracle, type GoOracle, hasGo } from '../../harness/neighbours/go-oracle.ts';
import { runs } from '../../harness/run/long.ts';

/** Plain scalars that may be numbers, against sigs.k8s.io/yaml, with which kubectl and the API server read manifests. */

const SEED = Number(process.env['YAML_NUMBERS_SEED'] ?? 20_261_128);
const COUNT = Number(process.env['YAML_NUMBERS_COUNT'] ?? runs(5000, 4));

type Answer = { readonly json?: string; readonly error?: string };

if (!hasGo)
  console.warn('SKIPPED: numbers in YAML are not compared with sigs.k8s.io/yaml: there is no `go` here.');

const SEEDS =
  '1e3 0x10 0o17 .5 1_000 -0 1e400 .inf 017 12e03 9007199254740993 9223372036854775808 18446744073709551616'.split(
    ' ',
  );

const digits = fc.string({ unit: fc.constantFrom(...'0123456789_'.split('')), minLength: 1, maxLength: 22 });
const part = fc.constantFrom(
  '',
  '.',
  '0x',
  '0o',
  '0b',
  '0',
  '+',
  '-',
  'e',
  'E',
  'e-',
  'f',
  ':',
  'inf',
  'nan',
  '_',
);
const text = fc
  .array(fc.oneof(digits, part), { minLength: 1, maxLength: 5 })
  .map((parts) => parts.join(''))
  .filter((one) => /^[-+.]?[\w.+:-]+$/.test(one) && !/^-?:|:$|^-$/.test(one));

/** The value as JSON, which has one number for each double. */
const ours = (plain: string): Answer => {
  const document = parseDocument(`v: ${plain}`, { customTags: withYamlNumbers, logLevel: 'silent' });
  const value: unknown = document.get('v');
  if (typeof value === 'number' && !Number.isFinite(value)) return { error: 'not JSON' };
  return { json: `{"v":${typeof value === 'bigint' ? value : JSON.stringify(value)}}` };
};

const isSame = (plain: string, their: Answer): boolean => {
  const our = ours(plain);
  if (our.json === undefined || their.json === undefined)
    return (our.error === undefined) === (their.error === undefined);
  if (our.json === their.json) return true;
  // Two spellings of one double: Go writes 1e20 and -0 otherwise.
  const [a, b] = [our, their].map(({ json = '' }) => (JSON.parse(json) as { v: unknown }).v);
  return typeof a === 'number' && typeof b === 'number' && a === b && (a === 0 || !Number.isSafeInteger(a));
};

describe.skipIf(!hasGo)('numbers in YAML', () => {
  let oracle: GoOracle<Answer>;
  beforeAll(() => {
    oracle = buildGoOracle(`${import.meta.dirname}/yaml-numbers`);
  }, 300_000);
  afterAll(() => oracle?.close());

  it('are those of Go', () => {
    const texts = [...new Set([...SEEDS, ...fc.sample(text, { numRuns: COUNT, seed: SEED })])];
    const answers = oracle.ask(texts.map((one) => JSON.stringify(`v: ${one}`)));
    const numbers = answers.filter(({ json }) => json !== undefined && !json.includes(':"')).length;
    expect(numbers).toBeGreaterThan(texts.length / 20);
    expect(texts.filter((one, at) => !isSame(one, answers[at] ?? {}))).toEqual([]);
  });
});
