import { describe, expect, it } from 'vitest';
import { parseStrictJson } from '#bundles/json/strict-json';
import { storedFindings } from '../fuzz/findings.ts';
import { inputsOf, runCase } from '../fuzz/one-case.ts';
import { agreeOnJson } from '../fuzz/plain-json.ts';
import { randomOf } from '../fuzz/random.ts';
import { insist, type Target } from '../fuzz/target.ts';
import { runs } from '../harness/run/long.ts';
import { TARGETS } from '../fuzz/targets.ts';

/** The same parsers and changes as `npm run fuzz`, for a moment; and whatever that ever found. */
const CASES = runs(40, 2);

describe('a reader of untrusted input', () => {
  it.each(TARGETS)(
    'accepts the input or refuses it with a code, for its corpus and mutated inputs: $name',
    async (target) => {
      for (const input of target.corpus) {
        expect(await runCase(target, input)).toMatchObject({ kind: 'answered' });
      }
      const inputs = inputsOf(target, randomOf(7));
      for (let count = 0; count < (target.unitCases ?? CASES); count++) {
        const input = inputs.next();
        const outcome = await runCase(target, input);
        inputs.note(input, outcome);
        if (outcome.kind === 'finding')
          throw new Error(`${outcome.error}\n${input.toString('base64', 0, 3000)}`);
      }
    },
  );

  it.each(storedFindings())(
    'handles an input that once found a bug: $file',
    async ({ target: name, input }) => {
      const target = TARGETS.find((it) => it.name === name);
      expect(target && (await runCase(target, Buffer.from(input, 'base64')))).toMatchObject({
        kind: 'answered',
      });
    },
  );
});

describe('the fuzzer', () => {
  it('generates the same inputs for the same seed, and others for another seed', () => {
    for (const target of TARGETS) {
      const inputs = (seed: number) => {
        const { next } = inputsOf(target, randomOf(seed));
        return Array.from({ length: 3 }, () => next().toString('base64'));
      };
      const made = inputs(3);
      expect(inputs(3)).toEqual(made);
      expect(inputs(4)).not.toEqual(made);
    }
  });

  it('reports a crash, and an input that a check should have refused', async () => {
    const corpus = [Buffer.from('x')];
    const crash: Target = {
      name: 'a',
      corpus,
      mutate: (_, input) => input,
      run: () => (undefined as never)['x'],
    };
    const unsound: Target = { ...crash, run: () => insist(false, 'it was let through') };
    expect(await runCase(crash, Buffer.alloc(0))).toMatchObject({
      error: expect.stringContaining('TypeError'),
    });
    expect(await runCase(unsound, Buffer.alloc(0))).toMatchObject({
      error: expect.stringContaining('let through'),
    });
  });

  it('reports a JSON reader that confuses two keys', () => {
    const text = Buffer.from(String.raw`{"once-in-this-test":1,"\u0061":1}`);
    expect(() => agreeOnJson(text, (bytes) => JSON.parse(bytes.toString()))).toThrow('reads something else');
    expect(() => agreeOnJson(text, (bytes) => parseStrictJson(bytes, { maxBytes: 100 }))).not.toThrow();
  });
});
