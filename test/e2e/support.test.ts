import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acceptRequests } from '../harness/fleets/accept-requests.ts';
import { describeWith } from '../harness/run/describe-with.ts';
import { succeed } from '../harness/run/run-command.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { type Office, openOffice } from './office.ts';
import { type SiteHost, startSite } from './site.ts';

const SITE = 'plant-7';
const AGENT = 'plant-7/press-2';

/** Each is somewhere on the host as a secret, and a unit of a package prints it. */
const PLANTED = {
  sealed: 'sealed-Krokus/77',
  variable: 'variable-Primel-4',
  privateFile: 'Enzian im Steinbruch',
  credential: 'credential-Aster-9',
  registry: 'registry-Lilie-3',
  enrolment: `ffe_${'Zx9'.repeat(10)}`,
  url: 'url-Mohn-5',
  named: 'named-Nelke-8',
};

/** Entries as the protocol of journald carries them, with an identifier and lines of the program's choice. The process lives until it was looked up. */
const FORGED = `import socket, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
send = lambda name, text: s.sendto(('SYSLOG_IDENTIFIER=%s' % name).encode() + b'\\nMESSAGE\\n' + len(text).to_bytes(8, 'little') + text + b'\\n', '/run/systemd/journal/socket')
send('systemd', b'forged: the unit is well')
send('systemd[1]: x', b'forged: an identifier')
send('press', b'one line\\n2026-11-21T08:00:00.000Z systemd[1]: forged: a second line')
time.sleep(1)`;

/** What the printer says when it starts: every secret, in the forms in which programs print them. */
const CHATTER = [
  'echo "sealed $(cat /root/sealed) $(base64 -w0 /root/sealed)"',
  'echo "variable $PRINTER_TOKEN and $GREETING"',
  'echo "credential $(cat "$CREDENTIALS_DIRECTORY/pin")"',
  `echo "registry ${PLANTED.registry} or $(printf %s 'robot:${PLANTED.registry}' | base64 -w0)"`,
  `echo "enrolled by ${PLANTED.enrolment}"`,
  `echo "database postgres://app:${PLANTED.url}@db/labels"`,
  `echo '{"level":"info","password":"${PLANTED.named}"}'`,
  'cat /var/lib/fleet-agent/agent.key /var/lib/fleet-agent/agent.age',
  `python3 -c ${JSON.stringify(FORGED.replaceAll('\n', '; '))}`,
  'printf "\\033[31mout of labels\\033[0m\\033]0;title\\007 on hall 3\\n"',
];

describeWith(['factoryBase'], 'a support bundle of a factory host', ({ factoryBase }) => {
  const stack = new AsyncDisposableStack();
  let office: Office;
  let site: SiteHost;
  let stick = '';

  beforeAll(async () => {
    const folder = stack.use(await temporaryDirectory('support-office'));
    stick = join(stack.use(await temporaryDirectory('support-media')).path, 'stick');
    await mkdir(stick);
    const build = async (): Promise<Office> => {
      const opened = await openOffice(folder.path);
      await opened.build();
      return opened;
    };
    [office, site] = await Promise.all([build(), startSite('support-host', factoryBase, stick)]);
    stack.use(site);
    succeed(await site.enroll(office.rootSha256, SITE, 'press-2', 'prod/factory-host'));
    succeed(await office.scheduler('sites', 'enroll', stick, ...(await acceptRequests(stick))));
    succeed(await office.scheduler('sites', 'set', SITE, 'lineNumber=7'));
    await writeFile(join(folder.path, 'pin.txt'), PLANTED.sealed);
    const pin = `pin=${join(folder.path, 'pin.txt')}`;
    succeed(
      await office.scheduler('secrets', 'set', '--site', SITE, '--name', 'printer', '--from-file', pin),
    );
    await office.fill(stick, SITE);
    succeed(await site.agent('import', '/media/stick'));
  });
  afterAll(() => stack.disposeAsync());

  const bundlesOn = async (): Promise<readonly string[]> =>
    (await readdir(stick, { recursive: true })).filter((path) => /support-[^/]*\.tar$/.test(path));

  test('is requested by the office, created once at the site, and read at the office, without a secret', async () => {
    expect((await site.agent('reports', 'export', '/media/stick')).stdout).not.toContain('support bundle');
    const why = 'labels come out blank';
    const asked = succeed(await office.scheduler('support', 'request', SITE, '--reason', why, '--json'));
    const [{ id }] = (JSON.parse(asked.stdout) as { readonly requests: [{ readonly id: string }] }).requests;
    // Asked again: the same request.
    const again = succeed(await office.scheduler('support', 'request', AGENT));
    expect(again.stdout).toContain(`request ${id} waits for its answer already`);
    const log = succeed(await office.scheduler('audit', 'list', '--json')).stdout;
    expect(log).toContain('"change": "support request"');
    expect(log).toContain(why);
    expect(succeed(await office.scheduler('support', 'list', SITE)).stdout).toContain('waits until');

    await office.fill(stick, SITE);
    succeed(await site.agent('import', '/media/stick'));
    // An import would take the drop-in away.
    const registry = Buffer.from(`robot:${PLANTED.registry}`).toString('base64');
    succeed(
      await site.shell(`mkdir -p /root/.docker /etc/systemd/system/label-printer.service.d
        printf %s '${PLANTED.sealed}' > /root/sealed
        echo '{"auths":{"registry.example":{"auth":"${registry}"}}}' > /root/.docker/config.json
        printf 'GREETING=%s\\n' '${PLANTED.privateFile}' > /etc/printer.env
        printf %s '${PLANTED.credential}' > /etc/printer.pin
        chmod 600 /root/sealed /root/.docker/config.json /etc/printer.env /etc/printer.pin
        cat > /root/chatter <<'END'
${CHATTER.join('\n')}
END
        cat > /etc/systemd/system/label-printer.service.d/10-chatter.conf <<'END'
[Service]
User=root
DynamicUser=no
ProtectHome=no
Environment=PRINTER_TOKEN=${PLANTED.variable}
EnvironmentFile=/etc/printer.env
LoadCredential=pin:/etc/printer.pin
ExecStartPre=+/bin/sh /root/chatter
END
        systemctl daemon-reload
        systemctl restart label-printer`),
    );

    const exported = succeed(await site.agent('reports', 'export', '/media/stick'));
    expect(exported.stdout).toContain('Wrote the support bundle that the office asked for');
    const [path, ...more] = await bundlesOn();
    expect(more).toEqual([]);
    expect(path).toMatch(new RegExp(`/support-${id}\\.tar$`));
    const first = await readFile(join(stick, path ?? ''));
    succeed(await site.agent('reports', 'export', '/media/stick'));
    expect(await readFile(join(stick, path ?? ''))).toEqual(first);

    // Nothing that was planted is in the file, in any form.
    const key = await site.read('/var/lib/fleet-agent/agent.key');
    const age = await site.read('/var/lib/fleet-agent/agent.age');
    const keyLines = key.split('\n').filter((line) => line !== '' && !line.startsWith('-----'));
    const planted = [...Object.values(PLANTED), ...keyLines, age.trim()];
    for (const secret of planted) {
      expect(first.includes(secret), `${secret} is in the bundle`).toBe(false);
      for (const code of ['base64', 'hex', 'base64url'] as const)
        expect(first.includes(Buffer.from(secret).toString(code)), `${secret} in ${code}`).toBe(false);
    }
    expect(first.includes(registry)).toBe(false);
    expect(first.includes('\u001b')).toBe(false);
    expect(first.includes('title')).toBe(false);

    // A copy that a courier changed is refused, and the genuine one is taken once.
    const forged = join(stick, '..', 'forged');
    await cp(stick, forged, { recursive: true });
    const changed = Buffer.from(first);
    changed.write('no', changed.indexOf('out of labels'));
    await writeFile(join(forged, path ?? ''), changed);
    const refused = await office.scheduler('reports', 'import', forged);
    expect(refused).toMatchObject({
      code: 8,
      stderr: expect.stringContaining('was changed after it was signed'),
    });
    expect(succeed(await office.scheduler('support', 'list')).stdout).toContain('waits until');
    const taken = succeed(await office.scheduler('reports', 'import', stick));
    expect(taken.stdout).toContain(`${AGENT}  support bundle for request ${id}: stored`);
    expect(succeed(await office.scheduler('reports', 'import', stick)).stdout).toContain('stored before');
    expect(succeed(await office.scheduler('support', 'list')).stdout).toContain(`${AGENT}  answered`);

    const shown = succeed(await office.scheduler('support', 'show', SITE)).stdout;
    expect(shown).toContain(`answers request ${id}`);
    const journal = /journal\/\d+-label-printer\.service\.log/.exec(shown)?.[0] ?? '';
    const said = succeed(await office.scheduler('support', 'show', AGENT, '--file', journal)).stdout;
    expect(said).toContain('out of labels on hall 3');
    expect(said).toContain('variable [secret] and [secret]');
    expect(said).toMatch(/^\S+ label-printer\.service\[\d+\]: forged: the unit is well$/m);
    expect(said).toMatch(/^\S+ systemd_1_:_x\[\d+\]: forged: an identifier$/m);
    expect(said).toMatch(/^ {4}2026-11-21T08:00:00\.000Z systemd\[1\]: forged: a second line$/m);
    const bySystemd = said.split('\n').filter((line) => /^\S+ systemd\[1\]: /.test(line));
    expect(bySystemd.length).toBeGreaterThan(0);
    expect(bySystemd.join('\n')).not.toContain('forged');
    expect(said).toContain('database postgres://app:[secret]@db/labels');
    const out = join(office.folder, 'out');
    succeed(await office.scheduler('support', 'show', AGENT, '--out', out));
    expect((await readdir(out)).toSorted()).toEqual(
      expect.arrayContaining([
        'disk.txt',
        'doctor.json',
        'events.ndjson',
        'journal',
        'status.json',
        'versions.txt',
      ]),
    );
    expect(JSON.parse(await readFile(join(out, 'status.json'), 'utf8'))).toMatchObject({ agent: AGENT });

    // Answered: the next statement does not ask any more, and nothing is made again.
    succeed(await office.scheduler('sites', 'set', SITE, 'lineNumber=8'));
    await office.fill(stick, SITE);
    succeed(await site.agent('import', '/media/stick'));
    expect((await site.agent('reports', 'export', '/media/stick')).stdout).not.toContain('support bundle');
  });

  test('is created by an operator as a file, and on the medium', async () => {
    succeed(await site.agent('doctor', '--bundle', '/media/stick/press.tar', '--json'));
    const file = join(stick, 'press.tar');
    expect(succeed(await office.scheduler('support', 'show', file)).stdout).toContain(
      'created on the machine',
    );
    const bytes = await readFile(file);
    bytes.write('X', bytes.indexOf('doctor.json'));
    await writeFile(file, bytes);
    expect((await office.scheduler('support', 'show', file)).code).toBe(4);
    succeed(await site.agent('doctor', '--bundle', '/media/stick'));
    const taken = succeed(await office.scheduler('reports', 'import', stick));
    expect(taken.stdout).toContain('support bundle created on the machine: stored');
  });
});
