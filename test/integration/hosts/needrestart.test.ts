import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnDebians } from '../../harness/hosts/describe-on-debians.ts';
import { nothing, type SiteHost, startSiteHost } from './debs-host/site-host.ts';
import { debsPackage } from './debs-host/test-deb.ts';

const PATIENCE = { timeout: 90_000, interval: 250 } as const;
const RUNNER = "systemctl show --property=Id,InvocationID 'fleet-agent-runner@*'";

const SERVICE = {
  id: 'press',
  files: { '/etc/systemd/system/press.service': '[Service]\nExecStart=/bin/sleep infinity\n' },
  units: [{ name: 'press.service', enabled: false, active: true, restartOn: [] }],
};

describeOnDebians(['needrestart'], 'needrestart on a booted host', ({ base, debian }, { needrestart }) => {
  let site: SiteHost;
  beforeAll(async () => {
    site = await startSiteHost(`needrestart-${debian}`, base, [
      { from: join(needrestart, `debian-${debian}`), to: '/debs', readOnly: true },
    ]);
    await site.sh(`dpkg -i $(ls /debs/*.deb | grep -v /libc6_) > /run/installed 2>&1
      cp /opt/deploy/debian/fleet-agent.needrestart /etc/needrestart/conf.d/fleet-agent.conf
      mkdir -p /etc/fleet-agent
      printf 'interval: 2s\\n' > /etc/fleet-agent/agent.yaml
      mkdir -p /etc/systemd/system/fleet-agent.service.d
      printf '[Service]\\nTimeoutStopSec=2s\\n' > /etc/systemd/system/fleet-agent.service.d/soon.conf
      printf 'FLEET_NOW=2026-11-21T08:00:00Z\\n' > /etc/default/fleet-agent
      systemctl enable fleet-agent.service`);
  }, 180_000);
  afterAll(() => site?.[Symbol.asyncDispose]());

  /** Restarts each service that uses replaced files, as the hook of apt does without a question. */
  const restartAll = () => site.sh('DEBIAN_FRONTEND=noninteractive needrestart -l -r a 2>&1');
  const mainPid = (unit: string) => site.sh(`systemctl show --value -p MainPID ${unit}`);
  const named = async (): Promise<readonly string[]> => {
    const { reboot } = JSON.parse((await site.agent('status --json')).stdout) as {
      readonly reboot: { readonly services: readonly string[] };
    };
    return reboot.services;
  };

  it('names to the agent each service that still uses the C library from before its upgrade', async () => {
    await site.applied(nothing, SERVICE);
    await site.sh('systemctl start fleet-agent.service');
    expect(await named()).toEqual([]);
    await site.sh('dpkg -i /debs/libc6_*.deb 2>&1');
    await expect
      .poll(named, PATIENCE)
      .toEqual(expect.arrayContaining(['dbus.service', 'fleet-agent.service', 'press.service']));
    expect((await site.agent('status')).stdout).toMatch(
      /^Reboot +.*\bpress\.service\b.* use libraries of before an upgrade, until restarted$/m,
    );
    const before = await mainPid('press');
    // It also ends the process of site.agent, which is a unit.
    await restartAll();
    expect(await mainPid('press')).not.toBe(before);
    expect(await site.sh('needrestart -b -r l')).not.toContain('NEEDRESTART-SVC: press.service');
  });

  it('restarts services, and not the step of the agent under way, which ends as it would have', async () => {
    await site.sh('touch /run/go');
    const held = await debsPackage(site.folder(), 'held', [
      {
        name: 'held',
        version: '1.0',
        scripts: { postinst: 'echo began >> /run/began\nwhile ! test -e /run/go; do sleep 0.1; done' },
      },
    ]);
    const words = await site.release(nothing, SERVICE, held);
    await site.sh(`FLEET_NOW=2026-11-21T08:00:00Z fleet-agent ${words}`);
    expect(await site.dpkg('held')).toBe('ii held 1.0');
    // The service corrects the drift.
    await site.sh(`rm /run/go /run/began; dpkg -r held
      timeout 90 sh -c "until test -e /run/began; do sleep 0.1; done"`);
    const runner = await site.sh(RUNNER);
    expect(runner).toContain('InvocationID=');
    // As dpkg does when it unpacks, whose locks the step has.
    await site.sh(`library=$(readlink -f /lib/*/libc.so.6)
      cp -a $library $library.dpkg-new && mv $library.dpkg-new $library`);
    const before = [await mainPid('press'), await mainPid('fleet-agent')];
    expect(await restartAll()).toMatch(/deferred:[^]*systemctl restart fleet-agent-runner@/);
    const after = [await mainPid('press'), await mainPid('fleet-agent')];
    expect(after.filter((pid) => before.includes(pid) || pid === '0')).toEqual([]);
    // An agent that is stopped waits for its step and is killed at the limit; the next one joins the step that runs.
    expect(await site.sh(RUNNER)).toBe(runner);
    await site.sh('touch /run/go');
    await expect.poll(() => site.dpkg('held'), PATIENCE).toBe('ii held 1.0');
    expect(await site.sh('cat /run/began')).toBe('began');
    await expect
      .poll(() => site.sh('FLEET_NOW=2026-11-21T08:00:00Z fleet-agent status'), PATIENCE)
      .toMatch(/^held +healthy /m);
    expect(await site.sh("journalctl -u 'fleet-agent-runner@*' -o cat | grep -c 'Setting up held'")).toBe(
      '2',
    );
  }, 180_000);
});
