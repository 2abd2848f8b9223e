import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Drift } from '../../../agent/model/target.ts';
import { askOnHost, DAEMON_BINDS } from '../../agent/apply/host/restricted-daemon.ts';
import type { PackageSpec } from '../../agent/apply/host/sandbox.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type FactoryHost, startFactoryHost } from '../../harness/hosts/factory-host.ts';

describeWith(['factoryBase'], 'paths of a booted host that have two names', ({ factoryBase }) => {
  let host: FactoryHost;
  let ask: ReturnType<typeof askOnHost>;
  beforeAll(async () => {
    host = await startFactoryHost('host-places', { base: factoryBase, binds: DAEMON_BINDS });
    ask = askOnHost(host);
  });
  afterAll(() => host?.remove());

  const apply = (spec: PackageSpec | null) => ask({ verb: 'apply', spec }) as Promise<readonly string[]>;
  const sh = async (script: string): Promise<string> =>
    (await host.look(['/bin/sh', '-c', script])).stdout.trim();
  /** Two looks: nothing is flagged and nothing more is done. */
  const expectSettled = async (spec: PackageSpec) => {
    expect((await ask({ verb: 'observe', spec })) as readonly Drift[]).toEqual([]);
    expect(await ask({ verb: 'plan', spec })).toEqual([]);
  };

  const service = (text: string) =>
    `[Service]\nExecStart=/bin/sleep inf\n${text}[Install]\nWantedBy=multi-user.target\n`;
  const inFolder = (folder: string, text = ''): PackageSpec => ({
    files: {
      [`${folder}/press.service`]: service(text),
      [`${folder}/press.service.d/10-nice.conf`]: '[Service]\nNice=7\n',
    },
    units: [{ name: 'press.service', enabled: true, active: true, restartOn: [] }],
  });
  const state = () =>
    sh(
      'systemctl is-enabled press; systemctl is-active press; systemctl show --value -p Nice -p NeedDaemonReload press',
    );

  it('keep a unit and its drop-in unchanged when the release names them below /usr/lib instead of /lib', async () => {
    const before = await sh('find /usr/lib/systemd /etc/systemd | sort');
    for (const folder of ['/lib/systemd/system', '/usr/lib/systemd/system', '/lib/systemd/system']) {
      const spec = inFolder(folder);
      await apply(spec);
      expect(await state()).toBe('enabled\nactive\n7\nno');
      await expectSettled(spec);
    }
    const changed = inFolder('/usr/lib/systemd/system', 'Environment=A=1\n');
    await apply(changed);
    expect(await state()).toBe('enabled\nactive\n7\nno');
    expect(await sh('systemctl show --value -p Environment press')).toBe('A=1');
    await apply(null);
    expect(await sh('systemctl show --value -p LoadState press')).toBe('not-found');
    expect(await sh('find /usr/lib/systemd /etc/systemd | sort')).toBe(before);
  });

  it('keep a unit enabled when its folder is a bind mount of another', async () => {
    await sh(
      'mkdir -p /data/units && cp -a /etc/systemd/system/. /data/units && mount --bind /data/units /etc/systemd/system && systemctl daemon-reload',
    );
    const spec = inFolder('/etc/systemd/system');
    await apply(spec);
    expect(await state()).toBe('enabled\nactive\n7\nno');
    await expectSettled(spec);
    await sh(
      "mkdir -p /data/units/press.service.d; printf '[Service]\\nNice=3\\n' > /etc/systemd/system/press.service.d/99-by-hand.conf; systemctl daemon-reload",
    );
    const drift = (await ask({ verb: 'observe', spec })) as readonly Drift[];
    expect(drift.map(({ what }) => what)).toEqual(['drop-in']);
    await apply(spec);
    await expectSettled(spec);
    await apply(null);
    expect(await sh('ls -d /data/units/press* 2>/dev/null')).toBe('');
    await sh('umount /etc/systemd/system; systemctl daemon-reload');
  });

  it('keep settings in effect when their folder is a link', async () => {
    await sh('mkdir -p /data && mv /etc/sysctl.d /data/sysctl.d && ln -s /data/sysctl.d /etc/sysctl.d');
    const ttl = () => sh('cat /proc/sys/net/ipv4/ip_default_ttl');
    const spec = (value: number): PackageSpec => ({
      files: { '/etc/sysctl.d/50-press.conf': `net.ipv4.ip_default_ttl = ${value}\n` },
    });
    for (const value of [81, 82]) {
      await apply(spec(value));
      expect(await ttl()).toBe(`${value}`);
      await expectSettled(spec(value));
    }
    await sh('echo 64 > /proc/sys/net/ipv4/ip_default_ttl');
    expect((await ask({ verb: 'observe', spec: spec(82) })) as readonly Drift[]).toHaveLength(1);
    await apply(spec(82));
    expect(await ttl()).toBe('82');
    await apply(null);
    expect(await sh('ls /data/sysctl.d/50-press.conf 2>&1')).toContain('No such file');
  });
});
