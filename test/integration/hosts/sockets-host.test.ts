import { expect, it } from 'vitest';
import type { HostUnit } from '../../../bundles/formats/bundle/host-package.ts';
import type { PackageSpec } from '../../agent/apply/host/sandbox.ts';
import { describeOnDebian } from '../../harness/hosts/describe-on-debians.ts';
import { off, SYSTEM, unit, useUnitsHost } from './units-host/world.ts';

describeOnDebian(12, 'sid')(
  [],
  'units that sockets, timers and path units start',
  ({ base, debian, itOnce }) => {
    const { sh, apply, drifts, put, environment, invocation, said } = useUnitsHost(`sockets-${debian}`, base);

    it('are examined and listed beside their socket when they are templates', async () => {
      const now: PackageSpec = {
        files: {
          [`${SYSTEM}/talk.socket`]:
            '[Socket]\nListenStream=127.0.0.1:7300\nAccept=yes\n[Install]\nWantedBy=sockets.target\n',
          [`${SYSTEM}/talk@.service`]: '[Service]\nStandardInput=socket\nExecStart=/bin/echo one\n',
        },
        units: [unit('talk.socket'), off('talk@.service')],
      };
      await apply(now);
      expect(await drifts(now)).toEqual([]);
      expect(await said(7300)).toBe('one');
      const two = {
        ...now,
        files: {
          ...now.files,
          [`${SYSTEM}/talk@.service`]: '[Service]\nStandardInput=socket\nExecStart=/bin/echo two\n',
        },
      };
      await apply(two);
      expect(await said(7300)).toBe('two');
      expect(await drifts(two)).toEqual([]);
      await apply(null);
    });

    /** Says its text on every socket that it gets from systemd. */
    const server = (text: string): string => `#!/usr/bin/python3
import os, select, socket
listening = [socket.socket(fileno=3 + n) for n in range(int(os.environ['LISTEN_FDS']))]
while True:
    for one in select.select(listening, [], [])[0]:
        c, _ = one.accept()
        c.sendall(b"${text}\\n")
        c.close()
`;
    const socket = (port: number, service = ''): string =>
      `[Socket]\nListenStream=127.0.0.1:${port}\n${service}[Install]\nWantedBy=sockets.target\n`;
    type Echo = {
      readonly text?: string;
      readonly ports?: readonly [number, number];
      readonly more?: string;
    };
    const echo = (
      units: readonly HostUnit[],
      { text = 'one', ports = [7101, 7102], more = '' }: Echo = {},
    ): PackageSpec => ({
      files: {
        '/opt/echo/serve.py': { content: server(text), mode: '0755' },
        [`${SYSTEM}/echo-one.socket`]: socket(ports[0], 'Service=echo.service\n'),
        [`${SYSTEM}/echo-two.socket`]: socket(ports[1], 'Service=echo.service\n'),
        [`${SYSTEM}/echo.service`]: `[Service]\n${more}ExecStart=/opt/echo/serve.py\n`,
      },
      units,
    });
    const [one, two] = [unit('echo-one.socket'), unit('echo-two.socket')];
    const restartOn = ['/opt/echo/serve.py'];
    /** Of a service that is not to be active the agent knows the program by ExecStart=. */
    const listings: readonly (readonly [string, readonly HostUnit[]])[] = [
      ['idle and listed', [one, two, off('echo.service')]],
      ['not listed', [one, two]],
      ['active and listed last', [one, two, unit('echo.service', { enabled: false, restartOn })]],
      ['active and listed first', [unit('echo.service', { enabled: false, restartOn }), one, two]],
    ];
    for (const [title, units] of listings)
      (title.endsWith('last') ? itOnce : it)(
        `behind two sockets are one group with them: a service that is ${title}`,
        async () => {
          await apply(echo(units));
          expect([await said(7101), await said(7102)]).toEqual(['one', 'one']);
          expect(await drifts(echo(units))).toEqual([]);
          // Another port of one socket, while the service runs.
          await apply(echo(units, { ports: [7201, 7102] }));
          expect([await said(7201), await said(7102)]).toEqual(['one', 'one']);
          expect(await said(7101)).toMatch(/refused/);
          // Another program, and another text of the service itself.
          await apply(echo(units, { ports: [7201, 7102], text: 'two' }));
          expect([await said(7201), await said(7102)]).toEqual(['two', 'two']);
          const last = echo(units, { ports: [7101, 7202], text: 'three', more: 'Environment=BY=three\n' });
          await apply(last);
          expect([await said(7101), await said(7202)]).toEqual(['three', 'three']);
          await expect.poll(() => environment('echo')).toBe('BY=three');
          expect(await drifts(last)).toEqual([]);
          expect(await apply(last)).toEqual([]);
          expect(await sh('systemctl is-active echo-one.socket echo-two.socket echo.service')).toBe(
            'active\nactive\nactive',
          );
          // A connection during the removal starts nothing that stays.
          await apply(null);
          expect(
            await sh(
              'systemctl list-units --all --plain --no-legend "echo*"; ls /etc/systemd/system | grep echo || true',
            ),
          ).toBe('');
        },
      );

    it('are restored when a socket failed beside its running service', async () => {
      const now = echo([one, two]);
      await apply(now);
      await said(7101);
      await sh('systemctl stop echo-one.socket; systemctl start echo-one.socket || true');
      expect(await sh('systemctl is-active echo-one.socket || true')).not.toBe('active');
      await apply(now);
      expect([await said(7101), await said(7102)]).toEqual(['one', 'one']);
    });

    it('lose no socket of the group when a port is taken or the power is cut', async () => {
      const now = echo([one, two]);
      await sh(
        'systemd-run --unit=thief --quiet python3 -c "import socket,time; s=socket.create_server((\'127.0.0.1\', 7901)); time.sleep(1e6)"',
      );
      await expect.poll(() => sh('ss -Hltn "sport = :7901"')).not.toBe('');
      await said(7102);
      await expect(apply(echo([one, two], { ports: [7901, 7102] }))).rejects.toMatchObject({
        code: 'UNIT_FAILED',
      });
      expect(await said(7102)).toBe('one');
      await apply(now);
      expect([await said(7101), await said(7102)]).toEqual(['one', 'one']);
      await sh('systemctl stop thief');

      // As if the agent was killed between the stop and the start of the group: the socket that is not of the package's list comes back.
      const single = echo([one]);
      await apply(null);
      await put(`${SYSTEM}/echo-two.socket`, socket(7102, 'Service=echo.service\n'));
      await apply({
        ...single,
        files: Object.fromEntries(
          Object.entries(single.files ?? {}).filter(([path]) => !path.includes('two')),
        ),
      });
      await sh('systemctl daemon-reload; systemctl start echo-two.socket');
      expect([await said(7101), await said(7102)]).toEqual(['one', 'one']);
      await sh(`systemctl stop echo-two.socket echo-one.socket echo.service
      printf '["echo-two.socket","echo.service"]' > /var/lib/agent/backups/started/echo-one.socket.stopped.json`);
      await apply({
        ...single,
        files: Object.fromEntries(
          Object.entries(single.files ?? {}).filter(([path]) => !path.includes('two')),
        ),
      });
      expect(await sh('systemctl is-active echo-one.socket echo-two.socket echo.service')).toBe(
        'active\nactive\nactive',
      );
      await apply(null);
      await sh(`rm -f ${SYSTEM}/echo-two.socket; systemctl daemon-reload`);
    });

    it('by Unit= have new files: a daemon at once, a one-shot at its next run', async () => {
      const daemon = (by: string): PackageSpec => ({
        files: {
          [`${SYSTEM}/tick.timer`]:
            '[Timer]\nOnActiveSec=0\nUnit=watch.service\n[Install]\nWantedBy=timers.target\n',
          [`${SYSTEM}/watch.service`]: `[Service]\nEnvironment=BY=${by}\nExecStart=/bin/sleep infinity\n`,
          [`${SYSTEM}/drop.path`]:
            '[Path]\nPathExists=/run/dropped\nUnit=read.service\n[Install]\nWantedBy=paths.target\n',
          [`${SYSTEM}/read.service`]: `[Service]\nType=oneshot\nEnvironment=BY=${by}\nExecStart=/bin/sleep 1000\n`,
        },
        units: [unit('tick.timer'), unit('drop.path'), off('read.service')],
      });
      await apply(daemon('one'));
      await sh('touch /run/dropped');
      await expect.poll(() => sh('systemctl is-active watch read || true')).toBe('active\nactivating');
      const run = await invocation('read');
      await apply(daemon('two'));
      // A job of Type=simple has ended before systemd's executor runs the program.
      await expect.poll(() => environment('watch')).toBe('BY=two');
      expect(await invocation('read')).toBe(run);
      expect(await drifts(daemon('two'))).toEqual([]);
      await apply(null);
      await sh('rm /run/dropped');
      expect(
        await sh('systemctl list-units --all --plain --no-legend "tick*" "watch*" "drop*" "read*"'),
      ).toBe('');
    });
  },
);
