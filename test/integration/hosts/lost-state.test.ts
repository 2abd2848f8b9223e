import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../../harness/run/describe-with.ts';
import type { TestPackage } from '../../harness/fleets/signed-medium.ts';
import { isTried } from '../../harness/run/long.ts';
import { nothing, type SiteHost, startSiteHost } from './debs-host/site-host.ts';
import { type DebPolicies, debsPackage, type TestDeb } from './debs-host/test-deb.ts';

const hello = (version: string): TestDeb => ({
  name: 'hello',
  version,
  depends: 'libgreet',
  files: { '/usr/share/hello/text': `hello ${version}\n` },
});
const libgreet = (version: string): TestDeb => ({
  name: 'libgreet',
  version,
  files: { '/usr/share/libgreet/version': `${version}\n` },
});
const DEPENDENCY: DebPolicies = { packages: { libgreet: { asDependency: true } }, onRemoval: 'purge' };

describeWith(['factoryBase'], 'a host whose state directory was lost', ({ factoryBase }) => {
  let site: SiteHost;
  beforeAll(async () => {
    site = await startSiteHost('lost-state', factoryBase);
  });
  afterAll(() => site?.[Symbol.asyncDispose]());
  afterEach(() => site.sh('dpkg --purge hello libgreet 2>/dev/null; true'));

  const greeter = (version: string, install = DEPENDENCY): Promise<TestPackage> =>
    debsPackage(site.folder(), 'greeter', [hello(version), libgreet(version)], install);
  const dpkg = () => site.dpkg('hello', 'libgreet');
  const lose = async () => {
    await site.sh('systemctl stop fleet-agent; rm -rf /var/lib/fleet-agent');
    await site.enroll();
  };

  it('takes over the Debian packages that the agent installed, and removes them with the package', async () => {
    await site.applied(await greeter('1.0'));
    await lose();
    await site.applied(await greeter('1.0'));
    expect(await dpkg()).toBe('ii hello 1.0, ii libgreet 1.0');
    await lose();
    await site.applied(await greeter('2.0'));
    expect(await dpkg()).toBe('ii hello 2.0, ii libgreet 2.0');
    await site.applied(nothing);
    expect(await dpkg()).toBe('');
    expect(await site.sh('ls /var/lib/dpkg/fleet-agent')).toBe('');
  });

  it('keeps the Debian packages when the first release afterwards fails', async () => {
    await site.applied(await greeter('1.0'));
    await lose();
    const failing: TestPackage = {
      ...(await greeter('1.0')),
      checks: [{ type: 'exec', name: 'never', argv: ['/bin/false'], timeoutSeconds: 2 }],
    };
    const { code, output } = await site.apply(failing);
    expect([code === 0, output]).toEqual([false, expect.stringContaining('never')]);
    expect(await dpkg()).toBe('ii hello 1.0, ii libgreet 1.0');
    await site.applied(await greeter('1.0'));
    await site.applied(nothing);
    expect(await dpkg()).toBe('');
  });

  it('does not take over a package that was installed again or upgraded by hand', async () => {
    const folder = '/var/lib/fleet-ferry/apt/greeter';
    const ways = [
      `dpkg --purge hello; sleep 1.1; dpkg -i /root/debs/hello_1.0_all.deb`,
      `dpkg -i /root/debs/hello_2.0_all.deb`,
    ];
    for (const byHand of ways.filter((_, index) => isTried(index, 2))) {
      await site.applied(await greeter('2.0'));
      await site.sh(`mkdir -p /root/debs; cp ${folder}/*.deb /root/debs`);
      await site.applied(nothing);
      await site.applied(await greeter('1.0'));
      await site.sh(`cp ${folder}/*.deb /root/debs`);
      await lose();
      await site.sh(byHand);
      const { code, output } = await site.apply(await greeter('1.0'));
      expect([code, output]).toEqual([expect.any(Number), expect.stringContaining('DEB_FOREIGN')]);
      expect(code).not.toBe(0);
      await site.applied(nothing);
      expect(await dpkg()).toContain('hello');
      await site.sh('dpkg --purge hello libgreet');
    }
  });
});
