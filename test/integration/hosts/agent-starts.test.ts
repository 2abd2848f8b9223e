import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnDebian } from '../../harness/hosts/describe-on-debians.ts';
import type { TestPackage } from '../../harness/fleets/signed-medium.ts';
import { isTried, LONG } from '../../harness/run/long.ts';
import { nothing, type SiteHost, startSiteHost } from './debs-host/site-host.ts';

/** Five power cuts for each unit in the long run. */
const CUTS = LONG ? 5 : 1;

const HANGS =
  '[Service]\nType=oneshot\nExecStart=/bin/sleep infinity\nTimeoutStartSec=infinity\nTimeoutStopSec=1s\n';
const wantedBy = (target: string): string => `[Install]\nWantedBy=${target}\n`;

/** Units that keep a boot from the agent, each enabled by a package of the platform, which no bounds bind. */
const HOSTILE: Readonly<Record<string, string>> = {
  'hangs before the agent': `[Unit]\nBefore=fleet-agent.service\n${HANGS}${wantedBy('multi-user.target')}`,
  'makes a cycle with the agent': `[Unit]\nBefore=fleet-agent.service\nAfter=multi-user.target\n${HANGS}${wantedBy('multi-user.target')}`,
  'conflicts with the agent': `[Unit]\nConflicts=fleet-agent.service\n[Service]\nExecStart=/bin/sleep infinity\n${wantedBy('multi-user.target')}`,
  'hangs before basic.target': `[Unit]\nDefaultDependencies=no\nBefore=basic.target\n${HANGS}${wantedBy('basic.target')}`,
  'hangs before local-fs.target': `[Unit]\nDefaultDependencies=no\nBefore=local-fs.target\n${HANGS}${wantedBy('local-fs.target')}`,
};

const hostile = (text: string): TestPackage => ({
  id: 'hostile',
  files: { '/etc/systemd/system/press.service': text },
  units: [{ name: 'press.service', enabled: true, active: false, restartOn: [] }],
});

describeOnDebian(12, 'sid')([], 'the service of the agent on a booted host', ({ base, debian, itOnce }) => {
  let site: SiteHost;

  beforeAll(async () => {
    site = await startSiteHost(`starts-${debian}`, base);
    await site.applied(nothing);
    await site.sh(`mkdir -p /usr/lib/systemd/system-generators /usr/lib/fleet-agent
      cp /opt/deploy/systemd/fleet-agent-generator /usr/lib/systemd/system-generators/
      cp /opt/deploy/systemd/fleet-agent-start-guard /usr/lib/fleet-agent/start-guard
      printf 'FLEET_NOW=2026-11-21T08:00:00Z\\nFLEET_GUARD_SECONDS=2\\n' > /etc/default/fleet-agent
      systemctl enable --now fleet-agent.service`);
  }, 120_000);
  afterAll(() => site[Symbol.asyncDispose]());

  const isActive = async (): Promise<boolean> =>
    (await site.exec('systemctl is-active fleet-agent.service')).stdout.trim() === 'active';

  /** Without systemd-run, which needs the D-Bus that such a boot has not reached. */
  const importBare = async (...packages: readonly TestPackage[]): Promise<void> => {
    const words = await site.release(...packages);
    const { code, stdout, stderr } = await site.exec(
      `FLEET_NOW=2026-11-21T08:00:00Z /usr/bin/fleet-agent ${words}`,
    );
    expect(code === 0 ? 'ACCEPT' : stdout + stderr).toBe('ACCEPT');
  };

  const untilActive = async (): Promise<void> => {
    for (let tries = 0; tries < 300; tries++) {
      if (await isActive()) return;
      await sleep(100);
    }
    throw new Error(
      `the agent did not start: ${await site.sh('systemctl list-jobs; systemctl status fleet-agent')}`,
    );
  };

  // Each is tried on one Debian in a usual run, or on none; the long run has all on both.
  it.each(Object.entries(HOSTILE).filter((_unit, index) => isTried(index + (debian === 'sid' ? 0 : debian))))(
    'N75: the agent starts although a unit %s, and removes it with the release without it -> ACCEPT',
    async (_, text) => {
      for (let cut = 0; cut < CUTS; cut++) {
        await site.applied(nothing, hostile(text));
        expect(await site.sh('systemctl is-enabled press.service')).toBe('enabled');
        await site.host.crash();
        const booted = site.host.start();
        await untilActive();
        await importBare(nothing);
        expect(await site.exec('test -e /etc/systemd/system/press.service')).toMatchObject({ code: 1 });
        // Without the unit the boot goes on to its end.
        expect(['running', 'degraded']).toContain(await booted);
        expect(await isActive()).toBe(true);
      }
    },
    CUTS * 300_000,
  );

  const show = (property: string, unit = 'fleet-agent.service') =>
    site.sh(`systemctl show -P ${property} ${unit}`);
  const looks = async () =>
    Number(await site.sh('journalctl -u fleet-agent -o cat | grep -c looked || true'));

  const watchdogSeconds = (seconds: number) =>
    site.sh(`mkdir -p /etc/systemd/system/fleet-agent.service.d
      printf '[Service]\\nWatchdogSec=${seconds}s\\nRestartSec=1s\\n' > /etc/systemd/system/fleet-agent.service.d/soon.conf
      systemctl daemon-reload`);

  itOnce('is not killed by the watchdog while it makes progress, and restarted when it hangs', async () => {
    await watchdogSeconds(30);
    await site.sh('systemctl stop fleet-agent; systemctl start fleet-agent');
    const heard = async () => Number(await show('WatchdogTimestampMonotonic'));
    const first = await heard();
    // Two messages, each a third of the time after the one before.
    await expect
      .poll(async () => (await heard()) - first, { timeout: 120_000, interval: 500 })
      .toBeGreaterThan(11e6);
    await expect.poll(looks, { timeout: 120_000, interval: 500 }).toBeGreaterThan(0);
    expect([await show('NRestarts'), await show('ActiveState')]).toEqual(['0', 'active']);
    const before = await looks();
    await site.sh('kill -STOP "$(systemctl show -P MainPID fleet-agent)"');
    // It applies to the service that runs, too. The next one has its time again.
    await watchdogSeconds(2);
    await expect.poll(() => show('NRestarts'), { timeout: 120_000, interval: 200 }).not.toBe('0');
    await watchdogSeconds(120);
    await expect.poll(looks, { timeout: 120_000, interval: 500 }).toBeGreaterThan(before);
    expect(await site.sh('journalctl -u fleet-agent -o cat')).toContain('Watchdog timeout');
    await site.sh('rm -r /etc/systemd/system/fleet-agent.service.d; systemctl daemon-reload');
  });

  itOnce(
    'L12: hears no program of a check that speaks as an application, and none survives its limit -> ACCEPT',
    async () => {
      const speaks = `
import os, socket
to = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
to.connect('/run/systemd/notify')
for said in ('STATUS=taken', 'WATCHDOG_USEC=86400000000', 'MAINPID=%d' % os.getpid()): to.sendall(said.encode())
open('/tmp/spoken', 'a').write('spoken\\n')
to.recv(1)`;
      const asUser = ['/usr/sbin/runuser', '-u', 'nobody', '--'];
      const hides = 'setsid env -i sleep 4711 & exec sleep 4712';
      const exec = (name: string, argv: readonly string[]) =>
        ({ type: 'exec', name, argv, timeoutSeconds: 5 }) as const;
      const spoken = () => site.sh('wc -l < /tmp/spoken').then(Number);
      await site.sh('systemctl stop fleet-agent; install -o nobody -m 600 /dev/null /tmp/spoken');
      const { code, output } = await site.apply({
        id: 'talker',
        files: { '/etc/talker.conf': 'x' },
        checks: [exec('speaks', [...asUser, '/usr/bin/python3', '-c', speaks])],
      });
      expect([code, output]).toEqual([7, expect.stringContaining('did not end within 5 s')]);
      await site.applied({
        id: 'talker',
        files: { '/etc/talker.conf': 'y' },
        checks: [exec('speaks', [...asUser, '/usr/bin/python3', '-c', speaks.replace('to.recv(1)', '')])],
      });
      const before = await spoken();
      await site.sh('systemctl start fleet-agent');
      await expect.poll(spoken, { timeout: 120_000, interval: 500 }).toBeGreaterThan(before);
      const status = await show('StatusText');
      expect(status === '' ? 'ACCEPT' : status).toBe('ACCEPT');
      expect(await show('WatchdogUSec')).toBe('3min');
      expect(await site.sh('cat /proc/$(systemctl show -P MainPID fleet-agent)/comm')).not.toBe('python3');
      await site.sh('systemctl stop fleet-agent');
      const hidden = await site.apply({
        id: 'talker',
        files: { '/etc/talker.conf': 'z' },
        checks: [exec('hides', ['/bin/sh', '-c', hides])],
      });
      expect(hidden.code).toBe(7);
      expect(await site.sh(`grep -lsz '^471[12]$' /proc/[0-9]*/cmdline || true`)).toBe('');
      await site.applied(nothing);
      await site.sh('systemctl start fleet-agent');
    },
  );

  itOnce(
    'is not started by the guard when it was disabled, and status, doctor and report state so',
    async () => {
      await site.sh('systemctl disable --now fleet-agent.service 2> /dev/null');
      const { code, stdout } = await site.agent('status');
      expect([code, stdout]).toEqual([8, expect.stringContaining('systemctl enable --now fleet-agent')]);
      expect((await site.agent('doctor')).stdout).toMatch(/service +bad/);
      await site.sh('mkdir -p /media/home');
      const exported = await site.agent('reports export --force-path /media/home');
      expect([exported.code, exported.stderr]).toEqual([
        0,
        expect.stringContaining('The service does not run'),
      ]);
      const payload = await site.sh(
        `cat /media/home/fleet/reports/*/*.sigstore.json | sed -E 's/.*"payload":"([^"]*)".*/\\1/' | base64 -d`,
      );
      expect(JSON.parse(payload)).toMatchObject({ predicate: { looks: { service: 'stopped' } } });

      await site.host.crash();
      await site.host.start();
      const boot = (await site.sh('cat /proc/sys/kernel/random/boot_id')).trim().replaceAll('-', '');
      const guardEnded = () =>
        show('ExecMainExitTimestampMonotonic', `${boot}-fleet-agent-start-guard.service`);
      await expect.poll(async () => Number(await guardEnded()), { timeout: 60_000 }).toBeGreaterThan(0);
      expect(await isActive()).toBe(false);
      await site.sh('systemctl enable fleet-agent.service');
    },
  );
});
