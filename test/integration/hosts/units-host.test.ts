import { expect, it } from 'vitest';
import { dropInFolders } from '../../../agent/apply/host/systemd/unit-names.ts';
import type { PackageSpec } from '../../agent/apply/host/sandbox.ts';
import { describeOnDebiansAndSid } from '../../harness/hosts/describe-on-debians.ts';
import { SYSTEM, unit, useUnitsHost } from './units-host/world.ts';

const sleeping = (more = ''): string =>
  `[Service]\nType=exec\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n${more}`;
const HAND = '[Service]\nEnvironment=BY=hand\n';

describeOnDebiansAndSid([], 'units as systemd reads them', ({ base, debian }) => {
  const { sh, apply, drifts, put, environment, invocation, observe } = useUnitsHost(`units-${debian}`, base);

  it('have the drop-in folders that systemd reads', async () => {
    const names = [
      'a-b@1.service',
      'a-b@.service',
      'a--b-.service',
      'a-b-c.service',
      'a-b.socket',
      'service',
    ];
    const folders = new Set([
      ...names.flatMap((name) => [...dropInFolders(name)]),
      'b@1.service.d',
      '@.service.d',
      'a-b.service.d',
      'a-b-@1.service.d',
      'b.service.d',
      'a-.d',
    ]);
    for (const name of names.slice(1, 4)) await put(`${SYSTEM}/${name}`, sleeping());
    for (const folder of folders) await put(`${SYSTEM}/${folder}/${folder}.conf`, HAND);
    await sh('systemctl daemon-reload');
    for (const name of ['a-b@1.service', 'a--b-.service', 'a-b-c.service']) {
      const read = (await sh(`systemctl show -P DropInPaths ${name}`)).split(' ');
      const known = [...dropInFolders(name)].map((folder) => `${SYSTEM}/${folder}/${folder}.conf`);
      expect(read.toSorted()).toEqual(known.toSorted());
    }
    await sh(
      `cd ${SYSTEM} && rm -r *.service.d *.socket.d service.d socket.d a-.d a-b@.service a--b-.service a-b-c.service && systemctl daemon-reload`,
    );
  });

  const press = (more: Readonly<Record<string, string>> = {}): PackageSpec => ({
    files: {
      [`${SYSTEM}/press-a.service`]: sleeping('Alias=stamp.service\n'),
      [`${SYSTEM}/line@.service`]: sleeping(),
      ...more,
    },
    units: [unit('press-a.service'), unit('line@1.service')],
  });

  it('are restarted by a drop-in of the package for a prefix, an alias, a template and a type', async () => {
    await apply(press());
    for (const folder of ['press-.service.d', 'stamp.service.d', 'service.d', 'press-a.service.d']) {
      const lines = await apply(
        press({ [`${SYSTEM}/${folder}/10-by.conf`]: `[Service]\nEnvironment=BY=${folder}\n` }),
      );
      expect(lines).toContain('configured unit:press-a.service: restart: a file it reads changed');
      await expect.poll(() => environment('press-a')).toBe(`BY=${folder}`);
    }
    const before = await invocation('press-a');
    await apply(press({ [`${SYSTEM}/line@.service.d/10-by.conf`]: '[Service]\nEnvironment=BY=line\n' }));
    await expect.poll(() => environment('line@1')).toBe('BY=line');
    // The drop-in for its own name was taken away, and nothing else since.
    expect(await invocation('press-a')).not.toBe(before);
    expect(await environment('press-a')).toBe('');
    await apply(press());
  });

  it('are drift when someone wrote a drop-in for them, and corrected when nothing else needs it', async () => {
    const now = press();
    const own = [
      'press-a.service.d',
      'press-.service.d',
      'stamp.service.d',
      'line@.service.d',
      'line@1.service.d',
    ];
    const places = [
      '/etc/systemd/system',
      '/run/systemd/system',
      '/usr/local/lib/systemd/system',
      '/usr/lib/systemd/system',
    ];
    for (const [index, folder] of own.entries()) {
      const place = places[index % places.length];
      const path = `${place}/${folder}/50-by hand.conf`;
      await put(path, HAND);
      expect(await drifts(now)).toEqual([`drop-in ${path}`]);
      await sh('systemctl daemon-reload; systemctl restart press-a line@1');
      expect(await drifts(now)).toEqual([`drop-in ${path}`]);
      expect(await apply(now)).toEqual(
        expect.arrayContaining([
          expect.stringMatching(
            new RegExp(`^deleted file:${path}: a drop-in that is not of the package; a copy is kept`),
          ),
          'configured systemd:daemon-reload: unit files changed',
        ]),
      );
      expect([await environment('press-a'), await environment('line@1')]).toEqual(['', '']);
      expect(await drifts(now)).toEqual([]);
      await sh(`rmdir '${place}/${folder}'; systemctl reset-failed`);
    }
    // Other units of the host have it, too: nothing of the host may go with a package.
    for (const place of places) {
      const path = `${place}/service.d/50-hand.conf`;
      await put(path, HAND);
      await sh('systemctl daemon-reload');
      expect(await drifts(now)).toEqual([`drop-in ${path} !`]);
      expect((await observe(now))[0]?.message).toMatch(
        /changes press-a\.service, line@1\.service and is .* because it changes units of the host as well, [^ ]+\.service for one$/,
      );
      expect(await apply(now)).toEqual([]);
      await sh(`rm -r ${place}/service.d; systemctl daemon-reload`);
    }
    await put(`${SYSTEM}/press-b.service`, sleeping());
    await put(`${SYSTEM}/press-.service.d/50-hand.conf`, HAND);
    expect(await drifts(now)).toEqual([`drop-in ${SYSTEM}/press-.service.d/50-hand.conf !`]);
    await sh(`rm -r ${SYSTEM}/press-b.service ${SYSTEM}/press-.service.d; systemctl daemon-reload`);
    expect(await drifts(now)).toEqual([]);
  });

  it('have no drift by the drop-in of a Debian package', async () => {
    await sh(`mkdir -p /tmp/deb/DEBIAN /tmp/deb/usr/lib/systemd/system/press-a.service.d
      printf 'Package: press-limits\\nVersion: 1\\nArchitecture: all\\nMaintainer: x <x@example.invalid>\\nDescription: x\\n' > /tmp/deb/DEBIAN/control
      printf '[Service]\\nTasksMax=77\\n' > /tmp/deb/usr/lib/systemd/system/press-a.service.d/limits.conf
      dpkg-deb -b /tmp/deb /tmp/press-limits.deb && dpkg -i /tmp/press-limits.deb && systemctl daemon-reload`);
    expect(await drifts(press())).toEqual([]);
    await sh('dpkg -P press-limits && systemctl daemon-reload');
  });

  it('are drift when another file takes the place of their file, and corrected', async () => {
    const vendor = '/usr/lib/systemd/system/press-v.service';
    const now: PackageSpec = {
      files: {
        [vendor]: sleeping(),
        [`${SYSTEM}/line@.service`]: sleeping(),
        '/opt/far/far.service': sleeping(),
      },
      units: [unit('press-v.service'), unit('line@1.service'), unit('far.service')],
    };
    await apply(now);
    expect(await drifts(now)).toEqual([]);
    const other = sleeping().replace('infinity', '77777');
    const running = (name: string) => sh(`tr '\\0' ' ' < /proc/$(systemctl show -P MainPID ${name})/cmdline`);
    for (const [path, name] of [
      [`${SYSTEM}/press-v.service`, 'press-v.service'],
      ['/run/systemd/system/press-v.service', 'press-v.service'],
      ['/usr/local/lib/systemd/system/press-v.service', 'press-v.service'],
      [`${SYSTEM}/line@1.service`, 'line@1.service'],
      ['/usr/lib/systemd/system/line@1.service', 'line@1.service'],
      ['/etc/systemd/system.control/far.service', 'far.service'],
    ] as const) {
      await put(path, other);
      expect(await drifts(now)).toEqual([`shadow ${path}`]);
      await sh(`systemctl daemon-reload; systemctl restart ${name}`);
      expect(await running(name)).toBe('/bin/sleep 77777');
      expect(await drifts(now)).toEqual([`shadow ${path}`]);
      expect((await observe(now))[0]?.message).toBe(`${path} replaces ${name} and is not of the package`);
      expect(await apply(now)).toEqual(
        expect.arrayContaining([
          expect.stringMatching(new RegExp(`^deleted file:${path}: .*a copy is kept`)),
        ]),
      );
      expect(await running(name)).toBe('/bin/sleep infinity');
      expect(await drifts(now)).toEqual([]);
      expect(await apply(now)).toEqual([]);
    }
    // Of lower precedence: systemd does not read them.
    await put('/run/systemd/system/line@.service', other);
    await put('/usr/lib/systemd/system/far.service', other);
    expect(await drifts(now)).toEqual([]);
    await sh(
      'rm /run/systemd/system/line@.service /usr/lib/systemd/system/far.service; systemctl daemon-reload',
    );
    // An alias of another unit by that name: what it leads to belongs to the host.
    await sh(
      'systemctl stop press-v; ln -s /usr/lib/systemd/system/dbus.service /etc/systemd/system/press-v.service; systemctl daemon-reload',
    );
    expect(await drifts(now)).toContain(`shadow ${SYSTEM}/press-v.service`);
    await apply(now);
    expect(await drifts(now)).toEqual([]);
    expect(await sh('ls /usr/lib/systemd/system/dbus.service')).not.toBe('');
    await apply(null);
  });

  it('of the host keep the drop-ins of before the package, and no later ones', async () => {
    await put(`${SYSTEM}/mill-a.service`, sleeping());
    await put(`${SYSTEM}/mill-.service.d/10-site.conf`, HAND);
    await sh('systemctl daemon-reload; systemctl enable --now mill-a');
    const now: PackageSpec = { units: [unit('mill-a.service')] };
    await apply(now);
    expect(await drifts(now)).toEqual([]);
    await put(`${SYSTEM}/mill-.service.d/20-later.conf`, HAND);
    await put('/etc/systemd/system.control/mill-a.service', sleeping());
    expect(await drifts(now)).toEqual([
      'shadow /etc/systemd/system.control/mill-a.service',
      `drop-in ${SYSTEM}/mill-.service.d/20-later.conf`,
    ]);
    await apply(now);
    expect(await sh(`ls ${SYSTEM}/mill-.service.d /etc/systemd/system.control`)).not.toMatch(/later|mill-a/);
    await expect.poll(() => environment('mill-a')).toBe('BY=hand');
    // An agent that knew drop-ins by the unit's own name only has recorded no others: they are no drift after its upgrade.
    await sh(
      `sed -i 's/,"everyKind":true//; s/"dropIns":\\[[^]]*\\]/"dropIns":[]/' /var/lib/agent/inventory.json; grep -c everyKind /var/lib/agent/inventory.json || true`,
    );
    expect(await drifts(now)).toEqual([]);
    await put(`${SYSTEM}/mill-a.service.d/30-own.conf`, HAND);
    expect(await drifts(now)).toEqual([`drop-in ${SYSTEM}/mill-a.service.d/30-own.conf`]);
    await apply(now);
    expect(await sh(`ls ${SYSTEM}/mill-.service.d`)).toBe('10-site.conf');
    await put(`${SYSTEM}/mill-.service.d/20-later.conf`, HAND);
    expect(await drifts(now)).toEqual([`drop-in ${SYSTEM}/mill-.service.d/20-later.conf`]);
    await apply(null);
    expect(await sh(`systemctl is-active mill-a; rm -r ${SYSTEM}/mill-*; systemctl daemon-reload`)).toBe(
      'active',
    );
  });
});
