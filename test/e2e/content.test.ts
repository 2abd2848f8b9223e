import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { acceptRequests } from '../harness/fleets/accept-requests.ts';
import { asRoot } from '../harness/hosts/as-root.ts';
import { freePort } from '../harness/neighbours/free-port.ts';
import { agentOnHost, programFile } from '../harness/run/program-file.ts';
import { describeWith } from '../harness/run/describe-with.ts';
import { LONG } from '../harness/run/long.ts';
import { runCommand, runOrFail, succeed } from '../harness/run/run-command.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { canary, tracesOf, tracesUnder } from '../integration/secrets/secrets-walk/canaries.ts';
import { type Office, openOffice } from './office.ts';
import { eventsAtHub } from './reliability/hub-record.ts';
import { makeProcess } from './reliability/process.ts';
import { type SiteHost, startSite } from './site.ts';

const APT = '/var/lib/fleet-ferry/apt/info-screen-kiosk';
const ANSIBLE = '/var/lib/fleet-ferry/ansible/info-screen-kiosk';
const MODEL = '/opt/models/labels.bin';
const CHART = '/var/lib/fleet-ferry/charts/info-screen-kiosk/printer-1.4.2.tgz';
/** Only what the package brought. */
const APT_GET =
  'apt-get -y -o Dir::Etc::sourcelist=/etc/apt/sources.list.d/screen.list -o Dir::Etc::sourceparts=-';

/** A publisher of files that can be asked what was fetched from it. */
const publish = async (files: Map<string, Uint8Array>, asked: string[]): Promise<Server> => {
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const bytes = files.get(request.url ?? '');
    response.writeHead(bytes ? 200 : 404, bytes && { 'content-length': bytes.byteLength }).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
};

const makeDeb = async (folder: string, version: string): Promise<string> => {
  const root = join(folder, `deb-${version}`);
  await mkdir(join(root, 'DEBIAN'), { recursive: true });
  await mkdir(join(root, 'usr/share/greeter'), { recursive: true });
  const control = `Package: greeter\nVersion: ${version}\nArchitecture: all\nMaintainer: A <a@b.example>\nDescription: greets\n`;
  await writeFile(join(root, 'DEBIAN/control'), control);
  await writeFile(join(root, 'usr/share/greeter/greeting'), `greeting ${version}\n`);
  const file = join(folder, `greeter-${version}.deb`);
  // As Debian packs its own.
  await runOrFail(['dpkg-deb', '-Zxz', '--root-owner-group', '--build', root, file]);
  return file;
};

const makeAnsible = async (folder: string): Promise<void> => {
  const files = {
    'printer/galaxy.yml':
      'namespace: factory\nname: printer\nversion: 1.0.0\nreadme: README.md\nauthors: [a]\nlicense: [MIT]\n',
    'printer/README.md': 'x\n',
    'clock/meta/main.yml':
      'galaxy_info: {author: a, description: d, license: MIT, min_ansible_version: "2.1"}\n',
    'clock/tasks/main.yml': '[]\n',
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  await runOrFail(['ansible-galaxy', 'collection', 'build', 'printer'], { cwd: folder });
  await runOrFail(['tar', '-czf', 'clock.tar.gz', 'clock'], { cwd: folder });
};

const packageYaml = (base: string, deb: string): string => `apiVersion: fleet-ferry/v1alpha1
kind: HostPackage
metadata:
  name: info-screen
spec:
  files:
    - path: ${MODEL}
      url: ${base}/labels.bin
      mode: "0640"
    - path: /etc/apt/sources.list.d/screen.list
      content: |
        deb [trusted=yes] file:${APT} ./
  debs:
    - url: ${base}/${deb}
    - source: debs/extra.deb
  collections:
    - url: ${base}/factory-printer-1.0.0.tar.gz
  roles:
    - name: factory.clock
      url: ${base}/clock.tar.gz
  charts:
    - url: ${base}/printer-1.4.2.tgz
`;

const playbookYaml = (playbook: string): string => `apiVersion: fleet-ferry/v1alpha1
kind: HostPackage
metadata:
  name: info-screen
spec:
  directories:
    - path: /srv/info-screen
  secrets:
    - {path: /run/info-screen/vault, set: info-screen, key: vault}
  playbooks:
    - {name: screen, source: ansible/${playbook}}
`;

const VAULTED_PLAYBOOK = `- hosts: localhost
  gather_facts: false
  tasks:
    - include_vars: vault.yml
    - name: "file of {{ pin }}"
      copy: {dest: /srv/info-screen/pin, content: "{{ pin }}", mode: "0600"}
    - name: "shows {{ pin }}"
      fail: {msg: "the pin is {{ pin }}"}
      ignore_errors: true
`;

const HIDDEN_PLAYBOOK = `- hosts: localhost
  gather_facts: false
  tasks:
    - name: read
      command: cat /root/hidden
      changed_when: false
      check_mode: false
      no_log: true
      register: found
    - name: "shows {{ found.stdout }}"
      fail: {msg: "it is {{ found.stdout }}"}
      no_log: true
`;

describeWith(
  ['factoryBase', 'ansible'],
  'Debian packages, playbooks and models at a host without a network',
  ({ factoryBase }) => {
    const stack = new AsyncDisposableStack();
    let office: Office;
    let site: SiteHost;
    let stick: string;
    let work: string;
    const shell = async (script: string) => succeed(await site.shell(script)).stdout.trim();

    beforeAll(async () => {
      const folder = stack.use(await temporaryDirectory('office'));
      const media = stack.use(await temporaryDirectory('media'));
      [stick, work] = [join(media.path, 'stick'), join(media.path, 'publisher')];
      await Promise.all([stick, work].map((path) => mkdir(path)));
      office = await openOffice(folder.path);
      site = stack.use(await startSite('content-site', factoryBase, stick, { network: 'machine' }));
      await site.host.cable?.cutOff();
      succeed(await site.enroll(office.rootSha256, 'shop-4', 'screen-1', 'prod/kiosk'));
      succeed(await office.scheduler('sites', 'enroll', stick, ...(await acceptRequests(stick))));
    });
    afterAll(() => stack.disposeAsync());

    test('are brought once by a medium, used by apt and Ansible, corrected, updated by a delta and rolled back', async () => {
      await makeAnsible(work);
      const model = randomBytes(24 << 20);
      const files = new Map<string, Uint8Array>([
        ['/labels.bin', model],
        ['/greeter-1.deb', await readFile(await makeDeb(work, '1'))],
        ['/greeter-2.deb', await readFile(await makeDeb(work, '2'))],
        ['/factory-printer-1.0.0.tar.gz', await readFile(join(work, 'factory-printer-1.0.0.tar.gz'))],
        ['/clock.tar.gz', await readFile(join(work, 'clock.tar.gz'))],
        ['/printer-1.4.2.tgz', Buffer.from('a chart')],
      ]);
      const asked: string[] = [];
      const server = await publish(files, asked);
      try {
        const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
        const host = join(office.folder, 'apps/info-screen/host');
        await mkdir(join(host, 'debs'));
        await runOrFail(['cp', await makeDeb(work, '0.1'), join(host, 'debs/extra.deb')]);
        await office.edit('apps/info-screen/host/package.yaml', () => packageYaml(base, 'greeter-1.deb'));
        await office.edit('platform/base/workspaces/retail.yaml', (before) =>
          before.replace(
            '  host:\n',
            `  host:\n    paths: [${MODEL}, /etc/apt/sources.list.d/screen.list]\n`,
          ),
        );
        const unlocked = await office.scheduler('build', '--images', 'images', '--environment', 'prod');
        expect(unlocked.stdout + unlocked.stderr).toMatch(
          /apps\/info-screen\/host\/package\.yaml:7:7: CONTENT_UNPINNED: nothing says what .*\/labels\.bin must be/,
        );
        succeed(await office.scheduler('images', 'lock', '--images', 'images'));
        await office.build();
        // Fetched to be locked, and never again.
        expect(asked.toSorted()).toEqual([
          '/clock.tar.gz',
          '/factory-printer-1.0.0.tar.gz',
          '/greeter-1.deb',
          '/labels.bin',
          '/printer-1.4.2.tgz',
        ]);

        await office.fill(stick, 'shop-4');
        succeed(await site.agent('import', '/media/stick'));

        expect(await shell(`stat -c %a:%U:%s ${MODEL}`)).toBe(`640:root:${model.length}`);
        expect(await shell(`cat ${CHART}`)).toBe('a chart');
        // apt believes the index, and finds both versions.
        await shell(`${APT_GET} update`);
        expect(await shell(`${APT_GET} --no-install-recommends install greeter=0.1 2>&1`)).toContain(
          'greeter',
        );
        await shell(`${APT_GET} install greeter`);
        expect(await shell('cat /usr/share/greeter/greeting')).toBe('greeting 1');

        // ansible-galaxy, in a machine that has nothing but what came along.
        const copy = join(work, 'carried');
        await runOrFail(asRoot(['cp', '-r', `${site.host.rootDir}/var/lib/fleet-ferry`, copy]));
        const galaxy = [
          'mount -t tmpfs none /var/lib && mkdir /var/lib/fleet-ferry',
          `mount --bind ${copy} /var/lib/fleet-ferry`,
          `export HOME=${work}/home && mkdir -p $HOME && cd $HOME`,
          `ansible-galaxy collection install --offline -r ${ANSIBLE}/requirements.yml -p collections`,
          `ansible-galaxy role install -r ${ANSIBLE}/requirements.yml -p roles`,
          'cat collections/ansible_collections/factory/printer/MANIFEST.json roles/factory.clock/meta/main.yml',
        ];
        const installed = succeed(
          await runCommand(asRoot(['unshare', '-m', '-n', 'sh', '-ec', galaxy.join('\n')])),
        );
        expect(installed.stdout).toContain('factory.printer:1.0.0 was installed successfully');
        expect(installed.stdout).toContain('galaxy_info:');

        // Somebody helps.
        await shell(`printf x | dd of=${MODEL} bs=1 seek=5000000 conv=notrunc; rm ${APT}/Packages`);
        expect((await site.agent('diff')).code).toBe(8);
        succeed(await site.agent('run', '--once'));
        succeed(await site.agent('diff'));
        expect(await shell(`sha256sum < ${MODEL}`)).toContain(hexOf(digestOf(model)));

        // The next release has another deb, and brings that alone.
        await office.edit('apps/info-screen/host/package.yaml', () => packageYaml(base, 'greeter-2.deb'));
        succeed(await office.scheduler('images', 'lock', '--images', 'images'));
        await office.build();
        succeed(await site.agent('reports', 'export', '/media/stick'));
        succeed(await office.scheduler('reports', 'import', stick));
        const delta = join(work, 'delta.tar');
        await office.fill(delta, 'shop-4', '--for', stick);
        expect((await stat(delta)).size).toBeLessThan(1 << 20);
        await rm(join(stick, 'blobs'), { recursive: true });
        await runOrFail(['cp', delta, join(stick, 'delta.tar')]);
        succeed(await site.agent('import', '/media/stick/delta.tar'));
        await shell(`${APT_GET} update && ${APT_GET} install greeter`);
        expect(await shell('cat /usr/share/greeter/greeting')).toBe('greeting 2');
        expect(await shell(`ls ${APT}`)).toBe('Packages\nRelease\ngreeter_0.1_all.deb\ngreeter_2_all.deb');

        // Back again, from what the store kept.
        succeed(await site.agent('rollback', 'info-screen-kiosk', '--reason', 'it greets too loudly'));
        expect(await shell(`ls ${APT}`)).toBe('Packages\nRelease\ngreeter_0.1_all.deb\ngreeter_1_all.deb');
        succeed(await site.agent('diff'));
      } finally {
        server.close();
      }
    }, 600_000);

    test('run as playbooks whose secrets are in no journal, log, report, medium or database of the hub', async () => {
      const [pin, hidden, password] = ['pin', 'hidden', 'vault'].map(canary) as [string, string, string];
      /** Everything that a program said. */
      const said: string[] = [];
      const agent = async (...words: readonly string[]) => {
        const { code, stdout, stderr } = await site.agent(...words);
        said.push(stdout, stderr);
        return { code, text: `${stdout}${stderr}` };
      };
      const scheduler = async (...words: readonly string[]) => {
        said.push(succeed(await office.scheduler(...words)).stdout);
      };
      const host = join(office.folder, 'apps/info-screen/host');
      await mkdir(join(host, 'ansible'));
      await writeFile(join(work, 'password'), password);
      await writeFile(join(host, 'ansible/vault.yml'), `pin: ${JSON.stringify(pin)}\n`);
      await runOrFail([
        'ansible-vault',
        'encrypt',
        '--vault-password-file',
        join(work, 'password'),
        join(host, 'ansible/vault.yml'),
      ]);
      // As input, because command lines come into the journal.
      const write = (path: string, input: string) =>
        site.host.exec(['/bin/sh', '-c', `cat > ${path}`], { input });
      await write('/root/hidden', hidden);
      await writeFile(join(host, 'ansible/hidden.yml'), HIDDEN_PLAYBOOK);
      await writeFile(join(host, 'ansible/vaulted.yml'), VAULTED_PLAYBOOK);
      const bring = async (yaml: string) => {
        await writeFile(join(host, 'package.yaml'), yaml);
        // The playbook takes the place of all that the package had.
        await office.build('--allow-removals', 'info-screen-kiosk');
        await rm(join(stick, 'blobs'), { recursive: true, force: true });
        await office.fill(stick, 'shop-4');
        return agent('import', '/media/stick', '--prune');
      };
      const set = ['secrets', 'set', '--site', 'shop-4', '--name', 'info-screen', '--from-file'];
      await scheduler(...set, `vault=${join(work, 'password')}`);

      expect(await bring(playbookYaml('hidden.yml'))).toMatchObject({
        code: 7,
        text: expect.stringContaining('withheld because of no_log'),
      });
      expect(await bring(playbookYaml('vaulted.yml, vaultPassword: /run/info-screen/vault'))).toMatchObject({
        code: 0,
      });
      expect(await shell('cat /srv/info-screen/pin')).toBe(pin);
      await write('/srv/info-screen/pin', 'other');
      expect(await agent('diff', '--json')).toMatchObject({
        code: 8,
        text: expect.stringContaining('the playbook screen would change'),
      });
      for (const verb of ['status', 'history']) await agent(verb, '--json');
      expect((await agent('reports', 'export', '/media/stick')).code).toBe(0);
      await scheduler('reports', 'import', stick);
      await scheduler('events', '--site', 'shop-4', '--limit', '1000', '--json');
      expect(said.at(-1)).toContain('withheld because of no_log');

      // The daemon corrects the file by the playbook, and hands its reports over to the hub itself.
      if (LONG) {
        const { cable } = site.host;
        if (!cable) throw new Error('the host has no cable');
        await cable.reconnect();
        const hub = `${cable.machineAddress}:${await freePort()}`;
        const settings = { keys: 'keys', layout: 'releases', db: 'hub/hub.db', listen: hub };
        const serving = { ...settings, hostnames: [cable.machineAddress] };
        await writeFile(join(office.folder, 'hub.yaml'), JSON.stringify(serving));
        const serve = ['serve', '--config', join(office.folder, 'hub.yaml')];
        await using served = makeProcess([process.execPath, programFile('scheduler'), ...serve], {
          cwd: office.folder,
          ready: '"msg":"listening"',
        });
        await served.start();
        const token = succeed(
          await office.scheduler('tokens', 'create', '--site', 'shop-4', '--json'),
        ).stdout;
        await write('/root/token', `${(JSON.parse(token) as { readonly token: string }).token}\n`);
        const named = '--fleet halden --site shop-4 --name screen-1 --channel prod/kiosk'.split(' ');
        const online = ['--hub', `https://${hub}`, '--token-file', '/root/token'];
        const enrolled = await agent('enroll', ...named, ...online, '--root-sha256', office.rootSha256);
        expect(enrolled.code, enrolled.text).toBe(0);
        const reported = () => eventsAtHub(office.folder, 'shop-4/screen-1');
        const before = reported().length;
        const daemon = [
          '/usr/local/bin/node',
          agentOnHost().file,
          'run',
          '--interval',
          '1s',
          '--hub',
          online[1] ?? '',
        ];
        succeed(await site.host.exec(['systemd-run', '--quiet', '--unit=daemon', ...daemon]));
        await expect
          .poll(
            () =>
              reported()
                .slice(before)
                .map(({ type }) => type),
            { timeout: 120_000, interval: 500 },
          )
          .toContain('corrected');
        await shell('systemctl stop daemon');
        expect(await shell('cat /srv/info-screen/pin')).toBe(pin);
        said.push(served.log(), JSON.stringify(reported()));
      }

      const secrets = [pin, hidden, password];
      expect(said.flatMap((text) => tracesOf('what was said', text, secrets))).toEqual([]);
      expect(await tracesUnder(office.folder, secrets)).toEqual([]);
      expect(await tracesUnder(stick, secrets)).toEqual([]);
      const words = secrets.flatMap((one) => [
        one.replace(/".*/, ''),
        Buffer.from(one).toString('base64').slice(0, 30),
      ]);
      await write('/run/words', words.join('\n'));
      const found = await shell(`journalctl --sync; journalctl --flush
        grep -rlaF -f /run/words /etc /home /root /srv /tmp /usr/bin /var || true`);
      // The second is the file that the playbook writes, which was changed above and not corrected in a usual run.
      expect(found).toBe(LONG ? '/root/hidden\n/srv/info-screen/pin' : '/root/hidden');
    }, 600_000);
  },
);
