import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildDebs } from '../../bundling/debian/build-debs.ts';
import { asRoot } from '../harness/as-root.ts';
import { bundleAgent } from '../harness/bundle-agent.ts';
import { describeWith } from '../harness/describe-with.ts';
import { type FactoryHost, startFactoryHost } from '../harness/factory-host.ts';
import { PROGRAMS_VARIABLE } from '../harness/program-file.ts';
import { runCommand, runOrFail, succeed } from '../harness/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../harness/temporary-directory.ts';
import { type Office, openOffice } from './office.ts';

const SITE = 'plant-7';
const CSV = `site,name,channel,match\n${SITE},press-2,prod/factory-host,hostname=plugged-in\n`;
const CONFIG = 'plugIn: true\\nplugInFileSystems: [ext4]\\n';

const root = async (...argv: readonly string[]): Promise<string> =>
  (await runOrFail(asRoot(argv))).stdout.trim();

describeWith(
  ['factoryBase'],
  'a host with the Debian package, no network and no keyboard',
  ({ factoryBase }) => {
    let office: Office;
    let folder: TemporaryDirectory;
    let media: TemporaryDirectory;
    let host: FactoryHost;
    let stick: string;
    let loop: string;

    const sh = async (script: string): Promise<string> => {
      const { code, stdout, stderr } = await host.exec(['/bin/sh', '-c', script]);
      if (code !== 0) throw new Error(`'${script}' ended with ${code}: ${stdout}${stderr}`);
      return stdout.trim();
    };

    beforeAll(async () => {
      folder = await temporaryDirectory('office');
      media = await temporaryDirectory('media');
      stick = join(media.path, 'stick');
      await mkdir(stick);
      office = await openOffice(folder.path);
      await office.build();
      const programs = process.env[PROGRAMS_VARIABLE] ?? join(media.path, 'programs');
      if (process.env[PROGRAMS_VARIABLE] === undefined) await bundleAgent(join(programs, 'agent'));
      await buildDebs({
        programs,
        out: join(media.path, 'debs'),
        epoch: 1_795_478_400,
        compression: 'none',
        names: ['fleet-agent'],
      });
      const place = join(media.path, 'place');
      await writeFile(place, Buffer.alloc(4096));
      loop = await root('losetup', '-f', '--show', place);
      const number = await root('cat', `/sys/class/block/${basename(loop)}/dev`);
      await root('losetup', '-d', loop);
      host = await startFactoryHost('plugged-in', {
        base: factoryBase,
        node: false,
        blockDevices: [number],
        binds: [{ from: media.path, to: '/media' }],
      });
      // As systemd does on a machine, but not in namespaces: else services that start meanwhile keep the medium mounted.
      await sh('mount --make-rshared /');
      await sh(`mknod ${loop} b ${number.replace(':', ' ')}; mkdir -p /run/udev/data
      printf 'E:ID_FS_TYPE=ext4\\n' > /run/udev/data/b${number}`);
    });
    afterAll(async () => {
      await host?.remove();
      if (loop) await runCommand(asRoot(['losetup', '-d', loop]));
      await media?.[Symbol.asyncDispose]();
      await folder?.[Symbol.asyncDispose]();
    });

    /** Carries the folder to the host as a stick, starts the unit that udev would start, and carries what is on it back. */
    const plugIn = async (): Promise<string> => {
      const image = join(media.path, 'stick.img');
      await rm(image, { force: true });
      await runOrFail(['mkfs.ext4', '-q', '-m', '0', '-d', stick, image, '64M']);
      await root('losetup', loop, image);
      const unit = `fleet-agent-medium@${basename(loop)}.service`;
      const { code } = await host.exec(['systemctl', 'start', unit]);
      const said = await sh(
        `journalctl --sync; journalctl -o cat -u ${unit} | grep -o 'DONE.*' | tail -n 1 || true`,
      );
      await root('losetup', '-d', loop);
      if (code !== 0) throw new Error(await sh(`journalctl -o cat -u ${unit} | tail -n 20`));
      await rm(stick, { recursive: true });
      await mkdir(stick);
      await root('debugfs', '-R', `rdump / ${stick}`, image);
      await rm(join(stick, 'lost+found'), { recursive: true, force: true });
      return said;
    };

    it('is enrolled by a stick, runs what the next one brings, and its whole history comes home', async () => {
      expect((await host.exec(['/bin/sh', '-c', 'command -v node'])).code).not.toBe(0);
      expect(await sh('ip -o link | grep -vc " lo:" || true')).toBe('0');
      await sh('dpkg -i /media/debs/*.deb');
      await sh(`mkdir -p /etc/fleet-agent; printf '${CONFIG}' > /etc/fleet-agent/agent.yaml`);

      await writeFile(join(folder.path, 'hosts.csv'), CSV);
      succeed(await office.scheduler('tokens', 'hosts', 'hosts.csv', '--out', join(stick, 'hosts.json')));
      await sh(
        `fleet-agent enroll --hosts /media/stick/hosts.json --root-sha256 ${office.rootSha256} --force-path /media/stick`,
      );
      succeed(await office.scheduler('sites', 'enroll', stick));
      await rm(join(stick, 'hosts.json'));
      succeed(await office.scheduler('sites', 'set', SITE, 'lineNumber=7'));
      await office.fill(stick, SITE);

      expect(await plugIn()).toMatch(
        /^DONE: Release \d+ is installed\. \d+ events .* You can unplug the stick\.$/,
      );
      expect(await sh('systemctl is-active scale-reader label-printer')).toBe('active\nactive');
      succeed(await office.scheduler('reports', 'import', stick));

      // Somebody helps, and the next release comes.
      await sh('systemctl start fleet-agent; echo x > /etc/label-printer/label.zpl');
      await sh('timeout 120 sh -c "until grep -q Halden /etc/label-printer/label.zpl; do sleep 0.5; done"');
      await office.edit('apps/scale-reader/host/scale.json', (text) =>
        text.replace('"decimals": 3', '"decimals": 2'),
      );
      await office.build();
      await office.fill(stick, SITE, '--for', stick);
      expect(await plugIn()).toMatch(/^DONE: Release \d+ is installed\./);
      expect(await sh('cat /etc/scale-reader/scale.json')).toMatch(/"decimals": ?2/);
      succeed(await office.scheduler('reports', 'import', stick));

      // A third visit carries receipts out and the last events home.
      await office.fill(stick, SITE, '--for', stick);
      await plugIn();
      succeed(await office.scheduler('reports', 'import', stick));
      const { stdout } = succeed(
        await office.scheduler('events', '--site', SITE, '--limit', '1000', '--json'),
      );
      const { events } = JSON.parse(stdout) as {
        readonly events: readonly { readonly event: { readonly seq: number; readonly type: string } }[];
      };
      const seqs = events.map(({ event }) => event.seq).toSorted((a, b) => a - b);
      expect(seqs).toEqual(seqs.map((_, index) => index + 1));
      const types = events.map(({ event }) => event.type);
      expect(types).toEqual(
        expect.arrayContaining(['enrolled', 'imported', 'package', 'check', 'drift', 'corrected', 'receipt']),
      );
      const { rows } = (await office.status()) as {
        readonly rows: readonly { readonly assignment: string; readonly verdict: string }[];
      };
      expect(rows.map(({ assignment, verdict }) => `${assignment} ${verdict}`)).toEqual([
        'label-printer-host complies',
        'scale-reader-host complies',
      ]);
    });
  },
);
