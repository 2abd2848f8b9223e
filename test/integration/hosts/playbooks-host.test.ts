import { afterAll, beforeAll, expect, it } from 'vitest';
import { installRestrictedDaemon } from '../../agent/apply/host/restricted-daemon.ts';
import type { BuiltPackage } from '../../agent/apply/host/built-package.ts';
import { describeOnDebiansAndSid } from '../../harness/hosts/describe-on-debians.ts';
import { LONG } from '../../harness/run/long.ts';
import { renderBuiltIn } from '../../scheduler/load/templates/render-template.ts';
import { build, KEY, type PlaybooksHost, setup, startPlaybooksHost, tasks } from './playbooks-host/world.ts';

describeOnDebiansAndSid([], 'playbooks on a booted host without network', ({ base, debian, itOnce }) => {
  let world: PlaybooksHost;
  beforeAll(async () => {
    world = await startPlaybooksHost(`playbooks-${debian}`, base);
  });
  afterAll(() => world?.host.remove());
  const apply: PlaybooksHost['apply'] = (built) => world.apply(built);
  const observe: PlaybooksHost['observe'] = (built) => world.observe(built);
  const sh: PlaybooksHost['sh'] = (script) => world.sh(script);

  const buildTemplate = (): Promise<BuiltPackage> =>
    build(
      setup(
        ', config: true, variables: {greeting: "{{ literally }}", answer: "no"}, siteInputs: [{name: line, schema: {type: string}, variable: line}]',
      ),
      {
        'ansible/site.yml': tasks(
          '    - name: clock file\n      template: {src: clock.j2, dest: /etc/clock.conf}\n    - name: touch\n      file: {path: /etc/touched, state: touch}\n',
        ),
        'ansible/templates/clock.j2': '{{ platform_config.ZONE }} {{ greeting }} {{ line }} {{ answer }}\n',
      },
      { line: 'L7 {{ 1 + 1 }}' },
    );

  it('run once, name a task that always changes something, which is no drift, and correct an edited file', async () => {
    const built = await buildTemplate();
    const restless = 'not idempotent: a second run would change task "touch" (site.yml:6)';
    expect(await apply(built)).toEqual([`created ${KEY}: 2 changed; ${restless}`]);
    expect(await sh('cat /etc/clock.conf')).toBe('Europe/Berlin {{ literally }} L7 {{ 1 + 1 }} no');
    expect(await apply(built)).toEqual([]);
    expect(await observe(built)).toEqual([]);

    await sh('echo other > /etc/clock.conf');
    expect(await apply(built)).toEqual([`configured ${KEY}: 2 changed; ${restless}`]);
    expect(await sh('cat /etc/clock.conf')).toContain('Europe/Berlin');
  });

  it('name the failing task with file, line, host and message, and run the former playbook in the rollback', async () => {
    const failing = tasks(
      '    - name: first\n      shell: echo 1 > /etc/clock.conf\n    - name: breaks\n      fail: {msg: "no such clock"}\n',
    );
    await expect(apply(await build(setup(), { 'ansible/site.yml': failing }))).rejects.toThrow(
      'the playbook setup: task "breaks" (site.yml:6) failed on localhost: no such clock',
    );
    expect(await sh('cat /etc/clock.conf')).toBe('1');
    // After a failure no playbook counts as applied, so the former one runs, whatever its check says.
    expect(await world.plan(await buildTemplate())).toEqual([
      `configured ${KEY}: differs from what ran last; its check would change task "clock file" (site.yml:4), task "touch" (site.yml:6)`,
    ]);
  });

  it('are killed with all their children when they hang', async () => {
    const hanging = tasks('    - name: hangs\n      command: sleep 98765\n');
    await expect(
      apply(await build(setup(', timeoutSeconds: 15'), { 'ansible/site.yml': hanging })),
    ).rejects.toThrow('did not end within 15 s and was killed: it hung in task "hangs" (site.yml:4)');
    expect(await sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 9876[5]'")).toBe('0');
  });

  it('run the notified handlers of a killed or failed run, and name what is not repeated', async () => {
    const site = `${tasks(
      `    - name: configuration
      copy: {content: "port {{ 7000 + 2 }}\\n", dest: /etc/lines.conf}
      notify: [restart lines, told]
      register: configuration
    - name: waits
      shell: timeout 100 sh -c "while [ ! -e /run/go ]; do sleep 0.1; done"
      changed_when: false
    - name: only with the configuration
      command: touch /etc/lines.once
      when: configuration is changed
`,
    )}  handlers:
    - name: "restart {{ 'lines' }}"
      command: test -e /run/may-restart
    - name: tell
      listen: told
      shell: cat /etc/lines.conf >> /run/told
`;
    const built = await build(setup(), { 'ansible/site.yml': site });
    const first = apply(built);
    // Ansible is killed, and what it ran ends.
    const killed = sh(
      `timeout 60 sh -c 'until grep -q 7002 /etc/lines.conf; do sleep 0.1; done' 2> /dev/null; sleep 1
       for it in /proc/[0-9]*; do case "$(tr '\\0' ' ' < $it/cmdline)" in /usr/bin/python3\\ /usr/bin/ansible-playbook*) kill -9 \${it#/proc/};; esac; done 2> /dev/null
       touch /run/go`,
    );
    await expect(first).rejects.toThrow('ansible-playbook ended after task "waits"');
    await killed;
    await expect(apply(built)).rejects.toThrow(
      /task "restart (?:lines|\{\{ 'lines' \}\})" .* failed on localhost/,
    );
    expect(await sh('cat /run/told')).toBe('');
    await sh('touch /run/may-restart');
    const [said = ''] = await apply(built);
    expect(said).toMatch(
      /handlers that the run before, which failed, had notified ran now: task "restart [^,]*, task "tell" /,
    );
    expect(said).toContain('not repeated: task "only with the configuration" (site.yml:11)');
    expect(await sh('cat /run/told')).toBe('port 7002');
    expect(await sh('ls /var/lib/agent/playbooks')).toBe('');
  });

  it('do not run again when their check fails, unless a task before the failure differs', async () => {
    const built = await build(setup(), {
      'ansible/site.yml': tasks(`    - name: port
      copy: {content: "1", dest: /etc/checked.port}
    - name: count
      shell: echo run >> /run/runs
      changed_when: false
    - name: ask
      command: echo '["lo"]'
      register: asked
      changed_when: false
    - name: note
      copy: {content: "{{ (asked.stdout | from_json)[0] }}", dest: /etc/checked.note}
`),
    });
    const [said = ''] = await apply(built);
    expect(said).toMatch(
      /: 2 changed; it cannot be checked: task "note" \(site\.yml:13\) failed on localhost: /,
    );
    expect(await apply(built)).toEqual([]);
    expect(await observe(built)).toEqual([
      expect.stringMatching(/^the playbook setup cannot be checked: task "note" \(site\.yml:13\) failed/),
    ]);
    await sh('echo 2 > /etc/checked.port');
    expect(await apply(built)).toEqual([expect.stringContaining('configured')]);
    expect(await sh('cat /run/runs; cat /etc/checked.port')).toBe('run\nrun\n1');
  });

  it('name the items of a loop as written, and the reason of the first failing one', async () => {
    const failing = tasks(
      '    - name: "line {{ item }}"\n      command: sh -c "echo no {{ item }} >&2; exit {{ item }}"\n      loop: [0, 3]\n',
    );
    await expect(apply(await build(setup(), { 'ansible/site.yml': failing }))).rejects.toThrow(
      /task "line \{\{ item \}\}" \(site\.yml:4\) failed on localhost: /,
    );
  });

  it('fail a task that becomes another user when the package does not allow it', async () => {
    const other = tasks(
      '    - name: as nobody\n      become: true\n      become_user: nobody\n      command: id\n',
    );
    await expect(apply(await build(setup(', become: false'), { 'ansible/site.yml': other }))).rejects.toThrow(
      'task "as nobody" (site.yml:4) failed on localhost',
    );
  });

  /** The playbooks of the built-in templates of Kalypso's sample. */
  const builtIn = (): Readonly<Record<string, string>> => {
    const { files, held } = renderBuiltIn({
      clusterType: { reconciler: 'ansible-pull', namespaceService: 'ansible-user', configType: 'shell' },
      target: { manifests: { repo: 'https://git.example/shop.git', branch: 'main', path: 'site.yml' } },
      config: { ZONE: 'Europe/Berlin', reconciler: { ownUser: true } },
    });
    expect(held).toEqual([]);
    return files;
  };

  itOnce(
    "create a timer that pulls as the user of the target, by the built-in template of Kalypso's sample",
    async () => {
      await sh(
        'mkdir /etc/ansible; printf "[defaults]\\ninternal_poll_interval = 0.01\\n" > /etc/ansible/ansible.cfg',
      );
      await world.host.look(['tee', '/root/reconciler.yaml'], { input: builtIn()['reconciler.yaml'] ?? '' });
      const play = () =>
        sh(
          `ansible-playbook -i localhost, /root/reconciler.yaml 2>&1 | tee /run/play | sed -n 's/ \\+/ /g; s/.*ok=/ok=/p' | grep . || cat /run/play`,
        );
      expect(await play()).toContain('changed=5 unreachable=0 failed=0');
      if (LONG) expect(await play()).toContain('changed=0 unreachable=0 failed=0');
      expect(await sh('systemctl is-active ansible-pull-shop-web.timer')).toBe('active');
      expect(await sh('systemctl show -P User ansible-pull-shop-web.service')).toBe('dev-shop-web');
    },
  );

  it("create a user for each target by the built-in template of Kalypso's sample, through the runner, and state that a removal undoes nothing", async () => {
    const built = await build(setup(', config: true'), {
      'ansible/site.yml': builtIn()['namespace.yaml'] ?? '',
    });
    const applyRestricted = await installRestrictedDaemon(world.host);
    expect(await applyRestricted({ verb: 'apply', spec: null, built })).toContain(
      `${KEY}: 2 changed; a second run would change nothing`,
    );
    expect(await sh('stat -c "%U %a" /home/dev-shop-web/platform-config.sh')).toBe('dev-shop-web 640');
    expect(await sh('. /home/dev-shop-web/platform-config.sh; echo $ZONE')).toBe('Europe/Berlin');
    expect(await apply(null)).toEqual([
      `skipped ${KEY}: no longer in the package; nothing undoes what it did`,
    ]);
    expect(await sh('id -un dev-shop-web; ls /var/lib/fleet-ferry 2>&1')).toContain('No such file');
  });
});
