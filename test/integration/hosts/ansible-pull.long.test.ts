import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FactoryHost } from '../../harness/hosts/factory-host.ts';
import { startFactoryHost } from '../../harness/hosts/factory-host.ts';
import { describeOnDebians } from '../../harness/hosts/describe-on-debians.ts';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { findProgram } from '../../harness/run/find-program.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { renderBuiltIn } from '../../scheduler/load/templates/render-template.ts';

const SERVICE = 'ansible-pull-shop-web.service';

/** A playbook of the application: one file in the home of its user. */
const site = (text: string, more = ''): string => `- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: settings
      ansible.builtin.copy:
        dest: "{{ lookup('env', 'HOME') }}/settings"
        content: "${text} {{ platform_config.ZONE }}\\n"
${more}`;

describeOnDebians([], 'ansible-pull of a host', ({ base, debian }) => {
  let host: FactoryHost;
  let served: TemporaryDirectory;
  const stack = new AsyncDisposableStack();
  const sh = (script: string): Promise<string> => host.sh(script);
  const commit = async (playbook: string): Promise<void> => {
    await writeFiles(join(served.path, 'shop'), { 'site.yml': playbook });
    await commitFolder(join(served.path, 'shop.git'), 'main', join(served.path, 'shop'));
  };

  beforeAll(async () => {
    served = stack.use(await temporaryDirectory('pulled'));
    await writeFiles(join(served.path, 'shop'), { 'site.yml': site('one') });
    await makeGitRepository(join(served.path, 'shop.git'), { main: join(served.path, 'shop') });
    // Hosts have no git of their own.
    const git = findProgram('git') ?? 'git';
    const parts = (await runOrFail([git, '--exec-path'])).stdout.trim();
    host = await startFactoryHost(`ansible-pull-${debian}`, {
      base,
      binds: [
        { from: git, to: '/usr/bin/git', readOnly: true },
        { from: parts, to: parts, readOnly: true },
        { from: served.path, to: '/srv/git', readOnly: true },
      ],
    });
    stack.defer(() => host.remove());
    const daemon = 'git daemon --export-all --base-path=/srv/git --listen=127.0.0.1 --reuseaddr';
    await sh(
      `systemd-run --unit=git-server --setenv=GIT_CONFIG_COUNT=1 --setenv=GIT_CONFIG_KEY_0=safe.directory --setenv='GIT_CONFIG_VALUE_0=*' ${daemon}`,
    );
  }, 200_000);
  afterAll(() => stack.disposeAsync());

  it('runs the playbook of the repository as the user of the target, corrects, follows, and fails in the journal', async () => {
    const { files, held } = renderBuiltIn({
      clusterType: { reconciler: 'ansible-pull', namespaceService: 'ansible-user', configType: 'shell' },
      target: { manifests: { repo: 'git://127.0.0.1/shop.git', branch: 'main', path: 'site.yml' } },
      config: { ZONE: 'Europe/Berlin', reconciler: { ownUser: true } },
    });
    expect(held).toEqual([]);
    for (const [name, text] of Object.entries(files))
      await host.look(['tee', `/root/${name}`], { input: text });
    await sh('cd /root && ansible-playbook namespace.yaml && ansible-playbook reconciler.yaml');
    expect(await sh(`systemctl is-active ${SERVICE.replace('service', 'timer')}`)).toBe('active');
    const settings = '/home/dev-shop-web/settings';
    await sh(`systemctl start ${SERVICE}`);
    expect(await sh(`cat ${settings}`)).toBe('one Europe/Berlin');
    expect(await sh(`stat -c %U ${settings} /var/lib/ansible-pull/shop-web`)).toBe(
      'dev-shop-web\ndev-shop-web',
    );

    await sh(`echo by hand > ${settings}; systemctl start ${SERVICE}`);
    expect(await sh(`cat ${settings}`)).toBe('one Europe/Berlin');
    await sh(`rm ${settings}; systemctl start ${SERVICE}`);
    expect(await sh(`cat ${settings}`)).toBe('one Europe/Berlin');

    await commit(site('two'));
    await sh(`systemctl start ${SERVICE}`);
    expect(await sh(`cat ${settings}`)).toBe('two Europe/Berlin');

    await commit(site('two', '    - name: breaks\n      ansible.builtin.fail: {msg: no such shop}\n'));
    expect(await sh(`systemctl start ${SERVICE} 2>&1 || systemctl is-failed ${SERVICE}`)).toContain('failed');
    expect(await sh(`journalctl --unit ${SERVICE}`)).toContain('no such shop');
    // What left the repository stays.
    await commit('- hosts: localhost\n  gather_facts: false\n  tasks: []\n');
    await sh(`systemctl start ${SERVICE}`);
    expect(await sh(`cat ${settings}`)).toBe('two Europe/Berlin');
  }, 300_000);
});
