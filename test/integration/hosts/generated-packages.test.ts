import type * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askOnHost, DAEMON_BINDS } from '../../agent/apply/host/restricted-daemon.ts';
import { type FactoryHost, startFactoryHost } from '../../harness/hosts/factory-host.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { LONG, runs } from '../../harness/run/long.ts';
import { tryWorlds } from '../../harness/run/try-worlds.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { buildDeb } from './debs-host/test-deb.ts';
import { authored, type World, worldFor } from './generated-packages/worlds.ts';
import { build } from './playbooks-host/world.ts';
import { startQuadletsHost } from './quadlets-host/start-quadlets-host.ts';

/** Everything on the host that a package may change, but for files that programs of the host write without the agent. */
const SNAPSHOT = `
  find / /run/prop -xdev \\( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /root -o -path '/var/lib/agent*' \\
    -o -path /var/log -o -path /var/tmp -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/lib/systemd \\
    -o -path /etc/prop-playbook -o -path '*/__pycache__' \\) -prune -o -printf '%p %y %m %U:%G %l\\n' 2>/dev/null | sort
  find /srv /data /etc /opt/prop /run/prop /usr/lib/prop* /var/lib/prop* -type f 2>/dev/null | grep -v '^/etc/prop-playbook' | sort | xargs sha256sum
  systemctl list-unit-files --no-pager --no-legend 'prop*'
  systemctl list-units --all --no-pager --plain --no-legend 'prop*'
  dpkg-query --show --showformat '\${Package} \${Status}\\n' 'prop*' 2>/dev/null
  systemctl show --value -p Nice prop-host.service
  if command -v podman > /dev/null; then podman ps --all --format '{{.Names}} {{.Image}}'; fi
  true`;

type HostOfWorlds = {
  readonly start: () => Promise<FactoryHost>;
  readonly worlds: fc.Arbitrary<World>;
  readonly numRuns: number;
};

/** Apply, look twice: nothing more runs, nothing is flagged, nothing is lost; remove: the host is as before. */
const worldsOnHost = ({ start, worlds, numRuns }: HostOfWorlds): void => {
  let host: FactoryHost;
  let ask: ReturnType<typeof askOnHost>;
  const debs = new Map<string, Buffer>();
  beforeAll(async () => {
    await using folder = await temporaryDirectory('generated-debs');
    for (const version of ['1.0', '2.0'])
      debs.set(
        version,
        await buildDeb(folder.path, {
          name: 'prop',
          version,
          files: { '/usr/share/prop/version': `${version}\n`, '/etc/prop-deb.conf': `${version}\n` },
          conffiles: ['/etc/prop-deb.conf'],
        }),
      );
    host = await start();
    ask = askOnHost(host);
  });
  afterAll(() => host?.remove());

  const sh = async (script: string): Promise<string> => {
    const { code, stdout, stderr } = await host.look(['/bin/sh', '-c', script]);
    if (code !== 0) throw new Error(`${script}: ${stderr}`);
    return stdout;
  };
  const snapshot = async () => (await sh(SNAPSHOT)).split('\n');

  const prepare = ({ files, link, hostUnit }: World['before']): Promise<string> =>
    sh(`
    rm -rf /srv/prop /data/prop /usr/lib/prop /etc/prop /opt/prop /run/prop /etc/prop-playbook
    mkdir -p /data/prop
    ${link ? 'ln -s ../data/prop /srv/prop' : ''}
    for path in ${files.join(' ')}; do
      mkdir -p "$(dirname "$path")"; echo "of the administrator" > "$path"; chmod 0640 "$path"; chown 33 "$path"
    done
    printf '[Service]\\nExecStart=/bin/sleep inf\\n[Install]\\nWantedBy=multi-user.target\\n' > /usr/local/lib/systemd/system/prop-host.service
    systemctl daemon-reload
    systemctl ${hostUnit.enabled ? 'enable' : 'disable'} --quiet prop-host
    systemctl ${hostUnit.active ? 'start' : 'stop'} prop-host`);

  it('apply without further changes, drift or loss, and their removal restores the host', async () => {
    await sh('mkdir -p /usr/local/lib/systemd/system');
    await tryWorlds({ worlds, numRuns }, async ({ before, releases }) => {
      await prepare(before);
      const start = await snapshot();
      try {
        for (const release of releases) {
          const { spec, files } = authored(release, debs);
          const built = await build(spec, files);
          await ask({ verb: 'apply', spec: null, built });
          for (const verb of ['observe', 'plan'])
            expect([verb, await ask({ verb, spec: null, built })]).toEqual([verb, []]);
        }
      } finally {
        await ask({ verb: 'apply', spec: null });
      }
      expect(await snapshot()).toEqual(start);
    });
  }, 3_600_000);
};

/** Today's stable Debian; in a long run the one before it, too, each with half of the worlds. */
const BASES = LONG ? (['factoryBase13', 'factoryBase'] as const) : (['factoryBase13'] as const);

describe.each(BASES)('%s', (base) =>
  describeWith([base], 'generated packages on a booted host', (paths) =>
    worldsOnHost({
      start: () =>
        startFactoryHost(`generated-${base.toLowerCase()}`, { base: paths[base], binds: DAEMON_BINDS }),
      worlds: worldFor('with Ansible'),
      numRuns: runs(200, 40) / BASES.length,
    }),
  ),
);

describeWith(['podmanHost', 'busybox'], 'generated packages on a booted host with Podman', (paths) => {
  let media: TemporaryDirectory | undefined;
  afterAll(() => media?.[Symbol.asyncDispose]());
  worldsOnHost({
    start: async () => {
      media = await temporaryDirectory('generated-quadlets');
      return startQuadletsHost('generated-podman', { ...paths, media: media.path });
    },
    worlds: worldFor('with Podman'),
    numRuns: runs(200, 100),
  });
});
