import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { sealSecretSet } from '#bundles/trust/secrets/seal';
import { parseCertificateRequest } from '#bundles/trust/root/certificate-request';
import { describeOnDebiansAndSid } from '../../harness/hosts/describe-on-debians.ts';
import { type FactoryHost, startFactoryHost } from '../../harness/hosts/factory-host.ts';
import {
  createTestFleet,
  packTestBundle,
  type TestFleet,
  type TestPackage,
  writeTestMedium,
} from '../../harness/fleets/signed-medium.ts';
import { debsPackage } from '../hosts/debs-host/test-deb.ts';
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

/**
 * Looks for words, which its arguments have backwards, in what a user can read of all processes and of folders in memory, until its input
 * ends. Prints how often it looked, and where it found one.
 */
const WATCH = `
import glob, json, os, select, sys
words = [word[::-1].encode() for word in sys.argv[2:]]
found, rounds = set(), 0
def look(path):
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            text = os.read(file, 1 << 20)
        finally:
            os.close(file)
    except OSError:
        return
    if any(word in text for word in words):
        found.add(path)
while not select.select([sys.stdin], [], [], 0)[0]:
    rounds += 1
    for what in ['cmdline', 'environ'] + (['fd/*', 'task/*/comm'] if sys.argv[1] == 'all' else []):
        for path in glob.glob('/proc/[0-9]*/' + what):
            look(path)
    if sys.argv[1] == 'all':
        for top in ['/run', '/tmp', '/dev/shm', '/var/lib/fleet-agent', '/var/tmp']:
            for folder, _, names in os.walk(top):
                for name in names:
                    look(os.path.join(folder, name))
print(json.dumps({'rounds': rounds, 'found': sorted(found)}))
`;

/**
 * Looks for folders and files that its user can write to, until its input ends. Says 'ready' after the first round, whose findings do not
 * count. Prints how often it looked, and what it found.
 */
const TRY = `
import json, os, select, sys
def look():
    found = set()
    for top in ['/boot', '/dev/shm', '/etc', '/home', '/opt', '/run', '/srv', '/tmp', '/usr/local', '/var']:
        for folder, _, names in os.walk(top):
            for path in [folder] + [os.path.join(folder, name) for name in names]:
                if not os.path.islink(path) and os.access(path, os.W_OK):
                    found.add(path)
    return found
before = look()
print('ready', flush=True)
rounds, found = 0, set()
while not select.select([sys.stdin], [], [], 0)[0]:
    rounds += 1
    found |= look() - before
print(json.dumps({'rounds': rounds, 'found': sorted(found)}))
`;

describeOnDebiansAndSid([], 'secrets on a booted host', ({ base, debian }) => {
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
    host = await startFactoryHost(`secrets-host-${debian}`, {
      base,
      binds: [
        agentHere.bind,
        { from: join(repository, 'deploy'), to: UNITS, readOnly: true },
        { from: media.path, to: '/media' },
      ],
    });
    const root = hexOf(digestOf(fleet.roots[0] ?? ''));
    await sh(`cp ${UNITS}/systemd/fleet-agent-secrets.service ${UNITS}/systemd/fleet-agent-runner@.service /etc/systemd/system
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

  /** Watches as `user` while `work` is done. */
  const watched = async (user: number, what: 'all' | 'processes', work: () => Promise<unknown>) => {
    const backwards = [ONE, TWO].map((word) => word.split('').toReversed().join(''));
    const as = ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
    const child = host.open([...as, 'python3', '-c', WATCH, what, ...backwards]);
    const said = text(child.stdout);
    await work();
    child.stdin.end();
    return JSON.parse(await said) as { readonly rounds: number; readonly found: readonly string[] };
  };

  it('L18: are in no arguments, environment or file that another user can read while they are written -> ACCEPT', async () => {
    const bring = async (password: string) => {
      const imported = await agent(`import ${await medium(password, app())}`);
      return { code: imported.code, said: imported.stdout + imported.stderr };
    };
    // What the watcher has to find.
    await sh(`printf %s ${ONE} > /run/readable && chmod 644 /run/readable`);
    const first = await watched(65534, 'all', async () =>
      expect(await bring(ONE)).toMatchObject({ code: 0 }),
    );
    const second = await watched(0, 'processes', async () =>
      expect(await bring(TWO)).toMatchObject({ code: 0 }),
    );
    expect(await sh('cat /run/seen')).toBe(TWO);
    expect(first.rounds).toBeGreaterThan(2);
    expect(second.rounds).toBeGreaterThan(2);
    expect(first.found).toContain('/run/readable');
    const seen = [...first.found, ...second.found].filter((path) => path !== '/run/readable');
    expect(seen.length === 0 ? 'ACCEPT' : seen).toBe('ACCEPT');
    // The agent works, and looks, on a host that hides the processes of others.
    await sh('mount -o remount,hidepid=2 /proc');
    try {
      const hidden = await watched(65534, 'all', async () => {
        expect(await bring(ONE)).toMatchObject({ code: 0 });
        expect(await agent('diff')).toMatchObject({ code: 0 });
      });
      expect(hidden.found.filter((path) => path !== '/run/readable')).toEqual([]);
      expect(await sh('cat /run/seen')).toBe(ONE);
    } finally {
      await sh('mount -o remount,hidepid=0 /proc');
    }
  });

  it('L19: give another user no folder or file to write to, of all that a root with the umask 0 makes -> ACCEPT', async () => {
    const tool = { name: 'tool', version: '1.0', files: { '/usr/share/tool/text': 'x\n' } };
    const installed = await debsPackage(join(media.path, 'debs'), 'app', [tool]);
    const secret = app('/run/deep/er/password');
    const files = { ...installed.files, ...secret.files, '/opt/app/etc/app.conf': 'x\n' };
    const path = await medium(ONE, { ...installed, ...secret, files });
    const kinds = "-type l -o -printf '%y %m %U %p\\n'";
    const all = async () =>
      new Set((await sh(`find / -path /proc -prune -o -path /sys -prune -o ${kinds}`)).split('\n'));
    const before = await all();
    const as = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
    const child = host.open([...as, 'python3', '-c', TRY]);
    const said = text(child.stdout);
    await new Promise((resolve) => {
      child.stdout.once('data', resolve);
    });
    // What the watcher has to find.
    await sh('mkdir -m 777 /run/open');
    succeed(
      await host.exec([
        '/bin/sh',
        '-c',
        `umask 0; FLEET_NOW=2026-11-21T08:00:00Z fleet-agent import --prune ${path}`,
      ]),
    );
    child.stdin.end();
    const [, found = ''] = (await said).split('\n');
    const tried = JSON.parse(found) as { readonly rounds: number; readonly found: readonly string[] };
    expect(tried.rounds).toBeGreaterThan(1);
    expect(tried.found).toEqual(['/run/open']);
    await sh('rmdir /run/open');
    expect(await sh('cat /run/seen; cat /usr/share/tool/text')).toBe(`${ONE}x`);
    const made = [...(await all())].filter((line) => !before.has(line));
    for (const part of [
      ' /run/deep/er',
      ' /opt/app/etc',
      ' /var/lib/fleet-agent/',
      ' /var/lib/fleet-ferry/apt/app',
    ])
      expect(made.some((line) => line.includes(part))).toBe(true);
    const open = made.filter(
      (line) => !/^[^l] \d?\d[0145][0145] 0 /.test(line) && !/ \/(?:dev|proc)\//.test(line),
    );
    expect(open.length === 0 ? 'ACCEPT' : open).toBe('ACCEPT');
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
