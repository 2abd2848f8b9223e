import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CheckResult, Drift } from '../../../agent/model/target.ts';
import type { BuiltPackage } from '../../agent/apply/host/built-package.ts';
import {
  askOnHost,
  DAEMON_BINDS,
  installRestrictedDaemon,
} from '../../agent/apply/host/restricted-daemon.ts';
import type { PackageSpec } from '../../agent/apply/host/sandbox.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type FactoryHost, startFactoryHost } from '../../harness/hosts/factory-host.ts';
import { makeBusyboxImage } from '../../harness/kubernetes/busybox-image.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { build } from './playbooks-host/world.ts';

const QUADLET = '/etc/containers/systemd/web.container';

/** Limits as they are, because raising one takes a capability that a host of these tests lacks. */
const SETTINGS = `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
`;

/** httpd as the first process of its container ignores SIGTERM: a stop would wait ten seconds for it. */
const web = (port: number): PackageSpec => ({
  files: {
    [QUADLET]: `[Container]\nImage=localhost/web:1\nNetwork=host\nPodmanArgs=--stop-signal=KILL\nExec=/bin/httpd -f -p ${port} -h /www\n[Install]\nWantedBy=multi-user.target\n`,
  },
  units: [{ name: 'web.service', enabled: true, active: true }],
  checks: [
    { type: 'unit', name: 'runs', unit: 'web.service', stableSeconds: 1 },
    { type: 'http', name: 'page', url: `http://127.0.0.1:${port}/`, status: 200, timeoutSeconds: 30 },
  ],
});

describeWith(
  ['podmanHost', 'busybox'],
  'quadlets of a booted host with Podman',
  ({ podmanHost, busybox }) => {
    let host: FactoryHost;
    let askHost: ReturnType<typeof askOnHost>;
    let media: TemporaryDirectory;
    const sh = (script: string): Promise<string> => host.sh(script);
    const ask = (
      verb: 'apply' | 'settle' | 'observe',
      spec: PackageSpec | null,
      built?: BuiltPackage,
    ): Promise<unknown> => askHost({ verb, spec, built });
    const settle = async (spec: PackageSpec) =>
      ((await ask('settle', spec)) as readonly CheckResult[]).map(
        ({ name, outcome }) => `${name} ${outcome}`,
      );

    beforeAll(async () => {
      media = await temporaryDirectory('quadlets');
      const image = await makeBusyboxImage(busybox, join(media.path, 'layout'), { name: 'localhost/web:1' });
      await image.writeArchive(join(media.path, 'web.tar'));
      host = await startFactoryHost('quadlets', {
        base: podmanHost,
        disks: ['/var/lib/containers'],
        binds: [...DAEMON_BINDS, { from: media.path, to: '/media', readOnly: true }],
      });
      askHost = askOnHost(host);
      await host.exec(['/bin/sh', '-c', 'cat > /etc/containers/containers.conf'], { input: SETTINGS });
      await sh(
        'podman load -q -i /media/web.tar && podman tag $(podman images -q | head -n 1) localhost/web:1',
      );
    });
    afterAll(async () => {
      await host?.remove();
      await media?.[Symbol.asyncDispose]();
    });

    it('become services that run, are watched, restarted when they change, put back, and removed', async () => {
      expect(await ask('apply', web(8080))).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^configured systemd:daemon-reload/),
          expect.stringMatching(/^created unit:web.service: start/),
        ]),
      );
      expect(await settle(web(8080))).toEqual(['runs passed', 'page passed']);
      expect(await sh('systemctl is-enabled web.service')).toBe('generated');
      expect(await ask('observe', web(8080))).toEqual([]);
      expect(await ask('apply', web(8080))).toEqual([]);

      expect(await ask('apply', web(8081))).toEqual(
        expect.arrayContaining([expect.stringMatching(/^configured unit:web.service: restart/)]),
      );
      expect(await settle(web(8081))).toEqual(['runs passed', 'page passed']);

      await sh('systemctl stop web.service');
      const drifts = (await ask('observe', web(8081))) as readonly Drift[];
      expect(drifts.map(({ message }) => message)).toEqual([
        expect.stringMatching(/^web\.service is (inactive|failed) \(/),
      ]);
      await ask('apply', web(8081));
      expect(await sh('podman ps --format "{{.Image}}"')).toBe('localhost/web:1');

      expect(await ask('apply', null)).toEqual(
        expect.arrayContaining([expect.stringMatching(/^deleted unit:web.service/)]),
      );
      expect(
        await sh(
          'systemctl list-units --all web.service --no-legend; podman ps -q; ls /etc/containers/systemd 2>&1 || true',
        ),
      ).not.toContain('web');
    });

    it('run the image that comes along as a file of the package, and the next one, without a registry', async () => {
      const carrying = async (page: string): Promise<BuiltPackage> => {
        const layout = join(media.path, page);
        const image = await makeBusyboxImage(busybox, layout, { name: 'carried.example/web:1', page });
        await image.writeArchive(`${layout}.tar`);
        return build(
          `  files:
    - {path: /opt/carried/image.tar, source: image.tar}
    - path: /etc/containers/systemd/carried.container
      content: |
        [Container]
        Image=oci-archive:/opt/carried/image.tar
        Network=host
        PodmanArgs=--stop-signal=KILL
        Exec=/bin/httpd -f -p 8082 -h /www
        [Install]
        WantedBy=multi-user.target
  units: [{name: carried.service, restartOn: [/opt/carried/image.tar]}]
`,
          { 'image.tar': await readFile(`${layout}.tar`) },
        );
      };
      const served = (page: string) =>
        expect
          .poll(
            () =>
              sh(
                'printf "GET / HTTP/1.0\\r\\n\\r\\n" | timeout 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/8082; cat >&3; cat <&3" || true',
              ),
            {
              timeout: 60_000,
            },
          )
          .toContain(page);
      for (const page of ['first', 'second']) {
        const built = await carrying(page);
        await ask('apply', null, built);
        await served(page);
        expect(await ask('observe', null, built)).toEqual([]);
      }
      await ask('apply', null);
      expect(await sh('ls /opt/carried 2>&1 || true')).toContain('No such file');
    });

    it('run an image of the closure, which the runner loads and removes for the restricted daemon', async () => {
      const ask = await installRestrictedDaemon(host);
      const answer = async (verb: 'apply' | 'observe', built: BuiltPackage | null): Promise<unknown> => {
        const said = await ask({ verb, spec: null, ...(built && { built }) });
        const line = await sh('cat /run/answer');
        const [, { answer: given, error }] = JSON.parse(line) as [0, { answer?: unknown; error?: object }];
        if (error) throw new Error(JSON.stringify(error) + said);
        return given;
      };
      const name = 'registry.example/team/web:1';
      // Schema 2, as most of Docker Hub is.
      const image = await makeBusyboxImage(busybox, join(media.path, 'closure'), { name, form: 'docker' });
      const built = await build(
        `  files:
    - path: /etc/containers/systemd/shop.container
      content: |
        [Container]
        Image=${name}
        Network=host
        PodmanArgs=--stop-signal=KILL
        Exec=/bin/httpd -f -p 8083 -h /www
  units: [{name: shop.service}]
`,
        {},
        {},
        image,
      );
      expect(await answer('apply', built)).toEqual(
        expect.arrayContaining([
          `created image:${image.pinned}: it is not in Podman's storage`,
          expect.stringMatching(/^created unit:shop.service: start/),
        ]),
      );
      expect(await sh('podman ps --no-trunc --format "{{.Image}}"')).toBe(image.pinned);
      expect(await answer('observe', built)).toEqual([]);
      expect(await answer('apply', built)).toEqual([]);

      // As one that a container used when its package left it.
      await sh(
        'podman tag localhost/web:1 localhost/web:fleet-ferry-$(podman image inspect --format "{{.Digest}}" localhost/web:1 | cut -d: -f2)',
      );
      expect(await answer('apply', built)).toEqual([
        expect.stringMatching(/^deleted image:localhost\/web@sha256:[0-9a-f]{64}: no longer in the package/),
      ]);
      expect(
        await sh(
          'podman images --format "{{.Repository}}:{{.Tag}}" | grep -c ^localhost/web:fleet-ferry || true',
        ),
      ).toBe('0');

      expect(await answer('apply', null)).toEqual(
        expect.arrayContaining([`deleted image:${image.pinned}: no longer in the package`]),
      );
      expect(await sh('podman images --quiet registry.example/team/web')).toBe('');
      expect(await sh('podman image exists localhost/web:1; echo $?')).toBe('0');
    });
  },
);
