import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { sealSecretSet } from '#bundles/trust/secrets/seal';
import { parseCertificateRequest } from '#bundles/trust/root/certificate-request';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type FactoryHost, startFactoryHost } from '../../harness/hosts/factory-host.ts';
import {
  createTestFleet,
  packTestBundle,
  type TestFleet,
  type TestPackage,
  writeTestMedium,
} from '../../harness/fleets/signed-medium.ts';
import { agentOnHost } from '../../harness/run/program-file.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { succeed } from '../../harness/run/run-command.ts';

const repository = resolve(import.meta.dirname, '../../..');
const UNITS = '/opt/deploy';
const agentHere = agentOnHost();
const ONE = 'MARKER-first-password-8c1f';
const TWO = 'MARKER-second-password-77ab';

/** Its service cannot start without the secret, and shows what it was started with. */
const app = (path = '/run/app/password'): TestPackage => ({
  id: 'app',
  files: {
    '/etc/systemd/system/app.service': `[Unit]
Requires=fleet-agent-secrets.service
After=fleet-agent-secrets.service
[Service]
ExecStartPre=/bin/cp ${path} /run/seen
ExecStart=/bin/sleep infinity
[Install]
WantedBy=multi-user.target
`,
  },
  secrets: [{ path, set: 'db', key: 'password' }],
  units: [{ name: 'app.service', enabled: true, active: true, restartOn: [path] }],
});

describeWith(['factoryBase'], 'secrets on a booted host', ({ factoryBase }) => {
  let host: FactoryHost;
  let media: TemporaryDirectory;
  let fleet: TestFleet;
  let version = 0;

  const sh = (script: string): Promise<string> => host.sh(script);
  const agent = (words: string) =>
    host.exec(['/bin/sh', '-c', `FLEET_NOW=2026-11-21T08:00:00Z fleet-agent ${words}`]);
  const medium = async (password: string, what: TestPackage): Promise<string> => {
    const request = JSON.parse(await sh('cat /media/stick/fleet/requests/*.json')) as {
      readonly recipient: string;
      readonly request: string;
    };
    version += 1;
    const values = { password: Buffer.from(password).toString('base64') };
    const set = { fleet: fleet.name, site: 'plant-7', name: 'db', version, values };
    await writeTestMedium(join(media.path, `medium-${version}`), fleet, {
      site: {
        site: 'plant-7',
        version,
        agents: [{ name: 'kiosk-1', key: parseCertificateRequest(request.request).key.pem }],
        secrets: { db: await sealSecretSet(set, [request.recipient]) },
      },
      release: { version, bundle: packTestBundle(fleet, [what]) },
    });
    return `/media/medium-${version}`;
  };

  beforeAll(async () => {
    media = await temporaryDirectory('secrets-host');
    await mkdir(join(media.path, 'stick'));
    fleet = await createTestFleet();
    host = await startFactoryHost('secrets-host', {
      base: factoryBase,
      binds: [
        agentHere.bind,
        { from: join(repository, 'deploy'), to: UNITS, readOnly: true },
        { from: media.path, to: '/media' },
      ],
    });
    const root = hexOf(digestOf(fleet.roots[0] ?? ''));
    await sh(`cp ${UNITS}/systemd/fleet-agent-secrets.service /etc/systemd/system
      printf '#!/bin/sh\\nexec /usr/local/bin/node ${agentHere.file} "$@"\\n' > /usr/bin/fleet-agent
      chmod 755 /usr/bin/fleet-agent
      systemctl daemon-reload
      systemctl enable fleet-agent-secrets.service`);
    const who = `--fleet ${fleet.name} --site plant-7 --name kiosk-1 --channel prod/factory-host`;
    const enrolled = await agent(`enroll ${who} --root-sha256 ${root} /media/stick`);
    expect(enrolled.code, enrolled.stderr).toBe(0);
  });
  afterAll(async () => {
    await host?.remove();
    await media?.[Symbol.asyncDispose]();
  });

  it('are in memory, restart their readers when they change, and are written before services at a boot', async () => {
    const imported = await agent(`import ${await medium(ONE, app())}`);
    expect(imported.code, imported.stdout + imported.stderr).toBe(0);
    expect(await sh('cat /run/seen; stat -c " %a %U" /run/app/password')).toBe(`${ONE} 600 root`);
    expect(await sh('stat -f -c %T /run/app')).toBe('tmpfs');
    succeed(await agent(`import ${await medium(TWO, app())}`));
    expect(await sh('cat /run/seen')).toBe(TWO);

    await host.crash();
    expect(await host.start()).toBe('running');
    expect(await sh('cat /run/seen; echo; systemctl is-active app.service fleet-agent-secrets.service')).toBe(
      `${TWO}\nactive\nactive`,
    );
    const looked = await agent('diff');
    expect(looked.code, looked.stdout).toBe(0);

    const words = [ONE, TWO].flatMap((word) => [word, Buffer.from(word).toString('base64').slice(0, 30)]);
    const found = await sh(`journalctl --sync; journalctl --flush
      grep -rlaF ${words.map((word) => `-e ${word}`).join(' ')} /etc /home /media /root /srv /tmp /usr/bin /var || true`);
    expect(found).toBe('');
  });

  it('fail their package when their path leads to a disk', async () => {
    await sh('mkdir -p /var/disk /run/disk && mount --bind /var/disk /run/disk');
    const refused = await agent(`import ${await medium(TWO, app('/run/disk/password'))}`);
    expect(refused.stdout + refused.stderr).toContain('would be on a disk');
    expect(await sh('ls -A /var/disk; cat /run/seen')).toBe(TWO);
  });
});
