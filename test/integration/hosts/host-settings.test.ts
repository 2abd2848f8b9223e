import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Drift } from '../../../agent/model/target.ts';
import {
  askOnHost,
  DAEMON_BINDS,
  installRestrictedDaemon,
} from '../../agent/apply/host/restricted-daemon.ts';
import type { PackageSpec } from '../../agent/apply/host/sandbox.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type FactoryHost, startFactoryHost } from '../../harness/hosts/factory-host.ts';

describeWith(
  ['factoryBase'],
  'accounts, kernel parameters and temporary files of a host',
  ({ factoryBase }) => {
    let host: FactoryHost;
    let ask: ReturnType<typeof askOnHost>;
    beforeAll(async () => {
      host = await startFactoryHost('host-settings', {
        base: factoryBase,
        binds: DAEMON_BINDS,
      });
      ask = askOnHost(host);
    });
    afterAll(() => host?.remove());

    const apply = (spec: PackageSpec | null) => ask({ verb: 'apply', spec }) as Promise<readonly string[]>;
    const observe = async (spec: PackageSpec) =>
      ((await ask({ verb: 'observe', spec })) as readonly Drift[]).map(({ message }) => message);
    const sh = async (script: string): Promise<string> =>
      (await host.look(['/bin/sh', '-c', script])).stdout.trim();

    const spec = (sysctl: string): PackageSpec => ({
      directories: { '/var/lib/press': { mode: '0750', owner: 'press', group: 'press' } },
      files: {
        '/etc/sysusers.d/press.conf': 'u press - "Press" /var/lib/press\n',
        '/etc/sysctl.d/50-press.conf': `# as the press needs it\n${sysctl}`,
        '/etc/tmpfiles.d/press.conf': 'd /run/press 0750 press press -\n',
        '/etc/press.conf': { content: 'line 1\n', owner: 'press', group: 'press' },
      },
    });
    const first = spec('net.ipv4.ip_default_ttl = 80\n');

    it('refuses a quadlet, whose generator the Podman of Debian 12 lacks', async () => {
      const path = '/etc/containers/systemd/web.container';
      await expect(apply({ files: { [path]: '[Container]\nImage=x\n' } })).rejects.toThrow(
        `${path} needs Podman 4.4 or newer, whose systemd generator this host lacks`,
      );
      expect(await sh(`ls ${path} 2>&1`)).toContain('No such file');
    });

    it('runs a timer with a drop-in, adds a source of apt, finds both edited, and removes them', async () => {
      const dropIn = '/etc/systemd/system/press-look.service.d/10-nice.conf';
      const source = '/etc/apt/sources.list.d/press.sources';
      const timed: PackageSpec = {
        files: {
          '/etc/systemd/system/press-look.service': '[Service]\nType=oneshot\nExecStart=/bin/true\n',
          '/etc/systemd/system/press-look.timer':
            '[Timer]\nOnCalendar=hourly\n[Install]\nWantedBy=timers.target\n',
          [dropIn]: '[Service]\nNice=7\n',
          '/etc/apt/keyrings/press.gpg': 'key',
          [source]:
            'Types: deb\nURIs: http://mirror.press/\nSuites: stable\nComponents: main\nSigned-By: /etc/apt/keyrings/press.gpg\n',
        },
        units: [{ name: 'press-look.timer', enabled: true, active: true }, { name: 'press-look.service' }],
      };
      await apply(timed);
      expect(
        await sh('systemctl is-active press-look.timer; systemctl show -P Nice press-look.service'),
      ).toBe('active\n7');
      expect(await sh('apt-get --print-uris update')).toContain('http://mirror.press/dists/stable/InRelease');
      await sh(`rm ${dropIn}; systemctl stop press-look.timer; echo > ${source}`);
      expect(await observe(timed)).toEqual(
        expect.arrayContaining([
          expect.stringContaining(dropIn),
          expect.stringContaining(source),
          expect.stringContaining('press-look.timer is inactive'),
        ]),
      );
      await apply(timed);
      expect(await observe(timed)).toEqual([]);
      await apply(null);
      expect(await sh(`ls /etc/systemd/system | grep press-look; ls ${source} 2>&1`)).toMatch(/No such file/);
      expect(await sh('systemctl list-units --all --no-legend "press-look*"')).toBe('');
    });

    it('creates accounts before the files that belong to them, and puts settings into effect without a boot', async () => {
      expect(await apply(first)).toEqual(
        expect.arrayContaining([
          'configured setting:/etc/sysctl.d/50-press.conf: its content is not in effect yet',
        ]),
      );
      expect(await sh('stat -c %U:%G:%a /var/lib/press /etc/press.conf /run/press')).toBe(
        'press:press:750\npress:press:644\npress:press:750',
      );
      expect(await sh('cat /proc/sys/net/ipv4/ip_default_ttl')).toBe('80');
      expect((await apply(first)).filter((step) => !step.startsWith('unchanged'))).toEqual([]);
      expect(await observe(first)).toEqual([]);
    });

    it('finds a kernel parameter that was changed, and sets it again', async () => {
      await sh('echo 70 > /proc/sys/net/ipv4/ip_default_ttl');
      expect(await observe(first)).toEqual(['net.ipv4.ip_default_ttl is 70, not 80']);
      expect((await apply(first)).filter((step) => !step.startsWith('unchanged'))).toEqual([
        'configured setting:/etc/sysctl.d/50-press.conf: net.ipv4.ip_default_ttl was changed',
      ]);
      expect(await observe(first)).toEqual([]);
    });

    it('finds no drift for hexadecimal, write-only, multiple and repeated kernel parameters', async () => {
      const odd: PackageSpec = {
        files: {
          '/etc/sysctl.d/50-press.conf':
            'net.ipv4.ip_default_ttl = 0x50\nnet.ipv4.route.flush = 1\nnet.ipv4.ip_local_port_range = 20000 0x8000\n' +
            'net.ipv4.ip_local_reserved_ports = 9150,9148-9149,8080\n-net.ipv4.no_such_thing = 1\n' +
            'net.ipv4.conf.*.rp_filter = 2\nnet.core.somaxconn = 3000\n',
          '/etc/sysctl.d/60-press.conf': 'net.core.somaxconn = 4000\n',
        },
      };
      await apply(odd);
      const read = (name: string) => sh(`cat /proc/sys/net/${name}`);
      expect(await read('ipv4/ip_default_ttl')).toBe('80');
      expect(await read('core/somaxconn')).toBe('4000');
      expect(await read('ipv4/ip_local_reserved_ports')).toBe('8080,9148-9150');
      expect(await read('ipv4/conf/all/rp_filter')).toBe('2');
      expect(await observe(odd)).toEqual([]);
      expect((await apply(odd)).filter((step) => !step.startsWith('unchanged'))).toEqual([]);
      await sh(
        'echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter; echo 8080 > /proc/sys/net/ipv4/ip_local_reserved_ports',
      );
      expect(await observe(odd)).toEqual([
        'net.ipv4.conf.all.rp_filter is 0, not 2',
        'net.ipv4.ip_local_reserved_ports is 8080, not 9150,9148-9149,8080',
      ]);
      await apply(odd);
      expect(await observe(odd)).toEqual([]);
    });

    it('sets a missing parameter when its interface appears', async () => {
      const later: PackageSpec = {
        files: { '/etc/sysctl.d/50-press.conf': 'net.ipv4.conf.press0.forwarding = 1\n' },
      };
      await apply(later);
      const missing =
        'net.ipv4.conf.press0.forwarding does not exist: it is set when its module is loaded or its interface appears';
      expect(await observe(later)).toEqual([missing]);
      expect((await apply(later)).filter((step) => !step.startsWith('unchanged'))).toEqual([]);
      await sh(
        'ip link add press0 type bridge; udevadm settle; echo 0 > /proc/sys/net/ipv4/conf/press0/forwarding',
      );
      expect(await observe(later)).toEqual(['net.ipv4.conf.press0.forwarding is 0, not 1']);
      await apply(later);
      expect(await sh('cat /proc/sys/net/ipv4/conf/press0/forwarding')).toBe('1');
      expect(await observe(later)).toEqual([]);
      await sh('ip link del press0');
    });

    it('names the settings file that the host refuses', async () => {
      await expect(apply(spec('net.ipv4.no_such_thing = 1\n'))).rejects.toThrow(
        /50-press\.conf could not take effect: .*systemd-sysctl ended with 1: .*no_such_thing/,
      );
    });

    it.each([
      ['/etc/tmpfiles.d/lost.conf', 'd /etc/hostname 0750\n', 'systemd-tmpfiles', 'is not a directory'],
      ['/etc/sysusers.d/lost.conf', 'r - 0-0\nu lost -\n', 'systemd-sysusers', 'No free group ID'],
    ])('fails %s, for which systemd logs an error and ends with 0', async (path, text, program, why) => {
      await expect(apply({ files: { [path]: text } })).rejects.toThrow(
        new RegExp(`lost\\.conf could not take effect: .*${program} logged an error: .*${why}`),
      );
    });

    it('puts settings into effect through the runner of the restricted daemon', async () => {
      const applyRestricted = await installRestrictedDaemon(host);
      const second = spec('net.ipv4.ip_default_ttl = 90\n');
      const said = await applyRestricted({ verb: 'apply', spec: second });
      expect(said).toContain(
        'configured setting:/etc/sysctl.d/50-press.conf: its content is not in effect yet',
      );
      expect(await sh('cat /proc/sys/net/ipv4/ip_default_ttl')).toBe('90');
      expect(await sh(`journalctl --sync; journalctl -o cat -u 'fleet-agent-runner@*'`)).toContain(
        'succeeded: done',
      );
    });

    it('removes the files of a package and keeps its account', async () => {
      await apply(first);
      await apply(null);
      expect(await sh('ls /etc/sysctl.d /etc/sysusers.d | grep press')).toBe('');
      expect(await sh('id -un press')).toBe('press');
    });
  },
);
