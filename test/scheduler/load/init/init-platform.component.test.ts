import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { readAuthorSchema } from '../../../../scheduler/load/init/author-schemas.ts';
import { initPlatform, planPlatform } from '../../../../scheduler/load/init/init-platform.ts';
import { findRoot, sourcesOf } from '../../../../scheduler/load/load-platform.ts';
import { loadPromotion } from '../../../../scheduler/load/platform/load-promotion.ts';
import { createProblems } from '../../../../scheduler/model/problems.ts';
import { validatePlatform } from '../../../../scheduler/views/validate-platform.ts';
import { readTree, temporaryDirectory } from '../../file-tree.ts';

const { signal } = new AbortController();

describe('a new platform repository', () => {
  test('validates without problems or advice in every environment', async () => {
    const directory = await temporaryDirectory();
    await initPlatform(directory, 'acme', signal);
    const { environments, problems, advice } = await validatePlatform({
      platform: directory,
      maps: [],
      cacheDirectory: join(directory, 'cache'),
      env: {},
    });
    expect(environments).toEqual(['dev', 'qa', 'prod']);
    expect(problems).toEqual([]);
    expect(advice).toEqual([]);
  });

  test('asks for evidence at each promotion: all enrolled agents comply, and there is one', async () => {
    const directory = await temporaryDirectory();
    await initPlatform(directory, 'acme', signal);
    const options = { platform: directory, maps: [], cacheDirectory: join(directory, 'cache'), env: {} };
    const sources = sourcesOf(options);
    const problems = createProblems();
    const root = await findRoot(directory, sources, problems);
    const { environments, promotionPolicies } = await loadPromotion(sources, root, problems);
    expect(problems.found).toEqual([]);
    const links = environments.flatMap(({ name, promotedFrom }) =>
      promotedFrom === undefined ? [] : [{ from: promotedFrom, to: name }],
    );
    expect(links).toEqual([
      { from: 'dev', to: 'qa' },
      { from: 'qa', to: 'prod' },
    ]);
    const compliance = { percent: 100, atLeast: 1, of: 'enrolled', require: [] };
    const gates = promotionPolicies.map(({ from, to, compliance: asked }) => ({
      from,
      to,
      compliance: asked,
    }));
    expect(gates).toEqual(links.map((link) => ({ ...link, compliance })));
  });

  test("has the fleet's name, a .gitignore, and a comment at the top of each YAML file", async () => {
    const files = new Map((await planPlatform('acme')).map(({ path, text }) => [path, text]));
    expect(files.get('fleet.yaml')).toContain('name: acme\n');
    expect([...files.values()].join('')).not.toContain('my-fleet');
    expect(files.get('.gitignore')).toContain('/.fleet/');
    for (const [path, text] of files) if (path.endsWith('.yaml')) expect(text, path).toMatch(/^# [A-Z]/);
  });

  test('contains the platform schema for editors, which accepts all its files', async () => {
    const files = await planPlatform('acme');
    const textOf = (path: string): string => files.find((file) => file.path === path)?.text ?? '';
    const fits = new Ajv2020({ strict: false }).compile(
      JSON.parse(textOf('schemas/platform.schema.json')) as object,
    );
    expect(textOf('.vscode/settings.json')).toContain('"./schemas/platform.schema.json"');
    for (const { path, text } of files.filter((file) => /(?<!hello)\.yaml$/.test(file.path))) {
      for (const document of parseAllDocuments(text))
        expect([path, fits(document.toJS())]).toEqual([path, true]);
    }
  });

  test('gives the published schema of each kind out of that of all kinds', async () => {
    const folder = 'docs/schemas/author';
    const names = (await readdir(folder)).map((file) => file.replace('.schema.json', ''));
    expect(names.length).toBeGreaterThan(20);
    for (const name of names)
      expect(await readAuthorSchema(name)).toBe(await readFile(join(folder, `${name}.schema.json`), 'utf8'));
  });

  test('has no schema for an unknown kind: the error suggests the nearest', async () => {
    await expect(readAuthorSchema('cluster-typ')).rejects.toMatchObject({
      code: 'USAGE',
      hint: expect.stringMatching(/^Did you mean cluster-type\? There are cluster-type, /) as string,
    });
  });

  test('can be created beside .git, and again after an interruption', async () => {
    const directory = await temporaryDirectory();
    await mkdir(join(directory, '.git'));
    const files = await initPlatform(directory, 'acme', signal);
    await writeFile(
      join(directory, 'fleet.yaml'),
      files.find(({ path }) => path === 'fleet.yaml')?.text ?? '',
    );
    // What a killed one was writing is not a file of anybody.
    await writeFile(join(directory, '.tmp-0a1b2c3d'), '# half a');
    await initPlatform(directory, 'acme', signal);
    expect((await stat(join(directory, 'apps/hello/host/hello'))).mode & 0o777).toBe(0o755);
  });

  test.for([
    ['notes.txt', 'a stranger'],
    ['fleet.yaml', 'another fleet'],
  ])('is not created over %s', async ([name, text]) => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, name as string), text as string);
    await expect(initPlatform(directory, 'acme', signal)).rejects.toMatchObject({
      code: 'USAGE',
      message: `${directory} has a ${name} already`,
    });
    expect(await readTree(directory)).toEqual({ [name as string]: text });
    expect(await readFile(join(directory, name as string), 'utf8')).toBe(text);
  });
});
