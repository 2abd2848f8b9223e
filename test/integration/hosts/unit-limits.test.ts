import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isBaseAccount } from '../../../bundles/formats/bounds/base-accounts.ts';
import { unitViolation } from '../../../bundles/formats/bounds/check-unit.ts';
import { isReserved } from '../../../bundles/formats/bounds/reserved-paths.ts';
import { isReservedUnit } from '../../../bundles/formats/bounds/reserved-units.ts';
import { parseTimeSpan } from '../../../bundles/formats/bounds/time-span.ts';
import { describeOnDebiansAndSid } from '../../harness/hosts/describe-on-debians.ts';
import { SYSTEM, useUnitsHost } from './units-host/world.ts';

const NOTHING = { unit: () => false, user: () => false, directory: () => false, file: () => false };

/** Texts in systemd's programs that only look like a path. */
const isText = (path: string): boolean =>
  ['/etc/resolve.conf', '/run/systemd.pre-switch-root', '/var/lib/machine', '/var/lib/machineCan'].includes(
    path,
  ) || path.startsWith('/var/lib/systemd');

/** The limits on order and time of units (docs/workspaces.md), asked of systemd itself. */
describeOnDebiansAndSid([], 'the limits of units without root', ({ base, debian }) => {
  const world = useUnitsHost(`limits-${debian}`, base);

  const property = async (unit: string, name: string): Promise<number | undefined> =>
    parseTimeSpan((await world.sh(`systemctl show -P ${name} ${unit}`)).trim());

  it('read timeouts as systemd does', async () => {
    const texts = [
      '0',
      '0min',
      'infinity',
      '90',
      '1min 30s',
      '1min30s',
      '2h',
      '1.5m',
      '500ms',
      '1 day 2 hr',
      '1M',
      '3w',
    ];
    const named = texts.map((text, at) => [`span-${at}.service`, text] as const);
    for (const [name, text] of named)
      await world.put(`${SYSTEM}/${name}`, `[Service]\nExecStart=/bin/true\nTimeoutStopSec=${text}\n`);
    await world.sh('systemctl daemon-reload');
    for (const [name, text] of named)
      expect([text, await property(name, 'TimeoutStopUSec')]).toEqual([text, parseTimeSpan(text)]);
  });

  it('have no default start timeout for one-shots', async () => {
    const seconds = async (type: string): Promise<number | undefined> => {
      await world.put(`${SYSTEM}/start.service`, `[Service]\nType=${type}\nExecStart=/bin/true\n`);
      await world.sh('systemctl daemon-reload');
      return property('start.service', 'TimeoutStartUSec');
    };
    expect([await seconds('oneshot'), await seconds('notify')]).toEqual([Number.POSITIVE_INFINITY, 90]);
  });

  it('reserve the names of all units that a host has', async () => {
    const units = await readdir(join(base, 'usr/lib/systemd/system'));
    const names = units.flatMap(
      (unit) => /^([a-z0-9-]+)(?:@[^.]*)?\.(?!d$|wants$)[a-z]+$/.exec(unit)?.[1] ?? [],
    );
    expect(names.length).toBeGreaterThan(100);
    expect(names.filter((name) => !isReservedUnit(name))).toEqual([]);
  });

  it('leave out patterns of files, of which systemd holds every match in its memory', async () => {
    await world.sh(
      `mkdir -p /run/found && cd /run/found && python3 -c "for i in range(100000): open('a' * 240 + '%010d' % i, 'w').close()"`,
    );
    await world.put(`${SYSTEM}/look.service`, '[Service]\nExecStart=/bin/sleep 1000\n');
    await world.put(`${SYSTEM}/look.path`, '[Path]\nPathExistsGlob=/run/found/*\n');
    const most = async (): Promise<number> =>
      Number(await world.sh(`awk '/VmHWM/ {print $2}' /proc/1/status`));
    await world.sh('systemctl daemon-reload');
    const before = await most();
    await world.sh('systemctl start look.path');
    // 20 MiB of names in kB.
    expect((await most()) - before).toBeGreaterThan(20 << 10);
    await world.sh('systemctl stop look.path look.service; rm -r /run/found');
    const unit = Buffer.from('[Path]\nPathExistsGlob=/run/found/*\n');
    expect(unitViolation('look.path', unit, { ...NOTHING, unit: () => true })).toContain('PathExistsGlob');
  });

  it('bound the calendars of timers, each of which systemd itself computes', async () => {
    const cpu = async (): Promise<number> =>
      (await world.sh("cut -d' ' -f14,15 /proc/1/stat"))
        .split(' ')
        .reduce((sum, one) => sum + Number(one), 0);
    const cost = async (count: number): Promise<number> => {
      await world.put(`${SYSTEM}/often.service`, '[Service]\nExecStart=/bin/true\n');
      await world.put(
        `${SYSTEM}/often.timer`,
        `[Timer]\n${'OnCalendar=Mon *-2,4,6,9,11-31\n'.repeat(count)}`,
      );
      await world.sh('systemctl daemon-reload');
      const before = await cpu();
      await world.sh('systemctl start often.timer; systemctl stop often.timer');
      return (await cpu()) - before;
    };
    // In hundredths of a second. A unit file has room for 8,000 such lines.
    expect(await cost(128)).toBeGreaterThan(await cost(16));
  });

  it('reserve the accounts that a host has before any package, which DynamicUser= takes', async () => {
    const runsAs = async (name: string): Promise<string> => {
      await world.put(
        `${SYSTEM}/${name}.service`,
        '[Service]\nType=oneshot\nDynamicUser=yes\nExecStart=/bin/sh -c "id -un >/run/as"\nBindPaths=/run\n',
      );
      await world.sh(
        `touch /run/as; chmod 666 /run/as; systemctl daemon-reload; systemctl start ${name}.service`,
      );
      return world.sh(`cat /run/as; rm /run/as ${SYSTEM}/${name}.service`);
    };
    expect([await runsAs('root'), await runsAs('backup')]).toEqual(['root', 'backup']);
    const names = (await world.sh('cut -d: -f1 /etc/passwd /etc/group')).split('\n');
    expect(names).toContain('disk');
    expect(names.filter((name) => !isBaseAccount(name))).toEqual([]);
  });

  it('reserve what the host has below /etc, and every folder that systemd itself names', async () => {
    const etc = (await world.sh('ls /etc')).split('\n').map((name) => `/etc/${name}`);
    expect(etc.length).toBeGreaterThan(60);
    const found = await world.sh(
      `find /usr/lib/systemd /usr/lib/*/systemd /usr/bin/systemd-sysext /usr/bin/systemd-tmpfiles -type f -print0 | xargs -0 grep -aohE '/(etc|run|var/lib)/[A-Za-z][A-Za-z0-9._-]+[A-Za-z0-9]' | sort -u`,
    );
    const folders = found.split('\n').filter((path) => !isText(path));
    expect(folders).toContain('/run/tmpfiles.d');
    expect([...etc, ...folders].filter((path) => !isReserved(path))).toEqual([]);
  });

  const cycles = async (files: Readonly<Record<string, string>>): Promise<readonly string[]> => {
    for (const [name, text] of Object.entries(files)) await world.put(`${SYSTEM}/${name}`, text);
    const names = Object.keys(files).join(' ');
    await world.sh(`systemctl daemon-reload; systemctl enable --quiet ${names}`);
    const said = await world.sh('systemd-analyze verify --man=no default.target 2>&1 || true');
    await world.sh(`systemctl disable --quiet ${names}`);
    return said.split('\n').filter((line) => /cycle/.test(line));
  };
  const run = 'DynamicUser=yes\nType=oneshot\nExecStart=/bin/true\n';
  const service = (wantedBy: string, unit = ''): string =>
    `[Unit]\n${unit}\n[Service]\n${run}[Install]\nWantedBy=${wantedBy}\n`;

  it('accept units that close no cycle with the units of a boot, and refuse the others', async () => {
    expect(
      await cycles({
        'own.service': service(
          'multi-user.target timers.target',
          'After=network-online.target ssh.service\nBefore=graphical.target',
        ),
        'late.service': service('graphical.target', 'Before=multi-user.target shutdown.target'),
        'own.path': '[Path]\nPathExists=/x\n[Install]\nWantedBy=paths.target\n',
        'own.timer': '[Timer]\nOnBootSec=1h\n[Install]\nWantedBy=timers.target\n',
      }),
    ).toEqual([]);
    expect(await cycles({ 'early.service': service('paths.target') })).not.toEqual([]);
    expect(
      await cycles({
        'wait.service': service('network-online.target', 'After=hub.service'),
        'hub.service': service(
          'multi-user.target',
          'Wants=network-online.target\nAfter=network-online.target',
        ),
      }),
    ).not.toEqual([]);
  });
});
