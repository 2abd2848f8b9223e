import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acceptRequests } from '../harness/fleets/accept-requests.ts';
import { makeBusyboxImage } from '../harness/kubernetes/busybox-image.ts';
import { describeWith } from '../harness/run/describe-with.ts';
import { runOrFail, succeed } from '../harness/run/run-command.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { type Office, openOffice } from './office.ts';
import { type SiteHost, startSite } from './site.ts';

const IMAGE = 'registry.example/retail/screen:1';
const QUADLET = '/etc/containers/systemd/info-screen-web.container';

/** The name that the agent gives to an image that it loads. */
const tagOf = (pinned: string): string => pinned.replace('@sha256:', ':fleet-ferry-');

const packageYaml = `apiVersion: fleet-ferry/v1alpha1
kind: HostPackage
metadata:
  name: info-screen
spec:
  files:
    - path: ${QUADLET}
      content: |
        [Container]
        Image=${IMAGE}
        Network=host
        PodmanArgs=--stop-signal=KILL
        Exec=/bin/httpd -f -p 8083 -h /www
  units:
    - name: info-screen-web.service
`;

describeWith(
  ['podmanHost', 'busybox'],
  'the image of a quadlet, at a host without a network',
  ({ podmanHost, busybox }) => {
    const stack = new AsyncDisposableStack();
    let office: Office;
    let site: SiteHost;
    let stick: string;
    let work: string;
    const shell = async (script: string) => succeed(await site.shell(script)).stdout.trim();
    const names = () => shell("podman images --format '{{.Repository}}:{{.Tag}}'");
    const pinnedIn = (text: string): string => /^Image=(.+)$/mu.exec(text)?.[1] ?? '';

    beforeAll(async () => {
      const folder = stack.use(await temporaryDirectory('office'));
      const media = stack.use(await temporaryDirectory('media'));
      [stick, work] = [join(media.path, 'stick'), join(media.path, 'work')];
      await Promise.all([stick, work].map((path) => mkdir(path)));
      office = await openOffice(folder.path);
      site = stack.use(
        await startSite('quadlet-site', podmanHost, stick, { disks: ['/var/lib/containers'] }),
      );
      succeed(await site.enroll(office.rootSha256, 'shop-4', 'screen-1', 'prod/kiosk'));
      succeed(await office.scheduler('sites', 'enroll', stick, ...(await acceptRequests(stick))));
    });
    afterAll(() => stack.disposeAsync());

    test('is locked, brought by a medium, loaded before its unit, left out of a delta, and loaded again after a rollback', async () => {
      const make = (page: string) =>
        makeBusyboxImage(busybox, join(office.folder, 'images'), { name: IMAGE, page });
      const first = await make('one');
      await office.edit('apps/info-screen/host/package.yaml', () => packageYaml);
      await office.edit('platform/base/workspaces/retail.yaml', (before) =>
        before.replace('  host:\n', `  host:\n    paths: [${QUADLET}]\n    units: [info-screen-*]\n`),
      );
      const unlocked = await office.scheduler('build', '--images', 'images', '--environment', 'prod');
      expect(unlocked.stdout + unlocked.stderr).toMatch(
        /apps\/info-screen\/host\/package\.yaml:7:7: IMAGE_UNPINNED: the image registry\.example\/retail\/screen:1 has no digest/,
      );
      succeed(await office.scheduler('images', 'lock', '--images', 'images'));
      await office.build();
      await office.fill(stick, 'shop-4');
      succeed(await site.agent('import', '/media/stick'));
      expect(pinnedIn(await site.read(QUADLET))).toBe(first.pinned);
      expect(await names()).toBe(tagOf(first.pinned));
      expect(await shell("podman ps --no-trunc --format '{{.Image}}'")).toBe(first.pinned);
      succeed(await site.agent('diff'));

      await shell('systemctl stop info-screen-web.service; podman rmi --all');
      const drift = await site.agent('diff');
      expect(drift.code).toBe(8);
      expect(drift.stdout).toContain(`the image ${first.pinned} is not in Podman's storage`);
      succeed(await site.agent('run', '--once'));
      succeed(await site.agent('diff'));

      // The next release runs the same image with another option, and its delta leaves the image out.
      await office.edit('apps/info-screen/host/package.yaml', (before) =>
        before.replace('Network=host\n', 'Network=host\n        Environment=LINE=2\n'),
      );
      await office.build();
      succeed(await site.agent('reports', 'export', '/media/stick'));
      succeed(await office.scheduler('reports', 'import', stick));
      const delta = join(work, 'delta.tar');
      await office.fill(delta, 'shop-4', '--for', stick);
      expect((await stat(delta)).size).toBeLessThan(200_000);
      await rm(join(stick, 'blobs'), { recursive: true });
      await runOrFail(['cp', delta, join(stick, 'delta.tar')]);
      succeed(await site.agent('import', '/media/stick/delta.tar'));
      expect(await shell("podman ps --no-trunc --format '{{.Image}}'")).toBe(first.pinned);

      const second = await make('two');
      succeed(await office.scheduler('images', 'lock', '--update', '--images', 'images'));
      await office.build();
      const whole = join(work, 'whole.tar');
      await office.fill(whole, 'shop-4');
      await runOrFail(['cp', whole, join(stick, 'whole.tar')]);
      succeed(await site.agent('import', '/media/stick/whole.tar'));
      expect(await shell("podman ps --no-trunc --format '{{.Image}}'")).toBe(second.pinned);
      expect(await names()).toBe(tagOf(second.pinned));

      succeed(await site.agent('rollback', 'info-screen-kiosk', '--reason', 'it blinks'));
      expect(pinnedIn(await site.read(QUADLET))).toBe(first.pinned);
      expect(await names()).toBe(tagOf(first.pinned));
      succeed(await site.agent('diff'));
    }, 600_000);
  },
);
