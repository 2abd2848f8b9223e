import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import { assembleHost } from '../../../../scheduler/assemble/bundle/host/assemble-host.ts';
import { clusterType, renderedFiles, renderedPackage, target } from '../../model-objects.ts';
import { tar } from '../content/make-deb.ts';
import { noAccess } from '../content/no-access.ts';

const HEAD = 'apiVersion: fleet-ferry/v1alpha1\nkind: HostPackage\nmetadata: {name: clock}\nspec:\n';
const PLAYBOOK = Buffer.from('- hosts: localhost\n  tasks: [{debug: {msg: "{{ line }}"}}]\n');
const ROLE = gzipSync(tar([['press/defaults/main.yml', 'press_speed: 3\n']]));
const FOLDER = '/var/lib/fleet-ferry/ansible/clock-host/playbooks/setup';

const assemble = async (
  spec: string,
  { template, registration }: { readonly template?: string; readonly registration?: string } = {},
) =>
  await assembleHost(
    renderedPackage(
      clusterType('press', { target: 'host', configType: 'shell' }),
      target('clock/host', {
        at: { file: 'workload.yaml', line: 7, column: 7 },
        ...(registration !== undefined && { registration }),
      }),
      {
        files: renderedFiles({
          'platform-config.sh': 'export A="1"\n',
          ...(template !== undefined && { 'namespace.yaml': HEAD + template }),
        }),
        configData: { A: 1, reconciler: { secret: 'not for playbooks' } },
      },
    ),
    {
      shown: 'apps/clock/',
      files: new Map([
        ['package.yaml', Buffer.from(HEAD + spec)],
        ['roles/press.tar.gz', ROLE],
        ['ansible/site.yml', PLAYBOOK],
        ['ansible/templates/a.j2', Buffer.from('{{ a }}')],
        ['other/b', Buffer.from('b')],
      ]),
    },
    noAccess({}),
  );

const specOf = ({ files }: Awaited<ReturnType<typeof assemble>>) =>
  parseHostPackage(files.find(({ path }) => path === 'package.json')?.bytes as Buffer);

describe('a playbook of a host package', () => {
  test('is packed with its folder, configuration and variables, as critical', async () => {
    const made = await assemble(
      '  playbooks: [{name: setup, source: ansible/site.yml, config: true, variables: {b: two}, siteInputs: [{name: line, schema: {type: string}, variable: line}]}]\n',
    );
    const files = ['site.yml', 'templates/a.j2', 'platform-config.sh', 'fleet-variables.json'];
    expect(specOf(made)).toMatchObject({
      playbooks: [
        {
          name: 'setup',
          folder: FOLDER,
          playbook: 'site.yml',
          files: files.map((path) => `${FOLDER}/${path}`),
          variables: `${FOLDER}/fleet-variables.json`,
          become: true,
          order: 'before-units',
          timeoutSeconds: 600,
          checkSeconds: 3600,
        },
      ],
      critical: ['playbooks'],
    });
    const variables = made.files.find(({ path }) => path.endsWith('fleet-variables.json'))?.bytes.toString();
    expect(JSON.parse(variables ?? '')).toEqual({ b: 'two', platform_config: { A: 1 } });
    expect(made.siteInputs).toMatchObject([
      { input: 'line', file: `${FOLDER}/fleet-variables.json`, pointer: '/line' },
    ]);
  });

  test.each([
    ['source: site.yml', 'is not a file in a folder of its own', 6],
    ['source: ansible/none.yml', 'there is no file ansible/none.yml in apps/clock/', 6],
    ['source: ansible/site.yml, content: x', 'either source or content says what the playbook setup is', 6],
    ['content: x, variables: {a-b: 1}', '"a-b" is not a variable of Ansible', 6],
    ['content: x, config: true, variables: {platform_config: 1}', 'has platform_config twice', 6],
    ['content: x, vaultPassword: /run/none', 'which is not under secrets', 6],
    ['content: x, timeoutSeconds: 0', 'must be from 1 to 86400, not 0', 6],
    [
      'content: "- {hosts: all, tasks: [{debug: {}, when: b}]}", variables: {b: "no"}',
      'asks whether b is true',
      6,
    ],
    [
      'content: "- {hosts: all, tasks: [{debug: {}, when: c}]}", siteInputs: [{name: c, schema: {type: string}, variable: c}]',
      'asks whether c is true',
      6,
    ],
  ])('with %s is refused with its position', async (fields, message, line) => {
    await expect(assemble(`  playbooks:\n    - {name: setup, ${fields}}\n`)).rejects.toMatchObject({
      message: expect.stringContaining(message) as string,
      at: { file: 'apps/clock/package.yaml', line },
    });
  });

  test("of a registered application needs the grant of root; a template's playbook does not", async () => {
    const playbook = '  playbooks:\n    - {name: setup, content: "- hosts: localhost"}\n';
    await expect(assemble(playbook, { registration: 'clock' })).rejects.toMatchObject({
      code: 'OUT_OF_BOUNDS',
      message: expect.stringContaining('the playbook setup runs as root') as string,
      at: { file: 'apps/clock/package.yaml', line: 6 },
    });
    const made = await assemble('  files: []\n', { template: playbook, registration: 'clock' });
    expect(specOf(made).playbooks).toHaveLength(1);
    expect(made.bounds?.platform).toContainEqual(expect.stringMatching(/^playbook:sha256:/));
  });

  test('is refused with a role archive that the agent could not unpack', async () => {
    const spec =
      '  playbooks: [{name: setup, source: ansible/site.yml}]\n  roles:\n  - {name: user, source: other/b}\n';
    await expect(assemble(spec)).rejects.toMatchObject({
      code: 'CONTENT_INVALID',
      message: 'other/b is not a usable Ansible role: it is not a gzip archive, or a damaged one',
      at: { file: 'apps/clock/package.yaml', line: 7 },
    });
  });

  test('of a template gets no roles of the application', async () => {
    const playbook = '  playbooks:\n    - {name: setup, content: "- hosts: localhost"}\n';
    const made = await assemble('  roles: [{name: user, source: other/b}]\n', { template: playbook });
    expect(specOf(made).playbooks).toMatchObject([{ roles: [], collections: [] }]);
  });

  const ofSite = (variable: string, more = '') =>
    `  playbooks:\n    - name: setup\n      source: ansible/site.yml\n${more}      siteInputs:\n        - {name: line, schema: {type: string}, variable: ${variable}}\n  roles: [{name: press, source: roles/press.tar.gz}]\n`;

  test.each([
    ['its tasks', 'line', ''],
    ['its templates', 'a', ''],
    ['a role', 'press_speed', ''],
    ['its variables', 'put_together', '      variables: {put_together: ""}\n'],
  ])('accepts a site value for a variable that is used in %s', async (_, variable, more) => {
    const made = await assemble(ofSite(variable, more));
    expect(made.siteInputs).toMatchObject([{ input: 'line', pointer: `/${variable}` }]);
  });

  test.each([
    ['lin', 'Did you mean line? A variable whose name'],
    ['press_sped', 'Did you mean press_speed? A variable whose name'],
    ['printer', 'A variable whose name the playbook puts together belongs under variables, with some value'],
  ])('refuses a site value for the unused variable %s', async (variable, hint) => {
    await expect(assemble(ofSite(variable))).rejects.toMatchObject({
      code: 'REFERENCE_MISSING',
      message: `site input line goes to the variable ${variable}, which nothing in the playbook setup names`,
      hint: expect.stringContaining(hint) as string,
      at: { file: 'apps/clock/package.yaml', line: 9 },
    });
  });
});
