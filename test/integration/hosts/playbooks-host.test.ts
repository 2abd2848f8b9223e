import { execFileSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installRestrictedDaemon } from '../../agent/apply/host/restricted-daemon.ts';
import type { BuiltPackage } from '../../agent/apply/host/built-package.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { renderBuiltIn } from '../../scheduler/load/templates/render-template.ts';
import { build, KEY, type PlaybooksHost, setup, startPlaybooksHost, tasks } from './playbooks-host/world.ts';

describeWith(['factoryBase', 'ansible'], 'playbooks on a booted host without network', ({ factoryBase }) => {
  let world: PlaybooksHost;
  beforeAll(async () => {
    world = await startPlaybooksHost('playbooks', factoryBase);
  });
  afterAll(() => world?.host.remove());
  const apply: PlaybooksHost['apply'] = (built) => world.apply(built);
  const observe: PlaybooksHost['observe'] = (built) => world.observe(built);
  const sh: PlaybooksHost['sh'] = (script) => world.sh(script);

  const copy = (content: string): string =>
    tasks(`    - name: clock file\n      copy: {dest: /etc/clock.conf, content: "${content}"}\n`);
  const buildTemplate = (): Promise<BuiltPackage> =>
    build(
      setup(
        ', config: true, variables: {greeting: "{{ literally }}"}, siteInputs: [{name: line, schema: {type: string}, variable: line}]',
      ),
      {
        'ansible/site.yml': tasks(
          [
            '    - name: clock file',
            '      template: {src: clock.j2, dest: /etc/clock.conf}',
            '    - name: configuration',
            '      copy: {src: platform-config.sh, dest: /etc/clock.sh}',
            '',
          ].join('\n'),
        ),
        'ansible/templates/clock.j2': '{{ platform_config.ZONE }} {{ greeting }} {{ line }}\n',
      },
      { line: 'L7 {{ 1 + 1 }}' },
    );

  it('runs a new playbook, leaves it alone while nothing differs, and corrects what a person changed', async () => {
    const built = await buildTemplate();
    expect(await apply(built)).toEqual([`created ${KEY}: 2 changed; a second run would change nothing`]);
    expect(await sh('cat /etc/clock.conf /etc/clock.sh')).toBe(
      'Europe/Berlin {{ literally }} L7 {{ 1 + 1 }}\nexport ZONE="Europe/Berlin"',
    );
    expect(await apply(built)).toEqual([]);
    expect(await observe(built)).toEqual([]);

    await sh('echo other > /etc/clock.conf');
    expect(await observe(built)).toEqual(['the playbook setup would change task "clock file" (site.yml:4)']);
    expect(await apply(built)).toEqual([`configured ${KEY}: 1 changed; a second run would change nothing`]);
    expect(await sh('cat /etc/clock.conf')).toContain('Europe/Berlin');
  });

  it('names the task that fails with its file, line, host and message', async () => {
    const failing = tasks(
      '    - name: first\n      copy: {dest: /etc/first, content: "1"}\n    - name: breaks\n      fail: {msg: "no such clock"}\n',
    );
    await expect(apply(await build(setup(), { 'ansible/site.yml': failing }))).rejects.toThrow(
      'the playbook setup: task "breaks" (site.yml:6) failed on localhost: no such clock',
    );
    expect(await sh('cat /etc/first')).toBe('1');
  });

  it('runs another version after one that failed and, on the way back, the former one', async () => {
    expect(await apply(await build(setup(), { 'ansible/site.yml': copy('two') }))).toHaveLength(1);
    expect(await sh('cat /etc/clock.conf')).toBe('two');
    expect(await apply(await buildTemplate())).toHaveLength(1);
    expect(await sh('cat /etc/clock.conf')).toContain('Europe/Berlin');
  });

  it('kills a playbook that hangs with all its children', async () => {
    const hanging = tasks('    - name: hangs\n      command: sleep 98765\n');
    await expect(
      apply(await build(setup(', timeoutSeconds: 15'), { 'ansible/site.yml': hanging })),
    ).rejects.toThrow('did not end within 15 s and was killed: it hung in task "hangs" (site.yml:4)');
    expect(await sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 9876[5]'")).toBe('0');
  });

  it('reports a playbook that changes something on every run once, and not as drift', async () => {
    const restless = tasks('    - name: touch\n      file: {path: /etc/touched, state: touch}\n');
    const built = await build(setup(), { 'ansible/site.yml': restless });
    expect(await apply(built)).toEqual([
      expect.stringContaining('; not idempotent: a second run would change task "touch" (site.yml:4)'),
    ]);
    expect(await observe(built)).toEqual([]);
  });

  it('keeps secrets of no_log tasks and of a vault out of messages, the state and the journal', async () => {
    await using folder = await temporaryDirectory('vault');
    await writeFile(join(folder.path, 'password'), 'vault-pass');
    await writeFile(join(folder.path, 'vars.yml'), 'pin: hidden-4711\n');
    execFileSync('ansible-vault', ['encrypt', '--vault-password-file', 'password', 'vars.yml'], {
      cwd: folder.path,
    });
    await sh('mkdir -p /run/clock; (umask 077; echo vault-pass > /run/clock/vault)');
    const built = await build(
      '  secrets: [{path: /run/clock/vault, set: clock, key: vault}]\n' +
        setup(', vaultPassword: /run/clock/vault'),
      {
        'ansible/site.yml': tasks(
          [
            '    - include_vars: vault.yml',
            '    - name: pin file',
            '      copy: {dest: /etc/pin, content: "{{ pin }}", mode: "0600"}',
            '    - name: shows it',
            '      fail: {msg: "the pin is {{ pin }}"}',
            '',
          ].join('\n'),
        ),
        'ansible/vault.yml': await readFile(join(folder.path, 'vars.yml')),
      },
    );
    // The password is placed by hand: how the agent places secrets is tested elsewhere.
    const document = JSON.parse(
      Buffer.from(built.files['package.json'] ?? '', 'base64').toString(),
    ) as object;
    const files = {
      ...built.files,
      'package.json': Buffer.from(JSON.stringify({ ...document, secrets: [] })).toString('base64'),
    };
    await expect(apply({ ...built, files })).rejects.toThrow(
      'task "shows it" (site.yml:7) failed on localhost: its message is withheld because of no_log or a vault',
    );
    expect(await sh('cat /etc/pin')).toBe('hidden-4711');
    expect(
      await sh("grep -rl 'hidden-471[1]' /var/lib/agent /var/log; journalctl -b | grep -c 'hidden-471[1]'"),
    ).toBe('0');
  });

  it('uses the roles and collections of the package, and no network', async () => {
    await using folder = await temporaryDirectory('role');
    const put = async (path: string, text: string) => {
      await mkdir(dirname(join(folder.path, path)), { recursive: true });
      await writeFile(join(folder.path, path), text);
    };
    await put('clock-role/tasks/main.yml', '- copy: {dest: /etc/of-role, content: role}\n');
    execFileSync('tar', ['-czf', 'role.tar.gz', 'clock-role'], { cwd: folder.path });
    await put(
      'c/galaxy.yml',
      'namespace: factory\nname: clock\nversion: 1.0.0\nreadme: README.md\nauthors: [a]\n',
    );
    await put('c/README.md', 'x');
    await put('c/roles/set/tasks/main.yml', '- copy: {dest: /etc/of-collection, content: collection}\n');
    execFileSync('ansible-galaxy', ['collection', 'build', 'c'], { cwd: folder.path });
    const spec = `${setup()}  roles: [{name: factory.clock, source: role.tar.gz}]\n  collections: [{source: c.tar.gz}]\n`;
    const built = await build(spec, {
      'role.tar.gz': await readFile(join(folder.path, 'role.tar.gz')),
      'c.tar.gz': await readFile(join(folder.path, 'factory-clock-1.0.0.tar.gz')),
      'ansible/site.yml':
        '- hosts: localhost\n  gather_facts: false\n  roles: [factory.clock, factory.clock.set]\n',
    });
    expect(await apply(built)).toEqual([
      expect.stringContaining('2 changed; a second run would change nothing'),
    ]);
    expect(await sh('cat /etc/of-role /etc/of-collection')).toBe('rolecollection');
  });

  it('fails a task that asks for another user where the package does not allow it', async () => {
    const other = tasks(
      '    - name: as nobody\n      become: true\n      become_user: nobody\n      command: id\n',
    );
    await expect(apply(await build(setup(', become: false'), { 'ansible/site.yml': other }))).rejects.toThrow(
      'task "as nobody" (site.yml:4) failed on localhost',
    );
  });

  it("makes a user for each target with its configuration, as Kalypso's sample does, and says that removal undoes nothing", async () => {
    const sample = [
      '- hosts: localhost',
      '  tasks:',
      '    - name: create a user',
      '      ansible.builtin.user: {name: dev-clock}',
      '    - name: cope platform configs',
      '      ansible.builtin.copy:',
      '        src: ./platform-config.sh',
      '        dest: /home/dev-clock/platform-config.sh',
      '        owner: dev-clock',
      '        group: dev-clock',
      '        mode: u+rw,g-wx,o-rwx',
      '',
    ].join('\n');
    const built = await build(setup(', config: true'), { 'ansible/site.yml': sample });
    expect(await apply(built)).toEqual([
      expect.stringContaining('2 changed; a second run would change nothing'),
    ]);
    expect(await sh('stat -c "%U %a" /home/dev-clock/platform-config.sh')).toBe('dev-clock 640');
    expect(await apply(null)).toEqual([
      `skipped ${KEY}: no longer in the package; nothing undoes what it did`,
    ]);
    expect(await sh('id -un dev-clock; ls /var/lib/fleet-ferry 2>&1')).toContain('No such file');
  });

  it("makes a user for each target, and a timer that pulls as that user, by the built-in templates of Kalypso's sample", async () => {
    const { files, held } = renderBuiltIn({
      clusterType: { reconciler: 'ansible-pull', namespaceService: 'ansible-user', configType: 'shell' },
      target: { manifests: { repo: 'https://git.example/shop.git', branch: 'main', path: 'site.yml' } },
      config: { ZONE: 'Europe/Berlin', reconciler: { ownUser: true } },
    });
    expect(held).toEqual([]);
    await sh('mkdir -p /root/shop');
    for (const [path, text] of Object.entries(files))
      await world.host.exec(['/bin/sh', '-c', `cat > /root/shop/${path}`], { input: text });
    const play = (file: string) =>
      sh(
        `cd /root/shop && ansible-playbook -i localhost, ${file} 2>&1 | tee /run/play | sed -n 's/ \\+/ /g; s/.*ok=/ok=/p' | grep . || cat /run/play`,
      );
    expect(await play('namespace.yaml reconciler.yaml')).toContain('changed=7 unreachable=0 failed=0');
    expect(await play('namespace.yaml reconciler.yaml')).toContain('changed=0 unreachable=0 failed=0');
    expect(await sh('stat -c "%U %a" /home/dev-shop-web/platform-config.sh')).toBe('dev-shop-web 640');
    expect(await sh('. /home/dev-shop-web/platform-config.sh; echo $ZONE')).toBe('Europe/Berlin');
    expect(await sh('systemctl is-active ansible-pull-shop-web.timer')).toBe('active');
    expect(await sh('systemctl show -P User ansible-pull-shop-web.service')).toBe('dev-shop-web');
  });

  it('runs by the runner when the restricted daemon applies it', async () => {
    const applyRestricted = await installRestrictedDaemon(world.host);
    const built = await build(setup(), {
      'ansible/site.yml': tasks(
        '    - name: account\n      user: {name: runner-made}\n    - name: file\n      copy: {dest: /etc/clock.conf, content: runner}\n',
      ),
    });
    expect(await applyRestricted({ verb: 'apply', spec: null, built })).toContain(KEY);
    expect(await sh('id -un runner-made; cat /etc/clock.conf')).toBe('runner-made\nrunner');
  });
});
