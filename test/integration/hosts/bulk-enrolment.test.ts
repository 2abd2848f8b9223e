import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hexOf } from '#bundles/digest';
import type { Hosts } from '#bundles/formats/medium/hosts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type FactoryHost, startFactoryHost } from '../../harness/hosts/factory-host.ts';
import { freePort } from '../../harness/neighbours/free-port.ts';
import { agentOnHost, programFile } from '../../harness/run/program-file.ts';
import { runCommand } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { type Office, serve, startOffice } from '../hub/hub-process.ts';

const UNITS = resolve(import.meta.dirname, '../../../deploy/systemd');
const NAMES = ['bulk-press-1', 'bulk-press-2'] as const;
const ONLINE = 'bulk-press-3';

describeWith(['factoryBase'], 'hosts that are made from one image', ({ factoryBase }) => {
  let office: Office;
  let stick: TemporaryDirectory;
  let rootSha256: string;
  const hosts: FactoryHost[] = [];
  const program = agentOnHost();

  beforeAll(async () => {
    office = await startOffice();
    stick = await temporaryDirectory('stick');
    const { root } = await openKeyDirectory(join(office.path, 'keys'));
    rootSha256 = hexOf(root.digest);
  });
  afterAll(async () => {
    for (const host of hosts) await host.remove();
    await stick?.[Symbol.asyncDispose]();
    await office?.[Symbol.asyncDispose]();
  });

  /** What an image holds: the program, the units and their words, and no state. @param port of a hub on this machine */
  const startFromImage = async (name: string, port?: number): Promise<FactoryHost> => {
    const host = await startFactoryHost(name, {
      base: factoryBase,
      network: port === undefined ? 'none' : 'machine',
      binds: [program.bind, { from: stick.path, to: '/media/stick' }],
    });
    hosts.push(host);
    const hub = `https://${host.cable?.machineAddress}:${port}`;
    for (const unit of ['fleet-agent-enroll.service', ...(port === undefined ? [] : ['fleet-agent.service'])])
      await host.exec(['/bin/sh', '-c', `cat > /etc/systemd/system/${unit}; systemctl enable ${unit}`], {
        input: (await readFile(join(UNITS, unit), 'utf8')).replace(/^RestartSec=.*$/m, 'RestartSec=1s'),
      });
    if (port !== undefined)
      await host.sh(`mkdir /etc/fleet-agent; echo 'hub: ${hub}' > /etc/fleet-agent/agent.yaml`);
    await host.sh(
      `printf '#!/bin/sh\\nexec /usr/local/bin/node ${program.file} "$@"\\n' > /usr/bin/fleet-agent
       chmod 755 /usr/bin/fleet-agent
       echo 'FLEET_ENROLL=--hosts /media/stick/hosts.json --root-sha256 ${rootSha256}${port === undefined ? ' /media/stick' : ''}' > /etc/default/fleet-agent`,
    );
    await host.stop();
    await host.start();
    return host;
  };
  const enrolled = (host: FactoryHost): Promise<string> =>
    host.sh('until test -e /var/lib/fleet-agent/enrolled-at-first-boot; do sleep 0.2; done');

  it('enrol at their first boot, each with its line and key, and the office accepts all by their tokens', async () => {
    await writeFile(
      join(office.path, 'hosts.csv'),
      `site,name,channel,match,label.ring\nplant-7,press-1,prod/press,hostname=${NAMES[0]},canary\nplant-7,press-2,prod/press,hostname=${NAMES[1]},\nplant-7,press-3,prod/press,hostname=${ONLINE},\n`,
    );
    const made = await office.scheduler(
      'tokens',
      'hosts',
      'hosts.csv',
      '--out',
      join(stick.path, 'hosts.json'),
    );
    expect(made.stdout).toContain('3 tokens are in ');
    await writeFile(
      join(office.path, 'fleet-scheduler.yaml'),
      'keys: keys\nlayout: layout\ndb: hub.db\nfactLabels: [{label: os, fact: osId}]\n',
    );
    const [first, second] = await Promise.all(NAMES.map((name) => startFromImage(name)));
    await Promise.all([first, second].map((host) => enrolled(host as FactoryHost)));
    const keys = await Promise.all(
      [first, second].map((host) => (host as FactoryHost).sh('cat /var/lib/fleet-agent/agent.key')),
    );
    expect(keys[0]).not.toBe(keys[1]);

    expect(await readdir(join(stick.path, 'fleet/requests'))).toHaveLength(2);
    const { stdout } = await office.scheduler('sites', 'enroll', stick.path);
    expect(stdout).toMatch(/plant-7\/press-1 enrolled[\s\S]*plant-7\/press-2 enrolled/);
    const listed = await office.scheduler('sites', 'list', '--json');
    expect(listed.stdout).toMatch(/"os":\s*"debian"/);
    expect(listed.stdout).toMatch(/"ring":\s*"canary"/);

    // The unit runs once.
    expect(
      await (first as FactoryHost).sh(
        'systemctl restart fleet-agent-enroll.service; systemctl show -P ConditionResult fleet-agent-enroll.service',
      ),
    ).toBe('no');
  });

  it('are refused with a used token of another host, which is named', async () => {
    const { fleet, hosts: lines } = JSON.parse(
      await readFile(join(stick.path, 'hosts.json'), 'utf8'),
    ) as Hosts;
    const [own] = lines;
    if (!own) throw new Error('no line');
    // A thief gives its own machine the line of press-1.
    const stolen = join(stick.path, 'stolen');
    await mkdir(stolen);
    await writeFile(join(stolen, 'hosts.json'), JSON.stringify({ fleet, hosts: [own] }));
    const [, second] = hosts;
    await (second as FactoryHost).sh(
      `hostname ${NAMES[0]} && fleet-agent enroll --state /var/lib/stolen --hosts /media/stick/stolen/hosts.json --root-sha256 ${rootSha256} --force-path /media/stick/stolen`,
    );
    const refused = await runCommand(
      [process.execPath, programFile('scheduler'), 'sites', 'enroll', stolen],
      { cwd: office.path, env: { PATH: process.env['PATH'] } },
    );
    expect([refused.code, refused.stderr]).toEqual([
      4,
      expect.stringMatching(/the token [0-9a-f]{12} of plant-7\/press-1 was used on .* by plant-7\/press-1/),
    ]);
  });

  it('enrol as soon as the hub answers when it was out of reach at their first boot', async () => {
    const port = await freePort();
    const host = await startFromImage(ONLINE, port);
    await host.sh('until journalctl -u fleet-agent-enroll | grep -q HUB_UNREACHABLE; do sleep 0.2; done');
    const address = host.cable?.machineAddress ?? '';
    await using hub = await serve(office.path, ['--listen', `${address}:${port}`, '--hostname', address]);
    await enrolled(host);
    expect((await office.scheduler('sites', 'list', '--json')).stdout).toContain('press-3');
    await expect
      .poll(async () => (await office.scheduler('events', '--site', 'plant-7', '--json')).stdout, {
        timeout: 60_000,
        interval: 1000,
      })
      .toContain('press-3');
    expect(hub.log.filter(({ level }) => Number(level) >= 50)).toEqual([]);
    // No release was made for it, so status ends with 8.
    expect((await host.exec(['fleet-agent', 'status'])).stdout).toContain('last handed over');
  });
});
