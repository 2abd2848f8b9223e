import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isFleetError } from '../../bundles/errors.ts';
import { compileTemplate } from '../../scheduler/render/compile-template.ts';
import { toYaml } from '../../scheduler/render/to-yaml.ts';
import { CONTEXT, encode, generated, handwritten, yamlValue } from './go-templates/corpus.ts';

/**
 * Our Go templates, functions and YAML against the real ones: text/template of the installed Go, sprig and yaml.v3,
 * byte for byte, on a hand-written corpus and a generated one.
 */

const SEED = 20_261_121;
const SOURCES = new URL('./go-templates', import.meta.url).pathname;

const hasGo = spawnSync('go', ['version']).status === 0;
if (!hasGo)
  console.warn('SKIPPED: Go templates are not compared with the real ones, because there is no `go` here.');

type Answer = { readonly output?: string; readonly error?: string };

let folder = '';

const ask = (requests: readonly string[]): readonly Answer[] => {
  const { stdout, stderr, status } = spawnSync(join(folder, 'oracle'), {
    input: `${requests.join('\n')}\n`,
    maxBuffer: 1 << 28,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the oracle failed: ${stderr}`);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Answer);
};

const ours = (text: string): Answer => {
  try {
    return { output: compileTemplate({ engine: 'go', name: 'case', text, at: { file: 'case' } })(CONTEXT) };
  } catch (error) {
    // Anything but a mistake of the template is a mistake of ours.
    if (isFleetError(error, 'TEMPLATE_SYNTAX') || isFleetError(error, 'TEMPLATE_FAILED'))
      return { error: error.message };
    throw error;
  }
};

/** Where ours does more on purpose: an int64 is good enough for an int, and Labels for a map. */
const EXTENSION = /expected int; got int64|expected map\[string\]interface \{\}; got map\[string\]string/;

/** The templates on which the two differ: one of them renders and the other not, or not the same. */
const differences = (templates: readonly string[]): readonly object[] => {
  const context = encode(CONTEXT);
  const answers = ask(templates.map((text) => `{"template":${JSON.stringify(text)},"context":${context}}`));
  expect(answers).toHaveLength(templates.length);
  return templates.flatMap((text, index) => {
    const theirs = answers[index] ?? {};
    const own = ours(text);
    if (own.output === theirs.output || EXTENSION.test(theirs.error ?? '')) return [];
    return [{ text, theirs, own }];
  });
};

describe.skipIf(!hasGo)('Go templates, compared with the real engine', () => {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'go-templates-'));
    const built = spawnSync('go', ['build', '-o', join(folder, 'oracle'), '.'], {
      cwd: SOURCES,
      encoding: 'utf8',
    });
    if (built.status !== 0) throw new Error(`go build failed: ${built.stderr}`);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('renders every hand-written template alike, or refuses it alike', () => {
    const templates = handwritten();
    expect(templates.length).toBeGreaterThan(200);
    expect(differences(templates)).toEqual([]);
  });

  it('renders a thousand generated templates alike, or refuses them alike', () => {
    expect(differences(generated(1000, SEED))).toEqual([]);
  });

  it('writes a thousand generated values as the same YAML', () => {
    const values = fc.sample(yamlValue, { numRuns: 1000, seed: SEED });
    const answers = ask(values.map((value) => `{"yaml":${encode(value)}}`));
    values.forEach((value, index) =>
      expect({ output: toYaml(value) }, encode(value)).toEqual(answers[index]),
    );
  });

  it('differs where what yaml.v3 writes would not read back', () => {
    const values = ['\n', '\nfirst line empty', 'a\u2028b', '\ufeffmark', ['  two\n spaces'], { '<<': 1 }];
    const answers = ask(values.map((value) => `{"yaml":${encode(value)}}`));
    expect(values.map((value, index) => toYaml(value) === answers[index]?.output)).toEqual(
      values.map(() => false),
    );
  });
});
