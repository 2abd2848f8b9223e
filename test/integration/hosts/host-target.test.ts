import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CheckResult, Drift } from '../../../agent/model/target.ts';
import type { HostUnit } from '../../../bundles/formats/bundle/host-package.ts';
import { askOnHost, DAEMON_BINDS } from '../../agent/apply/host/restricted-daemon.ts';
import type { PackageSpec } from '../../agent/apply/host/sandbox.ts';
import { describeOnDebiansAndSid } from '../../harness/hosts/describe-on-debians.ts';
import { LONG } from '../../harness/run/long.ts';
import { type FactoryHost, startFactoryHost } from '../../harness/hosts/factory-host.ts';

describeOnDebiansAndSid([], 'the host target on a booted host', ({ base, debian }) => {
  let host: FactoryHost;
  let ask: ReturnType<typeof askOnHost>;
  beforeAll(async () => {
    host = await startFactoryHost(`host-target-${debian}`, {
      base,
      binds: DAEMON_BINDS,
    });
    ask = askOnHost(host);
  });
  afterAll(() => host?.remove());

  const apply = (spec: PackageSpec | null, limit?: number) =>
    ask({ verb: 'apply', spec, limit }) as Promise<readonly string[]>;
  const settle = (spec: PackageSpec) => ask({ verb: 'settle', spec }) as Promise<readonly CheckResult[]>;
  const observe = async (spec: PackageSpec) =>
    ((await ask({ verb: 'observe', spec })) as readonly Drift[]).map(({ key, what }) => `${key} ${what}`);

  const sh = async (script: string): Promise<string> =>
    (await host.look(['/bin/sh', '-c', script])).stdout.trim();
  const show = (unit: string, property: string) => sh(`systemctl show --value -p ${property} ${unit}`);
  const invocation = (unit: string) => show(unit, 'InvocationID');
  /** How often systemd read its unit files again since it booted; the pattern must not find itself in the journal. */
  const reloads = async () => Number(await sh(`journalctl -b --no-pager _PID=1 | grep -c 'Reloading[.]'`));

  const service = (start: string, more = ''): string =>
    `[Service]\n${more}ExecStart=${start}\n[Install]\nWantedBy=multi-user.target\n`;
  const unit = (name: string, more: Partial<HostUnit> = {}): HostUnit => ({
    name,
    enabled: true,
    active: true,
    restartOn: [],
    ...more,
  });
  const values = 'EnvironmentFile=/etc/demo/demo.env\n';
  const printer = `/bin/sh -c 'printf %%s "$VALUE" > /run/demo.value; exec sleep infinity'`;
  type More = { readonly comment?: string; readonly wantedBy?: string };
  const spec = (value: string, more: More = {}): PackageSpec => ({
    directories: { '/etc/demo': { mode: '0750' } },
    files: {
      '/etc/demo/demo.env': { content: 'VALUE=unset\n', format: 'env', mode: '0600' },
      '/etc/systemd/system/demo.service': service(printer, values),
      '/etc/systemd/system/other.service': service('/bin/sleep infinity', more.comment ?? '').replace(
        'multi-user.target',
        more.wantedBy ?? 'multi-user.target',
      ),
    },
    units: [unit('demo.service', { restartOn: ['/etc/demo/demo.env'] }), unit('other.service')],
    checks: [
      { type: 'unit', name: 'demo', unit: 'demo.service', stableSeconds: 1 },
      { type: 'unit', name: 'other', unit: 'other.service', stableSeconds: 1 },
      { type: 'exec', name: 'value', argv: ['/usr/bin/test', '-s', '/run/demo.value'], timeoutSeconds: 5 },
    ],
    siteInputs: [{ file: '/etc/demo/demo.env', pointer: '/VALUE', value }],
  });
  const hard = `it's "$HOME" \`id\` \\ \\n # ; ü\t100% `;

  it('starts and enables units, reads each state once, and settles', async () => {
    expect(await apply(spec('one'))).toEqual([
      'created directory:/etc/demo: missing',
      'created file:/etc/demo/demo.env: missing',
      'created file:/etc/systemd/system/demo.service: missing',
      'created file:/etc/systemd/system/other.service: missing',
      'configured systemd:daemon-reload: unit files changed',
      'created unit:demo.service: not-found -> enable; start: it is not-found',
      'created unit:other.service: not-found -> enable; start: it is not-found',
    ]);
    expect(await sh('systemctl is-enabled demo other; systemctl is-active demo other')).toBe(
      'enabled\nenabled\nactive\nactive',
    );
    expect((await settle(spec('one'))).map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
      'demo passed',
      'other passed',
      'value passed',
    ]);
    const before = [await invocation('demo'), await reloads()];
    expect(await apply(spec('one'))).toEqual([]);
    expect(await observe(spec('one'))).toEqual([]);
    expect([await invocation('demo'), await reloads()]).toEqual(before);
  });

  it('restarts only the unit whose file changed, without a daemon-reload, with the value that sh reads', async () => {
    const [demo, other, count] = [await invocation('demo'), await invocation('other'), await reloads()];
    expect(await apply(spec(hard))).toEqual([
      'configured file:/etc/demo/demo.env: content differs',
      'configured unit:demo.service: restart: a file it reads changed',
    ]);
    expect(await invocation('demo')).not.toBe(demo);
    expect([await invocation('other'), await reloads()]).toEqual([other, count]);
    await settle(spec(hard));
    const read = async (script: string) => (await host.look(['/bin/sh', '-c', script])).stdout;
    expect(await read('cat /run/demo.value')).toBe(hard);
    expect(await read('. /etc/demo/demo.env; printf %s "$VALUE"')).toBe(hard);
  });

  it('runs one daemon-reload for a changed unit file, and restarts only that unit', async () => {
    const [demo, other, count] = [await invocation('demo'), await invocation('other'), await reloads()];
    await apply(spec(hard, { comment: 'Environment=A=1\n' }));
    expect(await invocation('demo')).toBe(demo);
    expect(await invocation('other')).not.toBe(other);
    expect((await reloads()) - count).toBe(1);
    expect(await observe(spec(hard, { comment: 'Environment=A=1\n' }))).toEqual([]);
  });

  it('enables a unit again when its file names another target', async () => {
    const moved = { comment: 'Environment=A=1\n', wantedBy: 'graphical.target' };
    const links = () => sh('cd /etc/systemd/system && ls -d *.wants/other.service');
    await apply(spec(hard, moved));
    expect(await links()).toBe('graphical.target.wants/other.service');
    await apply(spec(hard, { comment: 'Environment=A=1\n' }));
    expect(await links()).toBe('multi-user.target.wants/other.service');
  });

  it('finds stopped, disabled, failed and outdated units, and corrects them', async () => {
    const now = spec(hard, { comment: 'Environment=A=1\n' });
    await sh('systemctl stop demo; rm /etc/systemd/system/multi-user.target.wants/other.service');
    expect(await observe(now)).toEqual(['unit:demo.service inactive', 'unit:other.service disabled']);
    await apply(now);
    expect(await observe(now)).toEqual([]);

    await sh('systemctl kill -s KILL demo; sleep 0.3; touch /etc/systemd/system/other.service');
    expect(await observe(now)).toEqual(['unit:demo.service failed', 'unit:other.service needs-reload']);
    await apply(now);
    expect(await observe(now)).toEqual([]);

    await sh(
      'systemctl stop demo; ln -sf /dev/null /etc/systemd/system/demo.service; systemctl daemon-reload',
    );
    expect(await observe(now)).toEqual([
      'file:/etc/systemd/system/demo.service type',
      'unit:demo.service masked',
    ]);
    await apply(now);
    expect(await observe(now)).toEqual([]);
    expect(await sh('systemctl is-active demo')).toBe('active');
  });

  it('finds the files of systemctl edit and set-property, and removes them', async () => {
    const now = spec(hard, { comment: 'Environment=A=1\n' });
    const edited = '/etc/systemd/system/demo.service.d/override.conf';
    const paths = [edited, '/etc/systemd/system.control/other.service.d/50-CPUWeight.conf'];
    // What systemctl edit does; it wants a terminal.
    await sh(
      `mkdir ${dirname(edited)} && printf '[Service]\\nEnvironmentFile=\\nEnvironment=VALUE=foreign\\n' > ${edited} && systemctl daemon-reload && systemctl restart demo`,
    );
    await sh('systemctl set-property other.service CPUWeight=200');
    await expect.poll(() => sh('cat /run/demo.value')).toBe('foreign');
    expect(await observe(now)).toEqual(paths.map((path) => `file:${path} drop-in`));
    const lines = await apply(now);
    expect(lines.map((line) => line.replace(/a copy is kept as [0-9a-f]{12}/, 'a copy is kept'))).toEqual([
      ...paths.map((path) => `deleted file:${path}: a drop-in that is not of the package; a copy is kept`),
      'configured systemd:daemon-reload: unit files changed',
      'configured unit:demo.service: restart: a file it reads changed',
      'configured unit:other.service: restart: a file it reads changed',
    ]);
    await settle(now);
    expect((await host.exec(['/bin/cat', '/run/demo.value'])).stdout).toBe(hard);
    expect(await observe(now)).toEqual([]);
    expect(await apply(now)).toEqual([]);
    // The folder is its maker's.
    await sh(`rmdir ${dirname(edited)}`);
  });

  it('restarts a unit after a power cut between its file and its restart', async () => {
    const next = spec('after the cut', { comment: 'Environment=A=1\n' });
    const before = await invocation('demo');
    // The directory, then the file with the value.
    await apply(next, 2);
    expect(await invocation('demo')).toBe(before);
    expect(await apply(next)).toEqual(['configured unit:demo.service: restart: a file it reads changed']);
    expect(await invocation('demo')).not.toBe(before);
    expect(await apply(next)).toEqual([]);
  });

  it('removes units, files and folders completely', async () => {
    await apply(null);
    expect(await sh('ls -d /etc/demo /etc/systemd/system/demo* /etc/systemd/system/other* 2>/dev/null')).toBe(
      '',
    );
    expect(await sh('ls /etc/systemd/system/multi-user.target.wants | grep -E "demo|other"')).toBe('');
    expect(await sh('systemctl list-units --all --plain --no-legend "demo*" "other*"')).toBe('');
    expect(await sh('find / -xdev -name ".fleet-*" 2>/dev/null')).toBe('');
  });

  it('takes over its own files after its state was lost, and removes them with the package', async () => {
    await apply(spec('one'));
    const before = [await invocation('demo'), await invocation('other')];
    await sh('rm -r /var/lib/agent');
    expect(await apply(spec('one'))).toEqual([]);
    expect([await invocation('demo'), await invocation('other')]).toEqual(before);
    // The folder may be anybody's; a removal that leaves it says so.
    expect(await apply(null)).toContain('skipped directory:/etc/demo: it was there before the package');
    expect(
      await sh('ls -A /etc/demo; ls -d /etc/systemd/system/demo* /etc/systemd/system/other* 2>/dev/null'),
    ).toBe('');
    expect(await sh('systemctl list-units --all --plain --no-legend "demo*" "other*"')).toBe('');
    await sh('rmdir /etc/demo');
  });

  it('fails a unit that ends within its window: at once, later, or in a restart loop', async () => {
    const restarting = 'Restart=on-failure\nRestartSec=200ms\nStartLimitIntervalSec=0\n';
    const failing: PackageSpec = {
      files: {
        '/etc/systemd/system/at-once.service': service('/bin/false'),
        '/etc/systemd/system/later.service': service(`/bin/sh -c 'sleep 2; exit 3'`),
        '/etc/systemd/system/loop.service': service(`/bin/sh -c 'sleep 0.5; exit 3'`, restarting),
        '/etc/systemd/system/fine.service': service('/bin/sleep infinity'),
      },
      units: ['at-once', 'later', 'loop', 'fine'].map((name) => unit(`${name}.service`)),
      checks: ['at-once', 'later', 'loop', 'fine'].map((name) => ({
        type: 'unit',
        name,
        unit: `${name}.service`,
        stableSeconds: 4,
      })),
    };
    await apply(failing);
    const begin = performance.now();
    const results = await settle(failing);
    expect(results.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
      'at-once failed',
      'later failed',
      'loop failed',
      'fine passed',
    ]);
    expect(results[0]?.message).toBe('at-once.service is failed (exit-code)');
    expect(performance.now() - begin).toBeLessThan(30_000);
    await apply(null);
    expect(await sh('systemctl --failed --plain --no-legend')).toBe('');
  });

  it('fails a unit that starts and ends again and again, even if a look finds it running', async () => {
    const restart = 'Restart=always\nRestartSec=100ms\nStartLimitIntervalSec=0\n';
    const looping: PackageSpec = {
      files: { '/etc/systemd/system/again.service': service('/bin/sleep 0.8', restart) },
      units: [unit('again.service')],
      checks: [{ type: 'unit', name: 'again', unit: 'again.service', stableSeconds: 0 }],
    };
    await apply(looping);
    await expect.poll(() => observe(looping)).toEqual(['unit:again.service restarting']);
    expect(await settle(looping)).toMatchObject([{ name: 'again', outcome: 'failed' }]);
    await apply(null);
  });

  it('fails with UNIT_FAILED when a unit does not start or cannot be enabled', async () => {
    const notify: PackageSpec = {
      files: { '/etc/systemd/system/bad.service': service('/bin/false', 'Type=oneshot\n') },
      units: [unit('bad.service')],
    };
    const saying = `EnvironmentFile=/etc/demo/bad.env\nType=oneshot\nEnvironment=API_TOKEN=tk-4711 PLACE=hall-3\n`;
    const chatty: PackageSpec = {
      files: {
        '/etc/demo/bad.env': { content: 'GREETING=open-sesame\n', mode: '0600' },
        '/opt/demo/bad.sh': [
          'printf "\\033[31mcannot open\\033[0m /etc/demo/missing.conf at $PLACE\\n\\033]0;title\\007"',
          'echo "token $API_TOKEN, password=hunter2, $GREETING"',
          'printf "%.0sx" $(seq 1 5000); echo; exit 3',
        ].join('\n'),
        '/etc/systemd/system/bad.service': service('/bin/sh /opt/demo/bad.sh', saying),
      },
      units: [unit('bad.service')],
    };
    const failure = (await apply(chatty).catch((error: unknown) => error)) as {
      readonly printed?: { readonly by: string; readonly text: string };
    };
    expect(failure).toMatchObject({ code: 'UNIT_FAILED', printed: { by: 'bad.service' } });
    const printed = failure.printed?.text ?? '';
    expect(printed).toContain('cannot open /etc/demo/missing.conf at hall-3\n');
    expect(printed).toContain('token [secret], password=[secret], [secret]\n');
    expect(printed).toMatch(/^x{300} \.\.\.$/m);
    expect(printed).toContain("bad.service: Failed with result 'exit-code'.");
    for (const gone of ['\u001b', 'title', 'tk-4711', 'hunter2', 'open-sesame'])
      expect(printed).not.toContain(gone);
    expect(printed.split('\n').length).toBeLessThanOrEqual(10);

    await expect(apply(notify)).rejects.toMatchObject({ code: 'UNIT_FAILED' });
    const fixed: PackageSpec = {
      ...notify,
      files: { '/etc/systemd/system/bad.service': '[Service]\nExecStart=/bin/sleep infinity\n' },
    };
    await expect(apply(fixed)).rejects.toMatchObject({
      code: 'UNIT_FAILED',
      message: 'bad.service cannot be enabled: it stays static',
    });
    await apply(null);
    expect(await sh('ls /etc/systemd/system | grep bad')).toBe('');
  });

  it('handles timers, the one-shots they start, and units outside of the load path', async () => {
    const timer = '[Timer]\nOnActiveSec=1h\n[Install]\nWantedBy=timers.target\n';
    const once: PackageSpec = {
      files: {
        '/etc/systemd/system/setup.service': service('/bin/touch /run/setup', 'Type=oneshot\n'),
        '/etc/systemd/system/tick.service': service('/bin/true', 'Type=oneshot\n'),
        '/etc/systemd/system/tick.timer': timer,
        '/opt/vendor/far.service': service('/bin/sleep infinity'),
      },
      units: [
        unit('setup.service'),
        unit('tick.service', { enabled: false, active: false }),
        unit('tick.timer'),
        unit('far.service'),
      ],
      checks: [
        { type: 'unit', name: 'setup', unit: 'setup.service', stableSeconds: 0 },
        { type: 'unit', name: 'tick', unit: 'tick.timer', stableSeconds: 1 },
        { type: 'unit', name: 'far', unit: 'far.service', stableSeconds: 1 },
      ],
    };
    await apply(once);
    expect((await settle(once)).map(({ outcome }) => outcome)).toEqual(['passed', 'passed', 'passed']);
    expect(await apply(once)).toEqual([]);
    expect(await observe(once)).toEqual([]);
    await sh('systemctl start tick.service');
    expect(await observe(once)).toEqual([]);
    await apply(null);
    expect(await sh('ls -d /opt/vendor /etc/systemd/system/far.service 2>/dev/null')).toBe('');
  });

  it('restores file and state of a unit that belonged to the host', async () => {
    await sh(
      `mkdir -p /usr/lib/systemd/system && printf '[Service]\\nExecStart=/bin/sleep 1001\\n[Install]\\nWantedBy=multi-user.target\\n' > /etc/systemd/system/host.service && systemctl daemon-reload && systemctl enable --now host`,
    );
    const ours: PackageSpec = {
      files: { '/etc/systemd/system/host.service': service('/bin/sleep 2002') },
      units: [unit('host.service')],
    };
    const running = () => sh('tr "\\0" " " < /proc/$(systemctl show --value -p MainPID host)/cmdline');
    await apply(ours);
    // systemd's own process has another name until it starts the program.
    await expect.poll(running).toBe('/bin/sleep 2002');
    await apply(null);
    await expect.poll(running).toBe('/bin/sleep 1001');
    expect(await sh('systemctl is-enabled host')).toBe('enabled');
  });

  it('distinguishes init scripts, missing, masked and static units in one question', async () => {
    await sh(
      `printf '#!/bin/sh\n### BEGIN INIT INFO\n# Provides: old\n# Default-Start: 2 3 4 5\n# Default-Stop: 0 1 6\n### END INIT INFO\n' > /etc/init.d/old && chmod 755 /etc/init.d/old && systemctl daemon-reload`,
    );
    // systemd makes no units of init scripts since version 260.
    const isUnit = (await show('old.service', 'LoadState')) === 'loaded';
    const off = { enabled: false, active: false };
    const mixed: PackageSpec = {
      files: {
        '/etc/systemd/system/plain.service': service('/bin/sleep infinity'),
        '/etc/systemd/system/static.service': '[Service]\nExecStart=/bin/sleep infinity\n',
      },
      units: [
        unit('plain.service'),
        ...(isUnit ? [unit('old.service', off)] : []),
        unit('static.service', { enabled: false }),
        unit('systemd-timedated.service', off),
      ],
    };
    await apply(mixed);
    expect(await observe(mixed)).toEqual([]);
    const asked: PackageSpec = {
      ...mixed,
      units: [
        unit('plain.service'),
        unit('absent.service'),
        unit('old.service'),
        unit('static.service'),
        unit('absent.timer'),
      ],
    };
    expect(await observe(asked)).toEqual([
      'unit:absent.service missing',
      ...(isUnit ? ['unit:old.service disabled', 'unit:old.service inactive'] : ['unit:old.service missing']),
      'unit:static.service disabled',
      'unit:absent.timer missing',
    ]);
    await apply(null);
    await sh('rm /etc/init.d/old && systemctl daemon-reload');
  });

  it('names the file that a full or read-only disk refuses, and leaves no part of it', async () => {
    await sh(
      'mkdir -p /srv/full /srv/fixed && mount -t tmpfs -o size=64k none /srv/full && mount -t tmpfs -o ro none /srv/fixed',
    );
    const on = (folder: string): PackageSpec => ({
      files: { '/etc/before.conf': 'before', [`${folder}/large`]: 'x'.repeat(100_000) },
    });
    await expect(apply(on('/srv/full'))).rejects.toMatchObject({
      code: 'DISK_FULL',
      message: expect.stringContaining('/srv/full/large'),
    });
    await expect(apply(on('/srv/fixed'))).rejects.toMatchObject({
      code: 'PERMISSION',
      message: expect.stringContaining('/srv/fixed/large'),
    });
    expect(await sh('ls -A /srv/full /srv/fixed')).toBe('/srv/fixed:\n\n/srv/full:');
    await apply(null);
    expect(await sh('ls /etc/before.conf 2>&1 || true')).toContain('No such file');
    await sh('umount /srv/full /srv/fixed && rmdir /srv/full /srv/fixed');
  });

  // In every run e2e/medium-only cuts the power in an import that applies such a package.
  if (LONG)
    it('reaches the release after a power cut at any moment', async () => {
      await sh(`printf before > /etc/foreign; sync`);
      const version = (n: number): PackageSpec => ({
        directories: { '/etc/cut': {} },
        files: {
          '/etc/foreign': `ours ${n}`,
          ...Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`/etc/cut/${n % 2}/${i}`, `${n}`])),
          '/etc/cut/env': `N=${n}\n`,
          '/etc/systemd/system/cut.service': service(
            `/bin/sh -c 'echo $N > /run/cut.value; exec sleep infinity'`,
            `EnvironmentFile=/etc/cut/env\nEnvironment=V=${n}\n`,
          ),
        },
        units: [unit('cut.service', { restartOn: ['/etc/cut/env'] })],
      });
      let cuts = 0;
      for (const [round, delay] of [250, 400, 500, 600, 700, 900].entries()) {
        const done = apply(version(round)).then(
          () => true,
          () => false,
        );
        await sleep(delay);
        await host.crash();
        if (!(await done)) cuts++;
        await host.start();
      }
      expect(cuts).toBeGreaterThan(1);
      await apply(version(9));
      expect(await observe(version(9))).toEqual([]);
      expect(await apply(version(9))).toEqual([]);
      await sleep(300);
      expect(await sh('cat /run/cut.value /etc/foreign; echo; ls /etc/cut')).toBe('9\nours 9\n1\nenv');
      await apply(null);
      expect(await sh('cat /etc/foreign; ls -d /etc/cut /etc/systemd/system/cut.service 2>/dev/null')).toBe(
        'before',
      );
      expect(await sh('find / -xdev -name ".fleet-*" 2>/dev/null')).toBe('');
    }, 180_000);
});
