import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { withPythonOf } from '../../harness/neighbours/python-of.ts';
import { describeOnVersions } from '../../harness/run/describe-on-versions.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { findProgram } from '../../harness/run/find-program.ts';
import { runCommand } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { reconciler } from '../../scheduler/load/templates/render-reconciler.ts';

describeWith(['zarfSchema'], "Zarf's schema", ({ zarfSchema }) => {
  it('accepts a package of the zarf template, and refuses an unknown field', async () => {
    const schema = JSON.parse(await readFile(zarfSchema, 'utf8')) as { readonly $schema: string };
    const options = { strict: false, allErrors: true };
    const ajv = schema.$schema.includes('2020-12') ? new Ajv2020(options) : new Ajv(options);
    const isPackage = ajv.compile(schema);
    for (const settings of ['all', 'needed'] as const) {
      isPackage(parse(reconciler('zarf', settings)));
      expect(isPackage.errors ?? []).toEqual([]);
    }
    const wrong = parse(reconciler('zarf')) as { components: { more?: string }[] };
    wrong.components[0]!.more = 'x';
    expect(isPackage(wrong)).toBe(false);
  });
});

describeOnVersions('ansible', [], 'ansible-playbook', ({ ansible }) => {
  it.each(['ansible-pull', 'ansible-local'])('--syntax-check accepts %s', async (name) => {
    await using folder = await temporaryDirectory('playbook');
    await writePlaybooks(folder.path, name);
    const words = [ansible, '--syntax-check', '-i', 'localhost,', 'reconciler.yaml'];
    const { code, stderr } = await runCommand(words, { cwd: folder.path });
    expect([code, stderr]).toEqual([0, '']);
  });

  it('runs the playbook of ansible-local, with the types of its configuration', async () => {
    await using folder = await temporaryDirectory('playbook');
    await writePlaybooks(folder.path, 'ansible-local');
    const words = [ansible, '-i', 'localhost,', '-c', 'local', 'reconciler.yaml'];
    const { code } = await runCommand(words, { cwd: folder.path, env: withPythonOf(ansible) });
    expect(code).toBe(0);
    const seen = JSON.parse(await readFile(join(folder.path, 'seen.json'), 'utf8')) as unknown;
    expect(seen).toEqual({ LOG: "it's {{ here }}", PORT: 8080, DEEP: { list: [1, 'x'] } });
  });
});

const writePlaybooks = async (folder: string, name: string): Promise<void> => {
  const yaml = reconciler(name, 'all', { LOG: "it's {{ here }}", PORT: 8080, DEEP: { list: [1, 'x'] } });
  await writeFile(join(folder, 'reconciler.yaml'), yaml.replace('manifests/site.yml', 'site.yml'));
  await writeFile(
    join(folder, 'site.yml'),
    `- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.copy:
        dest: '{{ playbook_dir }}/seen.json'
        content: '{{ platform_config | to_json }}'
`,
  );
};

const analyze = findProgram('systemd-analyze');
describe.skipIf(analyze === undefined)('systemd-analyze verify', () => {
  it('accepts the units of ansible-pull', async () => {
    await using folder = await temporaryDirectory('units');
    const [play] = parse(reconciler('ansible-pull')) as {
      readonly tasks: readonly Record<string, { readonly dest?: string; readonly content?: string }>[];
    }[];
    const copies = (play?.tasks ?? []).flatMap((task) => task['ansible.builtin.copy'] ?? []);
    const units = copies.filter(({ dest }) => dest?.startsWith('/etc/systemd/system/'));
    expect(units).toHaveLength(2);
    const paths: string[] = [];
    for (const { dest = '', content = '' } of units) {
      const path = join(folder.path, dest.slice(dest.lastIndexOf('/') + 1));
      // Whether ansible is here is not what is asked.
      await writeFile(path, content.replace('/usr/bin/ansible-pull', '/bin/true'));
      paths.push(path);
    }
    const { code, stderr } = await runCommand(['systemd-analyze', 'verify', '--man=no', ...paths]);
    expect([code, stderr.split('\n').filter((line) => line.includes('ansible-pull-'))]).toEqual([0, []]);
  });
});
