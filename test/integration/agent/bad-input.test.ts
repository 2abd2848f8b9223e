import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { formatError } from '../../../bundles/errors.ts';
import { validatePlatform } from '../../../scheduler/views/validate-platform.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { fleetPlatform, ours } from '../../scheduler/fleet-platform.ts';

/**
 * Hostile input. `validate` refuses each file by an error code, in seconds, at its file and line, and judges the other files as before. Input that
 * exploits Git or the file system lies in real repositories.
 */

const git = async (folder: string, ...words: readonly string[]): Promise<void> => {
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];
  await runOrFail(['git', '-C', folder, ...identity, '-c', 'protocol.file.allow=always', ...words]);
};

const commit = async (folder: string): Promise<void> => {
  await git(folder, 'init', '--quiet', '--initial-branch=main', '.');
  await git(folder, 'add', '--all', '--force', '.');
  await git(folder, 'commit', '--quiet', '--message=Files');
};

/** The small platform and its application beside it, with these files added or changed. */
const filesOf = (
  shop: string,
  files: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => ({
  ...fleetPlatform(),
  'platform/base/shop.yaml': ours(
    'WorkloadRegistration',
    'shop',
    `spec:\n  workspace: sales\n  workload: {repo: ${JSON.stringify(shop)}, branch: main, path: deploy}\n`,
  ),
  // Only the host takes the application's files, which are for a host.
  'platform/base/edge.yaml': ours('ClusterType', 'edge', '  labels: {region: eu}\nspec: {target: host}\n'),
  ...files,
});

const judge = async (folder: string, platform: string): Promise<readonly string[]> => {
  const { problems } = await validatePlatform({
    platform,
    maps: [],
    cacheDirectory: join(folder, 'cache'),
    env: process.env,
  });
  return problems.map((one) => formatError(one).replaceAll(folder, ''));
};

/** What a file says is judged in the same way wherever it lies: here in plain folders, which take no process of Git. */
const problemsInFolders = async (files: Readonly<Record<string, string>>): Promise<readonly string[]> => {
  await using folder = await temporaryDirectory('bad');
  await writeFiles(folder.path, filesOf('../apps/shop', files));
  return await judge(folder.path, join(folder.path, 'platform'));
};

type Prepare = (folders: { readonly platform: string; readonly shop: string }) => Promise<void>;

/** The same in repositories of Git, with something bad in one of them. */
const problemsOf = async (
  files: Readonly<Record<string, string>>,
  prepare: Prepare = async () => undefined,
): Promise<readonly string[]> => {
  await using folder = await temporaryDirectory('bad');
  const platform = join(folder.path, 'platform');
  const shop = join(folder.path, 'apps/shop');
  await writeFiles(folder.path, filesOf(`file://${shop}`, files));
  await prepare({ platform, shop });
  await commit(shop);
  await commit(platform);
  return await judge(folder.path, `file://${platform}#main`);
};

const base = (text: string) => ({ 'platform/base/bad.yaml': text });
const config = (values: string) => base(ours('Config', 'bad', `spec:\n  values:\n${values}`));
const levels = (count: number): string =>
  Array.from(
    { length: count },
    (_, at) => `    l${at + 1}: &l${at + 1} [${Array(10).fill(`*l${at}`).join(', ')}]\n`,
  ).join('');

describe('validate with a bad input file', { timeout: 60_000 }, () => {
  test('finds no problem in the example platform', async () => {
    expect(await problemsOf({})).toEqual([]);
  });

  test.each([
    [
      'aliases that blow up',
      config(`    l0: &l0 [a]\n${levels(9)}`),
      /bad.yaml:\S+ FIELD_INVALID: Config bad: spec.values\S* has more than 100000 values/,
    ],
    [
      'brackets without end',
      base('['.repeat(500_000)),
      /bad.yaml: YAML_SYNTAX: this YAML nests too deep to be read: more than 200 levels/,
    ],
    [
      'lists in lists on one line',
      base(`${'- '.repeat(100_000)}x`),
      /bad.yaml: YAML_SYNTAX: this YAML nests too deep/,
    ],
    [
      'indentation without end',
      base(Array.from({ length: 1500 }, (_, at) => `${' '.repeat(at)}a:`).join('\n')),
      /bad.yaml: YAML_SYNTAX: this YAML nests too deep/,
    ],
    [
      'a key that is there twice',
      config('    A: 1\n    A: 2\n'),
      /bad.yaml:8:5: YAML_SYNTAX: the key A is there twice in one mapping/,
    ],
    ['a tab', base('metadata:\n\tname: x\n'), /bad.yaml:2:1: YAML_SYNTAX: .*the line is indented with a tab/],
    [
      'a schema that points to the network',
      base(ours('ConfigSchema', 's', 'spec:\n  schema: {$ref: "https://example.com/s.json"}\n')),
      /SCHEMA_INVALID: .*refers to https:\/\/example.com\/s.json, which is not in it, and nothing is fetched/,
    ],
    [
      'a schema that points to a file',
      base(ours('ConfigSchema', 's', 'spec:\n  schema: {$ref: "file:///etc/passwd"}\n')),
      /SCHEMA_INVALID: .*refers to file:\/\/\/etc\/passwd/,
    ],
    [
      'a pattern that would not end',
      {
        ...base(ours('ConfigSchema', 's', 'spec:\n  schema: {properties: {T: {pattern: "^(?=a)(a+)+$"}}}\n')),
        'platform/base/t.yaml': ours('Config', 't', `spec:\n  values: {T: ${'a'.repeat(4000)}!}\n`),
      },
      /SCHEMA_INVALID: ConfigSchema s: .*it has look-around/,
    ],
  ] as const)('names %s in a few problems', async (_, files, says) => {
    const start = performance.now();
    const problems = await problemsInFolders(files);
    expect(problems.join('\n')).toMatch(says);
    expect(problems.length).toBeLessThan(5);
    expect(performance.now() - start).toBeLessThan(30_000);
  });

  test('holds only the assignment of an endless template', async () => {
    const problems = await problemsOf({
      'platform/base/loop.yaml': ours(
        'Template',
        'loop',
        `spec:\n  type: config\n  engine: go\n  manifests:\n    - |\n      {{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}\n`,
      ),
      'platform/base/press.yaml': ours('ClusterType', 'press', 'spec: {target: host, configType: loop}\n'),
    });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/loop.yaml:10:\d+: TEMPLATE_LIMIT: /);
  });

  test('refuses a file that is not UTF-8 as YAML_SYNTAX, and accepts a byte order mark and CRLF', async () => {
    const write =
      (bytes: Buffer): Prepare =>
      ({ platform }) =>
        writeFile(join(platform, 'base/bad.yaml'), bytes);
    const text = ours('Config', 'bad', 'spec:\n  values: {A: é}\n');
    expect((await problemsOf({}, write(Buffer.from(text, 'latin1')))).join()).toMatch(
      /bad.yaml: YAML_SYNTAX: .*not text in UTF-8/,
    );
    // A byte order mark and line ends of another system are no mistake.
    expect(await problemsOf({}, write(Buffer.from(`\ufeff${text.replaceAll('\n', '\r\n')}`)))).toEqual([]);
  });

  test('refuses a file of 100 MB as TOO_LARGE', async () => {
    const told = problemsOf({}, async ({ platform }) => {
      const file = join(platform, 'base/bad.yaml');
      await writeFile(file, '# ');
      await truncate(file, 100 << 20);
    });
    await expect(told).rejects.toMatchObject({
      code: 'TOO_LARGE',
      at: { file: expect.stringMatching(/platform\/base\/bad.yaml$/) },
    });
  });

  test('does not follow links out of the repository, of a file or a folder', async () => {
    const problems = await problemsOf({}, async ({ platform, shop }) => {
      await symlink('/etc/passwd', join(platform, 'base/passwd.yaml'));
      await symlink('/etc', join(shop, 'deploy/etc'));
    });
    expect(problems).toEqual([]);
    const led = await problemsOf(
      {
        'apps/shop/deploy/shop.yaml': ours(
          'Workload',
          'shop',
          'spec:\n  deploymentTargets:\n    - {name: web, environment: qa, manifests: {path: out}}\n',
        ),
      },
      ({ shop }) => symlink('/etc', join(shop, 'out')),
    );
    expect(led.join('\n')).toMatch(/there is no path out|leads out/);
  });

  test.each(['../../etc', '/../..', 'a/../../..'])(
    'refuses a path out of the repository: %s',
    async (path) => {
      const problems = await problemsOf({
        'apps/shop/deploy/shop.yaml': ours(
          'Workload',
          'shop',
          `spec:\n  deploymentTargets:\n    - {name: web, environment: qa, manifests: {path: "${path}"}}\n`,
        ),
      });
      expect(problems.join('\n')).toMatch(/leads out of its repository|there is no path/);
    },
  );

  test.each(['--upload-pack=touch /tmp/x', 'ext::sh -c true', '-oProxyCommand=true'])(
    'executes nothing for a repository named %s',
    async (repo) => {
      const problems = await problemsOf({
        'platform/base/shop.yaml': ours(
          'WorkloadRegistration',
          'shop',
          `spec:\n  workspace: sales\n  workload: {repo: "${repo}", branch: main, path: deploy}\n`,
        ),
      });
      expect(problems).toHaveLength(1);
      expect(problems[0]).toMatch(
        /base\/shop.yaml:\S+ (?:SOURCE_UNREACHABLE|SOURCE_MISSING|FIELD_INVALID|NAME_INVALID): /,
      );
    },
  );

  test('ignores a submodule', async () => {
    const problems = await problemsOf({}, async ({ shop }) => {
      const modules = `[submodule "--upload-pack=x"]\n\tpath = deploy/sub\n\turl = file:///etc\n`;
      await writeFile(join(shop, '.gitmodules'), modules);
      const sub = join(shop, 'deploy/sub');
      await mkdir(sub);
      await writeFile(join(sub, 'x.yaml'), 'a: 1\n');
      await commit(sub);
    });
    expect(problems).toEqual([]);
  });

  test('reports a path with a line end in one line', async () => {
    const problems = await problemsOf({ 'platform/base/two\nlines.yaml': 'a: [1\n' });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^[^\n]*base\/two lines\.yaml[^\n]*YAML_SYNTAX[^\n]*$/);
  });
});
