import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CheckResult, Drift } from '../../../agent/model/target.ts';
import type { BuiltPackage } from '../../agent/apply/host/built-package.ts';
import { askOnHost, installRestrictedDaemon } from '../../agent/apply/host/restricted-daemon.ts';
import type { PackageSpec } from '../../agent/apply/host/sandbox.ts';
import { describeOnVersions } from '../../harness/run/describe-on-versions.ts';
import type { FactoryHost } from '../../harness/hosts/factory-host.ts';
import { makeBusyboxImage } from '../../harness/kubernetes/busybox-image.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { build } from './playbooks-host/world.ts';
import { startQuadletsHost } from './quadlets-host/start-quadlets-host.ts';

const QUADLET = '/etc/containers/systemd/web.container';

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

describeOnVersions(
  'podmanHost',
  ['busybox'],
  'quadlets of a booted host with Podman',
  ({ podmanHost, busybox }) => {
    let host: FactoryHost;
    let askHost: ReturnType<typeof askOnHost>;
    let media: TemporaryDirectory;
    const sh = (script: string): Promise<string> => host.sh(script);
    const ask = (
      verb: 'plan' | 'apply' | 'settle' | 'observe',
      spec: PackageSpec | null,
      built?: BuiltPackage,
    ): Promise<unknown> => askHost({ verb, spec, built });
    const settle = async (spec: PackageSpec) =>
      ((await ask('settle', spec)) as readonly CheckResult[]).map(
        ({ name, outcome }) => `${name} ${outcome}`,
      );

    beforeAll(async () => {
      media = await temporaryDirectory('quadlets');
      host = await startQuadletsHost('quadlets', { podmanHost, busybox, media: media.path });
      askHost = askOnHost(host);
    });
    afterAll(async () => {
      await host?.remove();
      await media?.[Symbol.asyncDispose]();
    });

    it('become services that are watched, restarted after changes, corrected, and removed', async () => {
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

    const container = (more: string, port = 8090): string =>
      `[Container]\nImage=localhost/web:1\nNetwork=host\nPodmanArgs=--stop-signal=KILL\n${more}Exec=/bin/httpd -f -p ${port} -h /www\n[Install]\nWantedBy=multi-user.target\n`;
    const F = '/etc/containers/systemd';
    const drifts = async (spec: PackageSpec) =>
      ((await ask('observe', spec)) as readonly Drift[]).map(
        ({ what, key }) => `${what} ${key.slice(key.indexOf(':') + 1)}`,
      );

    it('have the unit names of the generator of this Podman, for each kind', async () => {
      const kinds: PackageSpec = {
        files: {
          [`${F}/a.container`]: container('ServiceName=front\nPod=all.pod\n').replace('Network=host\n', ''),
          [`${F}/team/w@.container`]: container(''),
          [`${F}/all.pod`]: '[Pod]\n',
          [`${F}/data.volume`]: '[Volume]\nServiceName=disk\n',
          [`${F}/line.network`]: '[Network]\n',
          [`${F}/k.kube`]: '[Kube]\nYaml=k.yml\n',
          [`${F}/k.yml`]: 'kind: Pod\n',
          [`${F}/i.image`]: '[Image]\nImage=localhost/web:1\n',
          [`${F}/b.build`]: '[Build]\nImageTag=localhost/b:1\nSetWorkingDirectory=unit\n',
        },
        units: ['front', 'w@1', 'all-pod', 'disk', 'line-network', 'k', 'i-image', 'b-build'].map((name) => ({
          name: `${name}.service`,
          enabled: true,
          active: true,
        })),
      };
      const steps = (await ask('plan', kinds)) as readonly string[];
      // None is enabled: a generated unit has no links of its own.
      expect(steps.filter((line) => line.includes(' unit:'))).toEqual(
        (kinds.units ?? []).map(({ name }) => `created unit:${name}: start: it is not-found`),
      );
      const failing = (path: string, text: string, name: string) =>
        ask('apply', { files: { [path]: text }, units: [{ name, enabled: true, active: true }] });
      await expect(
        failing(`${F}/a.container`, container('ServiceName=front\n'), 'a.service'),
      ).rejects.toMatchObject({
        code: 'UNIT_FAILED',
        message:
          "Podman's generator on this host does not make a.service from the quadlets of the package; it makes front.service",
      });
      await expect(
        failing(`${F}/m.artifact`, '[Artifact]\nArtifact=x.example/m:1\n', 'm.service'),
      ).rejects.toMatchObject({
        message: expect.stringMatching(
          // Podman 5.8 knows artifacts.
          /^Podman's generator on this host does not make m\.service from the quadlets of the package; it makes (?:no service at all|m-artifact\.service)$/,
        ),
      });
      await expect(failing(`${F}/a.container`, container('Colour=red\n'), 'a.service')).rejects.toMatchObject(
        {
          message: expect.stringMatching(
            /it makes no service at all; converting "a.container": unsupported key 'Colour'/,
          ),
        },
      );
      expect(await sh(`ls ${F} 2>&1 || true`)).not.toMatch(/container|artifact/);
    });

    it('are found by what systemd read: renamed, changed by drop-ins, and replaced by others', async () => {
      const shop = (name: string, by = 'package'): PackageSpec => ({
        files: {
          [`${F}/team/shop-web.container`]: container(`ServiceName=${name}\n`),
          [`${F}/shop-.container.d/10.conf`]: `[Container]\nEnvironment=BY=${by}\n`,
        },
        units: [{ name: `${name}.service`, enabled: true, active: true }],
      });
      const by = () => sh('podman inspect --format "{{.Config.Env}}" $(podman ps -q) | grep -o "BY=[a-z]*"');
      await ask('apply', shop('front'));
      expect(await sh('systemctl is-enabled front.service')).toBe('generated');
      expect(await by()).toBe('BY=package');
      expect(await drifts(shop('front'))).toEqual([]);
      expect(await ask('apply', shop('front', 'later'))).toContain(
        'configured unit:front.service: restart: a file it reads changed',
      );
      expect(await by()).toBe('BY=later');
      const now = shop('front', 'later');
      for (const [path, what] of [
        [`${F}/shop-web.container.d/20.conf`, 'drop-in'],
        ['/run/containers/systemd/shop-web.container', 'shadow'],
        ['/etc/systemd/system/front.service', 'shadow'],
      ] as const) {
        const text =
          what === 'drop-in'
            ? '[Container]\nEnvironment=BY=hand\n'
            : container('ServiceName=front\nEnvironment=BY=hand\n');
        await sh(`mkdir -p $(dirname ${path}); printf '${text.replaceAll('\n', '\\n')}' > ${path}`);
        expect(await drifts(now)).toContain(`${what} ${path}`);
        await sh('systemctl daemon-reload');
        expect(await drifts(now)).toContain(`${what} ${path}`);
        await ask('apply', now);
        expect(await drifts(now)).toEqual([]);
        expect(await by()).toBe('BY=later');
      }
      // Another name: the former service goes.
      await ask('apply', shop('back', 'later'));
      expect(await sh('systemctl is-active back.service; systemctl is-active front.service || true')).toBe(
        'active\ninactive',
      );
      await ask('apply', null);
      expect(await sh('podman ps -q; systemctl list-units --all --plain --no-legend "front*" "back*"')).toBe(
        '',
      );
      await sh(`rm -rf /run/containers/systemd ${F}`);
    });

    it('leave no service of their volume behind, under its old or new name', async () => {
      const shop = (volume?: string): PackageSpec => ({
        files: {
          [`${F}/shop.container`]: container(volume === undefined ? '' : `Volume=${volume}:/data\n`),
          ...(volume !== undefined && {
            [`${F}/${volume}`]: volume === 'disk.volume' ? '[Volume]\n' : '[Volume]\nServiceName=kept\n',
          }),
        },
        units: [{ name: 'shop.service', enabled: true, active: true }],
      });
      const up = () =>
        sh('systemctl list-units --all --plain --no-legend "disk*" "kept*" "shop*" | cut -d " " -f 1');
      await ask('apply', shop('disk.volume'));
      expect(await up()).toBe('disk-volume.service\nshop.service');
      await ask('apply', shop('other.volume'));
      expect(await up()).toBe('kept.service\nshop.service');
      expect(await ask('apply', shop('other.volume'))).toEqual([]);
      expect(await ask('apply', shop())).toContain(
        'deleted unit:kept.service: its quadlet is no longer in the package: stopped',
      );
      expect(await up()).toBe('shop.service');
      await ask('apply', shop('other.volume'));
      await ask('apply', null);
      expect(await up()).toBe('');
      // What it holds is nobody's to remove.
      expect(await sh('podman volume ls --quiet | sort')).toBe('systemd-disk\nsystemd-other');
      await sh('podman volume rm --all --force');
    });

    it('get variables from a file with quotes through systemd, by their names in PodmanArgs', async () => {
      const value = 'hall "3" $HOME, \\ 7';
      const quoted = `"${value.replace(/["$\\]/g, '\\$&')}"`;
      const variables = `[Service]\nEnvironmentFile=/etc/web.env\n`;
      const spec: PackageSpec = {
        files: {
          '/etc/web.env': `PLACE=${quoted}\n`,
          [`${F}/place.container`]: `[Container]\nImage=localhost/web:1\nNetwork=none\nPodmanArgs=--env=PLACE --stop-signal=KILL\nExec=/bin/httpd -f -p 8090 -h /www\n${variables}`,
        },
        units: [{ name: 'place.service', enabled: false, active: true }],
      };
      await ask('apply', spec);
      await expect
        .poll(() => sh('podman exec systemd-place /bin/sh -c \'echo "$PLACE"\''), { timeout: 30_000 })
        .toBe(value);
      await ask('apply', null);
    });

    it('run an image that is a file of the package, and the next one, without a registry', async () => {
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
