import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isReservedUnit } from '../../../bundles/formats/bounds/reserved-units.ts';
import { parseTimeSpan } from '../../../bundles/formats/bounds/time-span.ts';
import { describeOnDebians } from '../../harness/hosts/describe-on-debians.ts';
import { startUnitsHost, SYSTEM, type UnitsHost } from './units-host/world.ts';

/** The limits on order and time of units (docs/workspaces.md), asked of systemd itself. */
describeOnDebians([], 'the limits of units without root', ({ base, debian }) => {
  let world: UnitsHost;
  beforeAll(async () => {
    world = await startUnitsHost(`limits-${debian}`, base);
  });
  afterAll(() => world?.host.remove());

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

  it('refuse braces in a pattern, which systemd expands, and patterns of folders, which it searches', async () => {
    await world.sh('mkdir -p /run/found/b/c && touch /run/found/b/c/job-1.json');
    const starts = async (pattern: string): Promise<string> => {
      await world.put(`${SYSTEM}/look.service`, '[Service]\nExecStart=/bin/sleep 1000\n');
      await world.put(`${SYSTEM}/look.path`, `[Path]\nPathExistsGlob=${pattern}\n`);
      await world.sh('systemctl daemon-reload; systemctl start look.path; sleep 0.2');
      const state = await world.sh('systemctl show -P ActiveState look.service');
      await world.sh('systemctl stop look.path look.service');
      return state.trim();
    };
    expect(await starts('/run/found/{a,b}/{c,d}/job-1.json')).toBe('active');
    expect(await starts('/run/*/b/*/job-1.json')).toBe('active');
    expect(await starts('/run/found/b/c/job-*.json')).toBe('active');
    expect(await starts('/run/found/b/c/job-?.yaml')).toBe('inactive');
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
