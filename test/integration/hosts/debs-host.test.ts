import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { describeOnDebian } from '../../harness/hosts/describe-on-debians.ts';
import { isTried, LONG } from '../../harness/run/long.ts';
import type { TestPackage } from '../../harness/fleets/signed-medium.ts';
import { nothing, type SiteHost, startSiteHost } from './debs-host/site-host.ts';
import { buildDeb, type DebPolicies, debsPackage, type TestDeb } from './debs-host/test-deb.ts';

const repository = resolve(import.meta.dirname, '../../..');

const hello = (version: string, more: Partial<TestDeb> = {}): TestDeb => ({
  name: 'hello',
  version,
  depends: 'libgreet',
  files: { '/etc/hello.conf': `port ${version}\n`, '/usr/share/hello/text': `hello ${version}\n` },
  conffiles: ['/etc/hello.conf'],
  ...more,
});
const libgreet = (version: string): TestDeb => ({
  name: 'libgreet',
  version,
  files: { '/usr/share/libgreet/version': `${version}\n` },
});
const INIT_SCRIPT = `#!/bin/sh
### BEGIN INIT INFO
# Provides: bell
# Required-Start:
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
### END INIT INFO
`;
const FAILING = { postinst: 'echo "the licence server does not answer" >&2\nexit 3' };

describeOnDebian(12, 'sid')(
  [],
  'Debian packages on a booted host without network',
  ({ base, debian, itOnce }) => {
    let site: SiteHost;
    const exec = (script: string) => site.exec(script);
    const sh = (script: string) => site.sh(script);
    const agent = (words: string) => site.agent(words);
    const apply = (...packages: readonly TestPackage[]) => site.apply(...packages);
    const applied = (...packages: readonly TestPackage[]) => site.applied(...packages);
    const dpkg = (...names: readonly string[]) => site.dpkg(...names);
    const packed = (id: string, debs: readonly TestDeb[], install: DebPolicies = {}) =>
      debsPackage(site.folder(), id, debs, install);

    const asDependency = { packages: { libgreet: { asDependency: true } } } as const;
    beforeAll(async () => {
      site = await startSiteHost(`debs-host-${debian}`, base);
    });
    afterAll(() => site?.[Symbol.asyncDispose]());

    // Each test begins with a host that has none of them, and no conffiles of them. The agent may still have them in its inventory.
    beforeEach(async () => {
      await sh('dpkg --purge hello libgreet half 2>/dev/null; true');
    });

    it('are installed with their dependencies, upgraded with an edited conffile, and removed', async () => {
      await applied(await packed('greeter', [hello('1.0'), libgreet('1.0')], asDependency));
      expect(await dpkg('hello', 'libgreet')).toBe('ii hello 1.0, ii libgreet 1.0');
      // In its own unit, apart from the command.
      expect(await sh(`journalctl -o cat -u 'fleet-agent-runner@*' | grep -c 'Setting up hello (1.0)'`)).toBe(
        '1',
      );

      await sh('echo port 4711 > /etc/hello.conf');
      await applied(await packed('greeter', [hello('2.0'), libgreet('2.0')], asDependency));
      expect(await dpkg('hello', 'libgreet')).toBe('ii hello 2.0, ii libgreet 2.0');
      expect(await sh('cat /etc/hello.conf /usr/share/hello/text')).toBe('port 4711\nhello 2.0');

      const back = await agent('rollback greeter --reason test');
      expect(back.code, back.stdout + back.stderr).toBe(0);
      expect(await dpkg('hello', 'libgreet')).toBe('ii hello 1.0, ii libgreet 1.0');

      await applied(nothing);
      expect(await dpkg('hello', 'libgreet')).toBe('rc hello 1.0');
    });

    itOnce(
      'run the hooks of the release: dump and migrate around an upgrade, restore after a rollback',
      async () => {
        const hook = (text: string) => `#!/bin/sh\nset -e\n${text}\n`;
        const release = async (version: string, migrate: string): Promise<TestPackage> => {
          const shop = await packed(
            'shop',
            [
              {
                name: 'hello',
                version,
                scripts: { postinst: 'test "$1" != configure || echo "format $2" >> /srv/data' },
              },
            ],
            {
              hooks: [
                {
                  package: 'hello',
                  before: '/opt/dump',
                  after: '/opt/migrate',
                  restore: '/opt/restore',
                  timeoutSeconds: 2,
                },
              ],
            },
          );
          return {
            ...shop,
            files: {
              ...shop.files,
              '/opt/dump': hook('cp /srv/data "/srv/data-$FLEET_DEB_FROM"'),
              '/opt/migrate': hook(migrate),
              '/opt/restore': hook(
                'echo "$FLEET_DEB" >> /srv/restored; cp "/srv/data-$FLEET_DEB_TO" /srv/data',
              ),
            },
          };
        };
        const migrate = 'echo "data of $FLEET_DEB_TO after ${FLEET_DEB_FROM:-none}" > /srv/data';
        await applied(await release('1.0', migrate));
        expect(await sh('cat /srv/data')).toBe('data of 1.0 after none');

        await applied(await release('2.0', migrate));
        expect(await sh('cat /srv/data')).toBe('data of 2.0 after 1.0');
        const back = await agent('rollback shop --reason test');
        expect(back.code, back.stdout + back.stderr).toBe(0);
        expect(await sh('cat /srv/data /srv/restored')).toBe('data of 1.0 after none\nhello');

        // A migration that fails, and one that hangs, go back to the data and the version from before.
        const broken = [
          [
            'echo spoilt > /srv/data; echo "no such column" >&2; exit 4',
            /hook \/opt\/migrate ended with 4: no such column/,
          ],
          ['echo spoilt > /srv/data; sleep 600', /hook \/opt\/migrate did not end within 2 s and was killed/],
        ] as const;
        for (const [bad, why] of broken.filter((_, index) => isTried(index))) {
          const { code, output } = await apply(await release('3.0', bad));
          expect(code).toBe(7);
          expect(output).toMatch(/DEB_FAILED: hello: the after hook/);
          expect(output).toMatch(why);
          expect(await dpkg('hello')).toBe('ii hello 1.0');
          expect(await sh('cat /srv/data')).toBe('data of 1.0 after none');
        }
      },
    );

    itOnce('are purged with onRemoval: purge', async () => {
      await applied(await packed('greeter', [hello('1.0'), libgreet('1.0')], { onRemoval: 'purge' }));
      await applied(nothing);
      expect(await dpkg('hello', 'libgreet')).toBe('');
      expect((await exec('test -e /etc/hello.conf')).code).toBe(1);
    });

    itOnce(
      'with a service are removed, installed again and removed, while their init script stays',
      async () => {
        const service = await debsPackage(site.folder(), 'bell', [
          {
            name: 'bell',
            version: '1.0',
            files: {
              '/lib/systemd/system/bell.service':
                '[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n',
              '/etc/init.d/bell': INIT_SCRIPT,
            },
            conffiles: ['/etc/init.d/bell'],
            scripts: {
              prerm: 'systemctl stop bell.service',
              postrm: 'systemctl daemon-reload',
            },
          },
        ]);
        const bell = {
          ...service,
          units: [{ name: 'bell.service', enabled: true, active: true, restartOn: [] }],
        };
        for (const _ of [1, 2]) {
          await site.applied(bell);
          expect(await site.sh('systemctl is-active bell')).toBe('active');
          await site.applied(nothing);
          expect(await site.dpkg('bell')).toBe('rc bell 1.0');
          expect(await site.sh('ls /etc/systemd/system/multi-user.target.wants | grep -c bell || true')).toBe(
            '0',
          );
        }
      },
    );

    itOnce(
      'leave the host unchanged when a maintainer script fails, and the failure names the script',
      async () => {
        const first = await apply(
          await packed('greeter', [hello('1.0', { scripts: FAILING }), libgreet('1.0')]),
        );
        expect(first.code).toBe(7);
        expect(first.output).toMatch(/DEB_FAILED: hello: .*(?:post-installation|postinst) .*exit status 3/);
        expect(await dpkg('hello', 'libgreet')).toBe('');
        expect((await exec('test -e /etc/hello.conf')).code).toBe(1);

        await applied(await packed('greeter', [hello('1.1'), libgreet('1.0')]));
        const second = await apply(
          await packed('greeter', [hello('1.2', { scripts: FAILING }), libgreet('1.2')]),
        );
        expect(second.code).toBe(7);
        expect(await dpkg('hello', 'libgreet')).toBe('ii hello 1.1, ii libgreet 1.0');
      },
    );

    itOnce('are refused before anything is written when a dependency is missing', async () => {
      const { code, output } = await apply(
        await packed('greeter', [hello('1.0', { depends: 'libgreet (>= 2)' }), libgreet('1.0')]),
      );
      expect(code).toBe(7);
      expect(output).toContain(
        'DEB_UNMET: apt cannot install what the package brings: hello depends: libgreet (>= 2)',
      );
      expect(await dpkg('hello', 'libgreet')).toBe('');
    });

    itOnce(
      'do not replace a package of the administrator unless it is adopted, and then it stays after the removal',
      async () => {
        await applied(nothing);
        await buildDeb(join(site.media, 'admin'), libgreet('0.9'));
        await sh('dpkg -i /media/admin/libgreet-0.9.deb');
        for (const install of [{}, asDependency]) {
          const refused = await apply(
            await packed('greeter', [hello('1.0', { depends: 'libgreet (>= 1)' }), libgreet('1.0')], install),
          );
          expect(refused.code).toBe(7);
          expect(refused.output).toMatch(/DEB_FOREIGN: .*libgreet 0\.9/);
        }
        expect(await dpkg('hello', 'libgreet')).toBe('ii libgreet 0.9');
        await sh('apt-mark hold libgreet');
        const adopted = { packages: { libgreet: { adopt: true } } } as const;
        await applied(await packed('greeter', [hello('1.0'), libgreet('1.0')], adopted));
        expect(await dpkg('hello', 'libgreet')).toBe('ii hello 1.0, ii libgreet 1.0');
        await applied(nothing);
        expect(await dpkg('hello', 'libgreet')).toBe('rc hello 1.0, hi libgreet 1.0');
      },
    );

    it('stay on hold through an upgrade by the agent', async () => {
      const held: DebPolicies = { packages: { hello: { hold: true } } };
      await applied(await packed('greeter', [hello('1.0'), libgreet('1.0')], held));
      await applied(await packed('greeter', [hello('2.0'), libgreet('1.0')], held));
      expect(await dpkg('hello', 'libgreet')).toBe('hi hello 2.0, ii libgreet 1.0');
      await applied(nothing);
    });

    it('with atLeast are kept when the host has a newer version, and upgraded when it has an older one', async () => {
      const atLeast: DebPolicies = {
        packages: { hello: { atLeast: true }, libgreet: { asDependency: true, atLeast: true } },
      };
      await applied(await packed('greeter', [hello('1.0'), libgreet('1.0')], atLeast));
      await buildDeb(join(site.media, 'admin'), libgreet('1.0+deb12u1'));
      await sh('dpkg --install /media/admin/libgreet-1.0_deb12u1.deb');
      expect((await agent('diff greeter')).stdout).toContain('No difference');
      await applied(await packed('greeter', [hello('2.0'), libgreet('1.0')], atLeast));
      expect(await dpkg('hello', 'libgreet')).toBe('ii hello 2.0, ii libgreet 1.0+deb12u1');
      await applied(await packed('greeter', [hello('2.0'), libgreet('1.1')], atLeast));
      expect(await dpkg('hello', 'libgreet')).toBe('ii hello 2.0, ii libgreet 1.1');
      await applied(nothing);
      expect(await dpkg('hello', 'libgreet')).toBe('rc hello 2.0');
    });

    itOnce('are corrected when one is removed, changed or held', async () => {
      await applied(
        await packed('greeter', [hello('2.0'), libgreet('2.0')], { packages: { hello: { hold: true } } }),
      );
      expect(await dpkg('hello', 'libgreet')).toBe('hi hello 2.0, ii libgreet 2.0');
      await sh('apt-mark unhold hello && apt-mark hold libgreet && dpkg --force-depends --remove libgreet');
      const diff = await agent('diff');
      expect(diff.stdout).toContain('libgreet is not installed');
      expect(diff.stdout).toContain('hello is not on hold');
      const corrected = await agent('run --once');
      expect(corrected.code, corrected.stdout + corrected.stderr).toBe(0);
      expect(await dpkg('hello', 'libgreet')).toBe('hi hello 2.0, ii libgreet 2.0');
      await sh('apt-mark unhold hello');
    });

    // dpkg unpacks a package with "reinstreq" again, whatever else its state says: while it begins an upgrade it is half-configured, then unpacked.
    itOnce(
      'are installed after an interrupted dpkg and after power cuts left packages half installed',
      async () => {
        const release = (ofHello: string, ofLibgreet: string) =>
          packed('greeter', [hello(ofHello), libgreet(ofLibgreet)], asDependency);
        /** As dpkg leaves it when the power is cut while it unpacks. */
        const setState = (name: string, state: string) =>
          sh(
            `sed -i '/^Package: ${name}$/,/^$/s/^Status: .*/Status: install ${state}/' /var/lib/dpkg/status`,
          );
        await buildDeb(join(site.media, 'admin'), { name: 'half', version: '1' });
        await sh('dpkg --unpack /media/admin/half-1.deb');
        await applied(await release('1.0', '1.0'));
        expect(await dpkg('hello', 'libgreet', 'half')).toBe('ii half 1, ii hello 1.0, ii libgreet 1.0');
        for (const [index, word] of [
          'half-installed',
          'half-configured',
          ...(LONG ? ['unpacked'] : []),
        ].entries()) {
          await setState('libgreet', `reinstreq ${word}`);
          await setState('hello', 'ok unpacked');
          await applied(await release(`1.${index + 1}`, '1.0'));
          expect(await dpkg('hello', 'libgreet'), word).toBe(`ii hello 1.${index + 1}, ii libgreet 1.0`);
        }
        await setState('hello', 'reinstreq half-installed');
        await applied(await release('0.9', '0.9'));
        expect(await dpkg('hello', 'libgreet')).toBe('ii hello 0.9, ii libgreet 0.9');
      },
    );

    it('wait for the locks of dpkg', async () => {
      const holder = `import fcntl,time\nf=open("/var/lib/dpkg/lock-frontend","w")\nfcntl.lockf(f,fcntl.LOCK_EX)\nopen("/run/locked","w")\ntime.sleep(3600)\n`;
      await sh(
        `printf '%s' '${holder}' > /run/holder.py; systemd-run --unit=holder /usr/bin/python3 /run/holder.py`,
      );
      await sh('until test -e /run/locked; do sleep 0.1; done');
      const install = apply(await packed('greeter', [hello('1.0'), libgreet('1.0')]));
      await sh(
        `until systemctl list-units --no-legend --state=activating 'fleet-agent-runner@*' | grep -q .; do sleep 0.1; done`,
      );
      expect(await dpkg('libgreet')).not.toContain('ii');
      await sh('systemctl stop holder');
      const { code, output } = await install;
      expect(code, output).toBe(0);
      expect(await dpkg('hello', 'libgreet')).toBe('ii hello 1.0, ii libgreet 1.0');
    });

    it("keep programs running that a maintainer script starts, outside of the step's limits", async () => {
      const postinst = 'setsid sleep 98761 > /dev/null 2>&1 < /dev/null & echo $! > /run/daemon';
      await applied(await packed('greeter', [{ name: 'half', version: '1.0', scripts: { postinst } }]));
      const daemon = '/proc/$(cat /run/daemon)';
      expect(await sh(`tr '\\0' ' ' < ${daemon}/cmdline`)).toBe('sleep 98761');
      expect(await sh(`grep -o 'fleet-agent-left-[^/]*' ${daemon}/cgroup | head -n 1`)).toMatch(/\.scope$/);
      expect(await sh(`grep Seccomp: ${daemon}/status; readlink ${daemon}/ns/mnt`)).toBe(
        await sh('grep Seccomp: /proc/1/status; readlink /proc/1/ns/mnt'),
      );
      await sh('kill $(cat /run/daemon)');
      await sh(
        `until test -z "$(systemctl list-units --no-legend 'fleet-agent-left-*')"; do sleep 0.1; done`,
      );
      await applied(nothing);
    });

    itOnce(
      'are named by doctor when they are not configured, with the settings of apt and dpkg that matter',
      async () => {
        await buildDeb(join(site.media, 'admin'), { name: 'half', version: '1' });
        await sh(`dpkg --unpack /media/admin/half-1.deb
      printf 'DPkg::Post-Invoke { "true"; };\n' > /etc/apt/apt.conf.d/case
      echo 'post-invoke=true' > /etc/dpkg/dpkg.cfg.d/case`);
        const { stdout } = await agent('doctor');
        expect(stdout).toContain('half is unpacked: "dpkg --configure half" on the host shows why');
        expect(stdout).toContain('DPkg::Post-Invoke "true"; "post-invoke=true" of /etc/dpkg/dpkg.cfg.d/case');
        await sh('echo no-such-option > /etc/dpkg/dpkg.cfg.d/case');
        expect((await agent('doctor')).stdout).toMatch(/dpkg does not work: .*no-such-option/);
        await sh('rm /etc/apt/apt.conf.d/case /etc/dpkg/dpkg.cfg.d/case; dpkg --purge half');
      },
    );

    itOnce('are installed by units whose systemd exposure is at most the documented one', async () => {
      const docs = await readFile(join(repository, 'docs/operations/site.md'), 'utf8');
      const rows = [...docs.matchAll(/^\| `(fleet-agent[^`]*)` \| ([0-9.]+) [A-Z]+ \|/gm)];
      expect(rows.map(([, unit]) => unit)).toEqual(['fleet-agent.service', 'fleet-agent-runner@.service']);
      for (const [, unit = '', documented] of rows) {
        const said = await sh(
          `systemd-analyze security --no-pager ${unit.replace('@', '@step')} | tail -n 1`,
        );
        expect(Number(/: ([0-9.]+) /.exec(said)?.[1]), said).toBeLessThanOrEqual(Number(documented));
      }
    });

    itOnce('are corrected by the restricted service', async () => {
      await applied(await packed('greeter', [hello('1.0'), libgreet('1.0')]));
      await sh('dpkg --remove hello');
      await sh(
        `printf 'FLEET_NOW=2026-11-21T08:00:00Z\nFLEET_AGENT_INTERVAL=5s\n' > /etc/default/fleet-agent; systemctl start fleet-agent`,
      );
      await sh(
        'for i in $(seq 600); do dpkg -l hello | grep -q ^ii && exit 0; sleep 0.2; done; journalctl -u fleet-agent -n 40; exit 1',
      );
      expect(await sh('grep -c NoNewPrivs:.1 /proc/$(systemctl show -P MainPID fleet-agent)/status')).toBe(
        '1',
      );
      await sh('systemctl stop fleet-agent; rm /etc/default/fleet-agent');
    });
  },
);
