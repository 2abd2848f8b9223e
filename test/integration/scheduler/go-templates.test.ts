import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compileLinear, findAll } from '#bundles/json/pattern/linear';
import { PatternError } from '#bundles/json/pattern/pattern-error';
import { FORBIDDEN_NAMES } from '../../../scheduler/render/go/functions/forbidden.ts';
import { FUNCTION_NAMES, findFunction } from '../../../scheduler/render/go/functions/functions.ts';
import { toYaml } from '../../../scheduler/render/go/yaml/to-yaml.ts';
import { hasGo } from '../../harness/neighbours/go-oracle.ts';
import { runs } from '../../harness/run/long.ts';
import { compare, showComparison } from './go-templates/compare.ts';
import { encode, generated, handwritten, yamlValue } from './go-templates/corpus.ts';
import { calls, callsOf, OURS, templates } from './go-templates/grammar.ts';
import { buildOracle, type Oracle } from './go-templates/oracle.ts';
import { regexpCase } from './go-templates/regexps.ts';

/**
 * Our Go templates, functions, regular expressions and YAML against the real ones: text/template, regexp, sprig and yaml.v3,
 * byte for byte, on a hand-written corpus and generated ones. GO_TEMPLATES_COUNT makes those larger, GO_TEMPLATES_SEED other.
 */

const SEED = Number(process.env['GO_TEMPLATES_SEED'] ?? 20_261_121);
const COUNT = Number(process.env['GO_TEMPLATES_COUNT'] ?? runs(4000, 4));
/** Templates that go to the oracle at once. */
const CHUNK = 5000;
const PATIENCE = 4 * 60 * 60 * 1000;

if (!hasGo)
  console.warn('SKIPPED: Go templates are not compared with the real ones, because there is no `go` here.');

let oracle: Oracle;

const sample = function* <T>(arbitrary: fc.Arbitrary<T>, count: number): Generator<T[]> {
  for (let done = 0, chunk = 0; done < count; done += CHUNK, chunk += 1)
    yield fc.sample(arbitrary, { numRuns: Math.min(CHUNK, count - done), seed: SEED + chunk });
};

/** Compares templates in chunks, says how they fared, and expects no difference. */
const expectEqual = (title: string, chunks: Iterable<readonly string[]>): void => {
  let total = { templates: 0, rendered: 0, refused: 0, extensions: {}, differences: [] } as ReturnType<
    typeof compare
  >;
  for (const chunk of chunks) {
    const one = compare(oracle, chunk);
    const extensions = { ...total.extensions };
    for (const [reason, count] of Object.entries(one.extensions))
      extensions[reason] = (extensions[reason] ?? 0) + count;
    total = {
      templates: total.templates + one.templates,
      rendered: total.rendered + one.rendered,
      refused: total.refused + one.refused,
      extensions,
      differences: [...total.differences, ...one.differences].slice(0, 20),
    };
  }
  console.info(`${title}: ${showComparison(total)}`, total.extensions);
  expect(total.differences).toEqual([]);
  // A corpus that hardly renders anything shows nothing.
  expect(total.rendered).toBeGreaterThan(total.templates / 5);
};

describe.skipIf(!hasGo)('Go templates, compared with the real engine', () => {
  beforeAll(() => {
    oracle = buildOracle();
  });

  afterAll(() => oracle.close());

  it('render or refuse every hand-written template as Go does', () => {
    const all = handwritten();
    expect(all.length).toBeGreaterThan(200);
    expectEqual('hand-written', [all]);
  });

  it('call every function as Go does, with common and rare arguments', { timeout: PATIENCE }, () => {
    const names = FUNCTION_NAMES.filter((name) => !OURS.includes(name));
    const each = Math.max(10, Math.floor(COUNT / names.length));
    const all = names.flatMap((name) => fc.sample(callsOf(name), { numRuns: each, seed: SEED }));
    const chunks = Array.from({ length: Math.ceil(all.length / CHUNK) }, (_unused, index) =>
      all.slice(index * CHUNK, (index + 1) * CHUNK),
    );
    expectEqual('functions', chunks);
  });

  it('render or refuse generated pipelines as Go does', { timeout: PATIENCE }, () =>
    expectEqual('pipelines', sample(calls, COUNT)),
  );

  it('render or refuse generated templates of the whole language as Go does', {
    timeout: PATIENCE,
  }, () => {
    expectEqual('templates', sample(templates, COUNT));
    expectEqual('simple templates', [generated(1000, SEED)]);
  });

  it('have every function of sprig 2 and 3 or refuse it with a reason, and no other', () => {
    const [answer] = oracle.ask(['{"signatures":true}']);
    const signatures = JSON.parse(answer?.output ?? '') as Record<
      string,
      { readonly parameters: readonly string[]; readonly variadic: boolean; readonly sprig2: boolean }
    >;
    const real = Object.keys(signatures);
    expect(real.length).toBeGreaterThan(200);
    const own = new Set(FUNCTION_NAMES);
    const refused = real.filter((name) => !own.has(name)).toSorted();
    // `call` is text/template's own.
    expect([...refused, 'call'].toSorted()).toEqual(FORBIDDEN_NAMES);
    const implemented = real.filter((name) => own.has(name));
    console.info(
      `sprig: ${implemented.length} functions implemented, ${refused.length} refused: ${refused.join(' ')}`,
    );
    for (const name of implemented) {
      const { parameters, variadic } = signatures[name] ?? { parameters: [], variadic: false };
      const fn = findFunction(name);
      const arity = [fn?.parameters.length, fn?.rest !== undefined];
      expect(arity, name).toEqual([parameters.length - (variadic ? 1 : 0), variadic]);
    }
    const builtin = ['and', 'or', 'not', 'eq', 'ne', 'lt', 'le', 'gt', 'ge', 'index', 'slice', 'len'];
    const known = new Set([
      ...real,
      ...OURS,
      ...builtin,
      'print',
      'printf',
      'println',
      'html',
      'js',
      'urlquery',
    ]);
    expect(FUNCTION_NAMES.filter((name) => !known.has(name))).toEqual([]);
  });

  it('match or refuse regular expressions as Go does', { timeout: PATIENCE }, () => {
    let matching = 0;
    for (const cases of sample(regexpCase, COUNT)) {
      const answers = oracle.ask(cases.map((one) => JSON.stringify(one)));
      const differences = cases.flatMap(({ pattern, text }, index) => {
        const own = regexpMatches(pattern, text);
        const theirs = answers[index]?.output ?? 'refused';
        if (theirs !== 'refused' && theirs !== 'null') matching += 1;
        // RE2 takes each name of a group once; Go takes it twice (docs/kalypso.md).
        if (own === 'refused' && namesGroupTwice(pattern)) return [];
        return own === theirs ? [] : [{ pattern, text, theirs, own, error: answers[index]?.error }];
      });
      expect(differences.slice(0, 10)).toEqual([]);
    }
    console.info(`regular expressions: ${COUNT} compared, ${matching} of them matching`);
    expect(matching).toBeGreaterThan(COUNT / 5);
  });

  it('write generated values as the same YAML', { timeout: PATIENCE }, () => {
    for (const values of sample(yamlValue, COUNT)) {
      const answers = oracle.ask(values.map((value) => `{"yaml":${encode(value)}}`));
      values.forEach((value, index) =>
        expect({ output: toYaml(value) }, encode(value)).toEqual(answers[index]),
      );
    }
  });

  it('differ from yaml.v3 where its output would not be read back', () => {
    const values = ['\n', '\nfirst line empty', 'a\u2028b', '\ufeffmark', ['  two\n spaces'], { '<<': 1 }];
    const answers = oracle.ask(values.map((value) => `{"yaml":${encode(value)}}`));
    expect(values.map((value, index) => toYaml(value) === answers[index]?.output)).toEqual(
      values.map(() => false),
    );
  });
});

const namesGroupTwice = (pattern: string): boolean => {
  const names = [...pattern.matchAll(/\(\?P?<(\w+)>/g)].map(([, name]) => name);
  return new Set(names).size < names.length;
};

/** All matches with their groups, as UTF-8 offsets, written as the oracle writes them. */
const regexpMatches = (pattern: string, text: string): string => {
  try {
    const found = findAll(compileLinear(pattern), text, Infinity, () => undefined).map((match) =>
      match.map((at) => (at < 0 ? -1 : Buffer.byteLength(text.slice(0, at)))),
    );
    return found.length === 0 ? 'null' : JSON.stringify(found);
  } catch (error) {
    if (error instanceof PatternError) return 'refused';
    throw error;
  }
};
