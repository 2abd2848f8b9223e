import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { parseCertificateRequest } from '#bundles/trust/root/certificate-request';
import { VERSION } from '#bundles/version';
import { buildDebs, type DebsOptions } from '../../../bundling/debian/build-debs.ts';
import { buildPrograms } from '../../harness/run/build-programs.ts';
import { bundleAgent } from '../../harness/run/bundle-agent.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type FactoryHost, startFactoryHost } from '../../harness/hosts/factory-host.ts';
import { THIN_NODE_BIND, thinNode } from '../../harness/hosts/thin-node.ts';
import { LONG } from '../../harness/run/long.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { PROGRAMS_VARIABLE } from '../../harness/run/program-file.ts';
import {
  createTestFleet,
  packTestBundle,
  type TestFleet,
  writeTestMedium,
} from '../../harness/fleets/signed-medium.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

/** 2026-11-24, the time of every file in the packages. */
const EPOCH = 1_795_478_400;

describeWith(['factoryBase'], 'the Debian packages on a host without Node and network', ({ factoryBase }) => {
  let folder: TemporaryDirectory;
  let host: FactoryHost;
  let fleet: TestFleet;
  let programs: string;
  /** The package of fleet-export. */
  let exporter: readonly string[];

  const build = (out: string, names: readonly string[], more: Partial<DebsOptions> = {}) =>
    buildDebs({ programs, out: join(folder.path, out), epoch: EPOCH, compression: 'none', names, ...more });
  /** The long run cuts the power while Node itself is unpacked. */
  const thin = async (): Promise<Partial<DebsOptions>> => (LONG ? {} : { node: await thinNode(folder.path) });
  const sh = (script: string): Promise<string> => host.sh(script);
  const installed = (files: readonly string[], at = 'one'): Promise<string> =>
    sh(`dpkg -i ${files.map((file) => `/media/${at}/${basename(file)}`).join(' ')}`);
  const trialEnded = () =>
    sh('timeout 240 sh -c "while test -e /var/lib/fleet-agent/upgrade/trial; do sleep 0.2; done"');
  const agentIs = () => sh('systemctl is-enabled fleet-agent; systemctl is-active fleet-agent || true');

  beforeAll(async () => {
    folder = await temporaryDirectory('debs');
    programs = process.env[PROGRAMS_VARIABLE] ?? join(folder.path, 'programs');
    if (process.env[PROGRAMS_VARIABLE] === undefined) {
      await buildPrograms(programs);
      await bundleAgent(join(programs, 'agent'));
    }
    fleet = await createTestFleet();
    await mkdir(join(folder.path, 'stick'));
    host = await startFactoryHost('debian-packages', {
      base: factoryBase,
      node: false,
      binds: [{ from: folder.path, to: '/media' }, THIN_NODE_BIND],
    });
  });
  afterAll(async () => {
    await host?.remove();
    await folder?.[Symbol.asyncDispose]();
  });

  it('have the same bytes for the same input', async () => {
    exporter = await build('one', ['fleet-export'], await thin());
    const again = await build('again', ['fleet-export'], await thin());
    const digests = (files: readonly string[]) => files.map((file) => digestOf(readFileSync(file)));
    expect(digests(again)).toEqual(digests(exporter));
  });

  it('install the programs, and do not start an agent that is not enrolled', async () => {
    expect((await host.exec(['/bin/sh', '-c', 'command -v node'])).code).not.toBe(0);
    const said = await installed([
      ...(await build('one', ['fleet-agent'])),
      ...(await build('one', ['fleet-scheduler'])),
      ...exporter,
    ]);
    expect(said).toContain('fleet-agent: this host is not enrolled, so the service is not started.');
    for (const name of ['fleet-agent', 'fleet-export', 'fleet-scheduler']) {
      expect(await sh(`${name} --version`)).toContain(VERSION);
      expect(await sh(`dpkg --verify ${name} | grep -v /usr/share/ || true`)).toBe('');
    }
    // The one Node of the three is the agent's.
    const kib = await sh(
      "dpkg-query --show --showformat='${Installed-Size}\\n' 'fleet-*' | awk '{ kib += $1 } END { print kib }'",
    );
    expect(Number(kib) * 1024).toBeLessThan(150e6);
    expect(await agentIs()).toBe('enabled\ninactive');
    expect(await sh('stat -c %a:%U /etc/fleet-agent')).toBe('755:root');
    // needrestart.test.ts tries it with needrestart.
    expect(await sh('cat /etc/needrestart/conf.d/fleet-agent.conf')).toContain(
      '$nrconf{override_rc}{qr(^fleet-agent-runner@)} = 0;',
    );
    expect(await sh('systemctl is-enabled fleet-scheduler fleet-signer || true')).toBe('disabled\ndisabled');
    expect(await sh('id -nG fleet-scheduler')).toBe('fleet-scheduler fleet-signer');
    await sh('fleet-scheduler init /root/platform --fleet acme');
    expect(await sh('find /root/platform -name hello -type f -perm /100')).not.toBe('');
    const doctor = await sh('fleet-agent doctor');
    expect(doctor).toContain('no agent is enrolled in /var/lib/fleet-agent');
    expect(doctor).toMatch(/^systemd +good/m);
  });

  it('name in one message what a service lacks when it is started too early', async () => {
    const start = async (unit: string) => {
      const { code, stderr } = await host.exec(['systemctl', 'start', unit]);
      return { code, stderr };
    };
    // With a width of its own, so that no line is cut. A line that journald reads after the end of its program has no invocation: systemctl
    // status leaves it out then, and journalctl has it.
    const status = async (unit: string) =>
      (
        await host.exec([
          '/bin/sh',
          '-c',
          `COLUMNS=400 systemctl --no-pager -l status ${unit}; journalctl --no-pager -n 20 -u ${unit}`,
        ])
      ).stdout;
    const says = (unit: string, sentence: RegExp) =>
      expect.poll(() => status(unit), { timeout: 30_000 }).toMatch(sentence);
    const failed = { code: 1, stderr: expect.stringContaining('systemctl status fleet-') };
    expect(await start('fleet-scheduler')).toMatchObject(failed);
    await says(
      'fleet-scheduler',
      /\/etc\/fleet-scheduler\/fleet-scheduler\.yaml: CONFIG_INVALID: there is no such file\. Write it, .*share\/doc\/fleet-scheduler\/examples\./,
    );
    await sh('mkdir -p /etc/fleet-scheduler; echo "listen: [1]" > /etc/fleet-scheduler/fleet-scheduler.yaml');
    expect(await start('fleet-scheduler')).toMatchObject(failed);
    await says('fleet-scheduler', /fleet-scheduler\.yaml:1:\d+: CONFIG_INVALID: /);
    expect(await start('fleet-signer')).toMatchObject(failed);
    await says(
      'fleet-signer',
      /KEY_MISSING: \/etc\/fleet-signer holds no trust root\. Put the officers' root there with: /,
    );
    await sh('systemctl stop fleet-signer');
    expect(await start('fleet-agent')).toEqual({ code: 0, stderr: '' });
    await says('fleet-agent', /waiting for the enrolment: .*fleet-agent enroll/);
    await sh(
      'systemctl stop fleet-agent; mkdir -p /etc/fleet-agent; echo "interval: [1]" > /etc/fleet-agent/agent.yaml',
    );
    await start('fleet-agent');
    await says('fleet-agent', /\/etc\/fleet-agent\/agent\.yaml:1:\d+: CONFIG_INVALID: /);
    // The hub is not started again before somebody changes its file: RestartSec is 5 s.
    expect(await sh('systemctl is-failed fleet-scheduler; systemctl show -P NRestarts fleet-scheduler')).toBe(
      'failed\n0',
    );
    await sh(
      'systemctl stop fleet-agent; rm -r /etc/fleet-agent/agent.yaml /etc/fleet-scheduler; systemctl reset-failed',
    );
  }, 120_000);

  it('start hub and signer once they can serve', async () => {
    await sh('fleet-scheduler root init --dev --fleet acme --keys /etc/fleet-scheduler/keys');
    // The hosts of factories are installed without documentation, so the example comes from here.
    const example = readFileSync(
      join(import.meta.dirname, '../../../deploy/debian/fleet-scheduler.yaml'),
      'utf8',
    );
    await sh(`cat > /etc/fleet-scheduler/fleet-scheduler.yaml <<'END'\n${example}END
      chown -R fleet-scheduler: /etc/fleet-scheduler
      cp -r /etc/fleet-scheduler/keys/. /etc/fleet-signer && chown -R fleet-signer: /etc/fleet-signer`);
    for (const unit of ['fleet-scheduler', 'fleet-signer']) {
      const { code } = await host.exec(['systemctl', 'start', unit]);
      const log = () => sh(`journalctl -u ${unit} -o cat | tail -20`);
      expect(code, await log()).toBe(0);
      // journald reads the lines of a service after the service wrote them.
      await expect.poll(log).toContain('"msg":"listening"');
      expect(await sh(`systemctl is-active ${unit}`)).toBe('active');
    }
    await sh('systemctl stop fleet-scheduler fleet-signer; rm -r /etc/fleet-scheduler /etc/fleet-signer/*');
  }, 120_000);

  it('keep an enrolled agent and its release over upgrade, removal and purge', async () => {
    const root = hexOf(digestOf(fleet.roots[0] ?? ''));
    const who = `--fleet ${fleet.name} --site plant-7 --name kiosk-1 --channel prod/factory-host`;
    const said = await sh(
      `FLEET_NOW=2026-11-21T08:00:00Z fleet-agent enroll ${who} --root-sha256 ${root} /media/stick`,
    );
    expect(said).toContain('The service fleet-agent is started.');
    // It is active when its program is started, and runs here once it has taken its lock.
    await sh('timeout 60 sh -c "until test -e /var/lib/fleet-agent/service.db; do sleep 0.2; done"');
    await sh('systemctl is-active fleet-agent');
    const { request } = JSON.parse(await sh('cat /media/stick/fleet/requests/*.json')) as { request: string };
    await writeTestMedium(join(folder.path, 'medium'), fleet, {
      site: {
        site: 'plant-7',
        version: 1,
        agents: [{ name: 'kiosk-1', key: parseCertificateRequest(request).key.pem }],
      },
      release: {
        version: 1,
        bundle: packTestBundle(fleet, [{ id: 'app', files: { '/etc/app.conf': 'released\n' } }]),
      },
    });
    await sh('FLEET_NOW=2026-11-21T08:00:00Z fleet-agent import /media/medium');
    expect(await sh('cat /etc/app.conf')).toBe('released');
    await sh('systemctl stop fleet-agent; rm /etc/app.conf');
    // Of a machine whose service does not run no package reads healthy.
    const stopped = await host.exec(['fleet-agent', 'status']);
    expect(stopped).toMatchObject({ code: 8 });
    expect(stopped.stdout).toMatch(/^Service +NOT RUNNING: .*"systemctl enable --now fleet-agent"/m);
    expect(stopped.stdout).toMatch(/^app +unknown .*, and the service is not running$/m);
    expect((await host.exec(['fleet-agent', 'doctor'])).stdout).toMatch(/^service +bad/m);
    // A look by a command counts where the service never ran, and status says that it does not run. One that a timer starts is inactive in between.
    await sh('rm /var/lib/fleet-agent/service.db');
    const never = await host.exec(['fleet-agent', 'status']);
    expect(never.stdout).toMatch(/^app +healthy /m);
    expect(never.stdout).toContain('NOT RUNNING');
    await sh(`printf '[Timer]\\nOnActiveSec=1h\\n' > /run/systemd/system/fleet-agent.timer
      systemctl daemon-reload && systemctl start fleet-agent.timer`);
    const timed = await host.exec(['fleet-agent', 'status']);
    expect(timed.stdout).not.toContain('NOT RUNNING');
    expect(timed.stdout).not.toContain('the service is not running');
    await sh(`systemctl stop fleet-agent.timer; rm /run/systemd/system/fleet-agent.timer
      systemctl daemon-reload; systemctl mask fleet-agent`);
    expect((await host.exec(['fleet-agent', 'status'])).stdout).toContain('systemctl unmask fleet-agent');
    await sh('systemctl unmask fleet-agent');
    // The same medium again has no news, and puts back what is missing.
    expect(await sh('FLEET_NOW=2026-11-21T08:00:00Z fleet-agent import /media/medium')).toMatch(
      /^app: \/etc\/app.conf is missing: corrected\nThe service is not running, so .*"systemctl enable --now fleet-agent"/m,
    );
    expect(await sh('cat /etc/app.conf')).toBe('released');
    await sh('systemctl start fleet-agent');
    expect(await sh('fleet-agent status')).toMatch(/^app +healthy /m);
    const first = await sh('systemctl show --value -p InvocationID fleet-agent');

    // On a slow disk the end of a trial takes seconds, in which the next upgrade begins.
    const trialDropIn = '/run/systemd/system/fleet-agent-trial.service.d';
    const slow = '#!/bin/sh\ntest -e /var/lib/fleet-agent/upgrade/trial || sleep 3\nexec /bin/sync "$@"\n';
    await sh(
      `mkdir -p /run/slow ${trialDropIn} && printf '%s' '${slow}' > /run/slow/sync && chmod +x /run/slow/sync`,
    );
    await sh(
      `printf '[Service]\\nEnvironment=PATH=/run/slow:/usr/sbin:/usr/bin:/sbin:/bin\\n' > ${trialDropIn}/slow.conf`,
    );
    const two = await build('two', ['fleet-agent'], { ...(await thin()), version: '99.0.0-rc.1' });
    for (const _ of ['upgrade', 'the next one']) {
      await installed(two, 'two');
      await trialEnded();
    }
    await sh(`rm -r ${trialDropIn}; systemctl daemon-reload`);
    await expect.poll(() => sh('ls -A /var/lib/fleet-agent/upgrade')).toBe('guard');
    expect(await sh('dpkg-query --show fleet-agent')).toBe('fleet-agent\t99.0.0~rc.1');
    await expect.poll(agentIs, { interval: 500 }).toBe('enabled\nactive');
    expect(await sh('systemctl show --value -p InvocationID fleet-agent')).not.toBe(first);

    // The next version migrates the database and ends.
    const [good = ''] = await build('good', ['fleet-agent'], { ...(await thin()), version: '99.1.0' });
    const bad = join(folder.path, 'bad');
    await runOrFail(['dpkg-deb', '-R', good, bad]);
    const program = join(bad, 'usr/lib/fleet-agent/fleet-agent.mjs');
    // Until the next boot, the test can hold the upgrade when the new version is unpacked.
    const postinst = join(bad, 'DEBIAN/postinst');
    const held = 'set -e\nwhile test -e /run/held; do sleep 0.1; done';
    await writeFile(postinst, readFileSync(postinst, 'utf8').replace('set -e', held));
    const packBad = async (script: string) => {
      await writeFile(program, `#!/usr/lib/fleet-agent/node\n${script}\n`);
      await runOrFail(['dpkg-deb', '-Znone', '--root-owner-group', '-b', bad, join(folder.path, 'bad.deb')]);
    };
    await packBad(
      `import { DatabaseSync } from 'node:sqlite';
      new DatabaseSync('/var/lib/fleet-agent/state.db').exec('PRAGMA user_version = 999');
      process.exit(3);`,
    );
    // The trial counts restarts, whatever lies between them.
    const dropIn = '/etc/systemd/system/fleet-agent.service.d';
    await sh(`mkdir ${dropIn} && printf '[Service]\\nRestartSec=1s\\n' > ${dropIn}/restarts.conf`);
    await sh('systemctl daemon-reload; dpkg -i /media/bad.deb');
    await trialEnded();
    expect(await sh('dpkg-query --show fleet-agent')).toBe('fleet-agent\t99.0.0~rc.1');
    await expect.poll(agentIs, { interval: 500 }).toBe('enabled\nactive');
    expect(JSON.parse(await sh('fleet-agent status --json'))).toHaveProperty('packages');
    expect(await sh('dpkg -i /media/bad.deb 2>&1 || true')).toMatch(
      /version 99\.1\.0 did not come up on this host: it ended 3 times .*with status 3/,
    );
    expect(await sh('fleet-agent --version')).toContain(VERSION);
    // It runs with the agent's Node.
    expect(await sh('fleet-export --version')).toContain(VERSION);
    await sh('rm /var/lib/fleet-agent/upgrade/refused/99.1.0');

    // The power is cut when the bad version is unpacked, so that the next boot starts it, before and during unpacking, and while the
    // host goes back.
    const place = '/var/lib/fleet-agent/upgrade';
    const signs = [
      'grep -q user_version /usr/lib/fleet-agent/fleet-agent.mjs',
      `test -e ${place}/trial`,
      'test -e /usr/lib/fleet-agent/node.dpkg-new',
      `test -e ${place}/back`,
    ];
    for (const sign of LONG ? signs : signs.slice(0, 1)) {
      if (sign === signs[0]) await sh('touch /run/held');
      await sh(`systemd-run --quiet dpkg -i /media/bad.deb; until ${sign}; do sleep 0.01; done`);
      await host.crash();
      await host.start();
      await trialEnded();
      expect(await sh('dpkg-query --show fleet-agent; dpkg --audit')).toBe('fleet-agent\t99.0.0~rc.1');
      await expect.poll(agentIs, { interval: 500 }).toBe('enabled\nactive');
      expect(JSON.parse(await sh('fleet-agent status --json'))).toHaveProperty('packages');
      await expect.poll(() => sh('systemctl --failed --plain --no-legend'), { timeout: 10_000 }).toBe('');
      await sh('rm -rf /var/lib/fleet-agent/upgrade/refused');
    }

    // A service that systemd is about to start again is not stopped: the new version is on trial. One that hangs goes back at the limit.
    await packBad('setInterval(() => {}, 1e6);');
    await sh('echo FLEET_UPGRADE_SECONDS=5 >> /etc/default/fleet-agent');
    await sh(`sed -i s/1s/1min/ ${dropIn}/restarts.conf; systemctl daemon-reload`);
    await sh('systemctl kill --signal=KILL fleet-agent');
    await expect.poll(agentIs, { interval: 500 }).toBe('enabled\nactivating');
    await sh('dpkg -i /media/bad.deb');
    await trialEnded();
    expect(await sh(`cat ${place}/refused/99.1.0`)).toMatch(/^it completed no look within \d+ s$/);
    expect(await sh('dpkg-query --show fleet-agent')).toBe('fleet-agent\t99.0.0~rc.1');
    await expect.poll(agentIs, { interval: 500 }).toBe('enabled\nactive');

    await sh('dpkg --remove fleet-agent fleet-export fleet-scheduler');
    expect(
      await sh(
        'systemctl is-active fleet-agent || true; ls -d /var/lib/fleet-agent/agent.key /etc/fleet-agent; cat /etc/app.conf',
      ),
    ).toBe('inactive\n/etc/fleet-agent\n/var/lib/fleet-agent/agent.key\nreleased');
    const purged = await sh('dpkg --purge fleet-agent');
    expect(purged).toContain('/var/lib/fleet-agent is kept. To remove it too: rm -r /var/lib/fleet-agent');
    expect(await sh('ls /var/lib/fleet-agent/agent.key; ls /etc/default /etc')).not.toMatch(/^fleet-agent$/m);
  });
});
