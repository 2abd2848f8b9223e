import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnDebian } from '../../harness/hosts/describe-on-debians.ts';
import { nothing, type SiteHost, startSiteHost } from './debs-host/site-host.ts';

/** The hosts' clock is fixed, at eight in the morning. */
const OPEN = { windows: ['0 8 * * * for 1h'] };
const PATIENCE = { timeout: 90_000, interval: 250 } as const;

const SERVICE = {
  id: 'press',
  files: { '/etc/systemd/system/press.service': '[Service]\nExecStart=/bin/sleep infinity\n' },
  units: [{ name: 'press.service', enabled: false, active: true, restartOn: [] }],
};

type StatusReboot = {
  readonly required: { readonly waits: string; readonly causes: readonly { readonly key: string }[] } | null;
  readonly refused: string | null;
  readonly last: { readonly judged: string | null; readonly unwell: readonly string[] } | null;
};

describeOnDebian(12, 'sid')([], 'a reboot by the agent of a booted host', ({ base, debian, itOnce }) => {
  let site: SiteHost;
  beforeAll(async () => {
    site = await startSiteHost(`reboots-${debian}`, base);
    await site.sh(`printf 'FLEET_NOW=2026-11-21T08:00:00Z\\n' > /etc/default/fleet-agent
      mkdir -p /etc/systemd/system/fleet-agent.service.d /etc/fleet-agent
      printf '[Service]\\nRestartSec=1s\\n' > /etc/systemd/system/fleet-agent.service.d/soon.conf
      printf 'interval: 2s\\n' > /etc/fleet-agent/agent.yaml
      systemctl enable fleet-agent.service`);
  }, 120_000);
  afterAll(() => site?.[Symbol.asyncDispose]());

  const bootId = () => site.sh('cat /proc/sys/kernel/random/boot_id');
  const reboot = async (): Promise<StatusReboot> =>
    (JSON.parse((await site.agent('status --json')).stdout) as { readonly reboot: StatusReboot }).reboot;
  const journal = () => site.sh('journalctl -u fleet-agent -o cat --no-pager | tail -n 40');
  const explain = async (cause: unknown): Promise<never> => {
    throw new Error(`${JSON.stringify(await reboot())}\n${await journal()}`, { cause });
  };

  it('happens once for /run/reboot-required in the window of the release, with healthy packages after it', async () => {
    await site.appliedWith(undefined, nothing, SERVICE);
    await site.sh('systemctl start fleet-agent.service');
    // As the postinst of a Debian package with update-notifier writes them.
    await site.sh(`printf '*** System restart required ***\\n' > /run/reboot-required
      printf 'libc6\\nlibc6\\n' > /run/reboot-required.pkgs`);
    await expect
      .poll(async () => (await reboot()).required?.waits, PATIENCE)
      .toBe('a person: the release has no reboot policy for this cluster type');
    const [first] = (await reboot()).required?.causes ?? [];
    expect(first?.key).toBe(`package:libc6=${await site.sh("dpkg-query -W -f '${Version}' libc6")}`);
    expect((await site.agent('status')).stdout).toMatch(/^Reboot +required since .*libc6 /m);
    expect((await site.agent('doctor')).stdout).toMatch(/^reboot +warning +required: libc6 /m);

    const before = await bootId();
    await site.appliedWith(OPEN, nothing, SERVICE);
    await site.host.rebooted(PATIENCE.timeout).catch(explain);
    expect(await bootId()).not.toBe(before);
    await expect
      .poll(async () => (await reboot()).last?.judged, PATIENCE)
      .toEqual(expect.any(String))
      .catch(explain);
    expect((await reboot()).last).toMatchObject({ unwell: [] });
    expect(await site.sh('systemctl is-active press.service')).toBe('active');
    expect((await site.agent('status')).stdout).toMatch(/^Reboot +by the agent at .*; healthy after it$/m);

    // The same package in the same version asks again: no second reboot.
    const after = await bootId();
    await site.sh(`touch /run/reboot-required; echo libc6 > /run/reboot-required.pkgs`);
    await expect.poll(async () => (await reboot()).required?.waits, PATIENCE).toContain('for the same cause');
    expect(await bootId()).toBe(after);
    expect(await journal()).not.toContain('look failed');
  }, 300_000);

  itOnce('waits for the holder of the locks of dpkg', async () => {
    await site.sh('rm -f /run/reboot-required /run/reboot-required.pkgs');
    const before = await bootId();
    const holder = site.host.open([
      'python3',
      '-c',
      'import fcntl,sys; f=open("/var/lib/dpkg/lock-frontend","w"); fcntl.lockf(f, fcntl.LOCK_EX); print("held", flush=True); sys.stdin.read()',
    ]);
    await new Promise((resolve) => {
      holder.stdout.once('data', resolve);
    });
    await site.sh(`systemctl stop fleet-agent
      printf 'FLEET_NOW=2026-11-22T08:00:00Z\\n' > /etc/default/fleet-agent
      systemctl start fleet-agent
      touch /run/reboot-required; echo dpkg > /run/reboot-required.pkgs`);
    await expect
      .poll(async () => (await reboot()).required?.waits, PATIENCE)
      .toContain('other work: the Debian packages of this host are being changed');
    expect(await bootId()).toBe(before);
    holder.stdin.end();
    await site.host.rebooted(PATIENCE.timeout).catch(explain);
    expect(await bootId()).not.toBe(before);
  });

  itOnce('waits for an inhibitor lock, and never happens with allowReboot: false', async () => {
    await site.sh('rm -f /run/reboot-required /run/reboot-required.pkgs');
    const before = await bootId();
    // The harness masks logind, which is not needed otherwise.
    await site.sh(
      'rm /run/systemd/system/systemd-logind.service && systemctl daemon-reload && systemctl start systemd-logind',
    );
    const inhibitors = () => site.sh('systemd-inhibit --list --no-legend --no-pager');
    await site.sh(`systemctl stop fleet-agent
      printf 'FLEET_NOW=2026-11-23T08:00:00Z\\n' > /etc/default/fleet-agent
      systemd-run --quiet --unit=batch systemd-inhibit --what=shutdown --who=press --why='batch 12' sleep infinity`);
    await expect.poll(inhibitors, PATIENCE).toContain('batch 12');
    await site.sh(`printf 'interval: 2s\\nallowReboot: false\\n' > /etc/fleet-agent/agent.yaml
      systemctl start fleet-agent
      touch /run/reboot-required; echo coreutils > /run/reboot-required.pkgs`);
    await expect
      .poll(async () => (await reboot()).required?.waits, PATIENCE)
      .toContain('allowReboot is false');
    await site.sh(`printf 'interval: 2s\\n' > /etc/fleet-agent/agent.yaml; systemctl restart fleet-agent`);
    await expect
      .poll(async () => (await reboot()).refused, PATIENCE)
      .toContain('press')
      .catch(explain);
    expect(await bootId()).toBe(before);
    expect(await inhibitors()).toContain('batch 12');
    await site.sh('systemctl stop batch');
    await site.host.rebooted(PATIENCE.timeout).catch(explain);
    expect(await bootId()).not.toBe(before);
  });
});
