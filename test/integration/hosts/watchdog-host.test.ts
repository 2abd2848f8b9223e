import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnDebians } from '../../harness/hosts/describe-on-debians.ts';
import { nothing, type SiteHost, startSiteHost } from './debs-host/site-host.ts';

describeOnDebians([], 'the watchdog of the service on a booted host', ({ base, debian }) => {
  let site: SiteHost;
  beforeAll(async () => {
    site = await startSiteHost(`watchdog-${debian}`, base);
    await site.applied(nothing);
    await site.sh(`mkdir -p /etc/systemd/system/fleet-agent.service.d
      printf '[Service]\\nWatchdogSec=6s\\nRestartSec=1s\\n' > /etc/systemd/system/fleet-agent.service.d/soon.conf
      systemctl daemon-reload`);
  });
  afterAll(() => site?.[Symbol.asyncDispose]());

  const show = (property: string) => site.sh(`systemctl show -P ${property} fleet-agent`);
  const looks = async () =>
    Number(await site.sh('journalctl -u fleet-agent -o cat | grep -c looked || true'));

  it('leaves an agent alone that makes progress, and kills and starts one that hangs', async () => {
    await site.sh('systemctl start fleet-agent');
    await expect.poll(looks, { timeout: 60_000 }).toBeGreaterThan(0);
    await new Promise((resolve) => {
      setTimeout(resolve, 15_000);
    });
    expect(await show('NRestarts')).toBe('0');
    expect(await show('ActiveState')).toBe('active');
    const before = await looks();
    await site.sh('kill -STOP "$(systemctl show -P MainPID fleet-agent)"');
    await expect.poll(() => show('NRestarts'), { timeout: 60_000, interval: 1000 }).toBe('1');
    await expect.poll(looks, { timeout: 60_000 }).toBeGreaterThan(before);
    expect(await site.sh('journalctl -u fleet-agent -o cat')).toContain('Watchdog timeout');
  }, 240_000);

  it('is said by status, doctor and the report when the service is stopped and disabled', async () => {
    await site.sh('systemctl disable --now fleet-agent 2>/dev/null');
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
  });
});
