import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { type AgeIdentity, generateAgeIdentity } from '#bundles/trust/age/recipient';
import { openSecretSet } from '#bundles/trust/secrets/open';
import SecretsList from '../../../scheduler/commands/secrets/list.ts';
import SecretsRemove from '../../../scheduler/commands/secrets/remove.ts';
import SecretsReseal from '../../../scheduler/commands/secrets/reseal.ts';
import SecretsSet from '../../../scheduler/commands/secrets/set.ts';
import SitesEnroll from '../../../scheduler/commands/sites/enroll.ts';
import SitesRevoke from '../../../scheduler/commands/sites/revoke.ts';
import { readValues } from '../../../scheduler/hub/sites/secrets/read-values.ts';
import { acceptRequests } from '../../harness/fleets/accept-requests.ts';
import { programFile } from '../../harness/run/program-file.ts';
import {
  digestIn,
  enrolWithAge,
  filesThatShow,
  newestStatement,
  PASSWORD,
  sealedIn,
} from '../hub/sites/secrets/secret-site.ts';
import { ask, type TestHub, testAgent, testHub } from '../hub/test-hub.ts';
import { runCommandClass } from './run-command-class.ts';

const WHY = ['--reason', 'a test'];

const NOW = '2026-11-21T08:00:00Z';
const SCHEDULER = programFile('scheduler');

/** Flags for the places of a hub; with an escrow, a configuration file that names it. */
const places = async (hub: TestHub, escrow?: AgeIdentity): Promise<readonly string[]> => {
  const config = join(hub.path, 'fleet-scheduler.yaml');
  if (escrow) await writeFile(config, `secrets:\n  escrow: ${escrow.recipient}\n`);
  const flags = { keys: join(hub.path, 'keys'), layout: hub.layout, db: join(hub.path, 'hub.db'), now: NOW };
  return [
    ...Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]),
    ...(escrow ? ['--config', config] : []),
  ];
};

/** Values lie outside of the hub's folder, where nothing may show them. */
const write = async (folder: string, files: Readonly<Record<string, string>>): Promise<void> => {
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
};

const MQTT = ['--site', 'plant-7', '--name', 'mqtt'];
const open = async (hub: TestHub, { identity }: AgeIdentity) =>
  openSecretSet(await sealedIn(hub, digestIn(await newestStatement(hub), 'mqtt')), identity, {
    fleet: 'acme',
    site: 'plant-7',
    name: 'mqtt',
  });
const plain = (base64: string | undefined): string => Buffer.from(base64 ?? '', 'base64').toString();

describe('secrets set', () => {
  it('reads values from files and lines, and prints keys and recipients but no value', async () => {
    await using hub = await testHub();
    await using outside = await testHub();
    const agent = await enrolWithAge(hub, 'plant-7/press-1');
    await write(outside.path, {
      'pw.txt': PASSWORD,
      'ca.pem': 'CERT\n',
      env: `# one\nUSER=line 7\nTOKEN=${PASSWORD}=\n`,
    });
    const { out, err, code } = await runCommandClass(SecretsSet, [
      ...(await places(hub)),
      ...MQTT,
      '--from-file',
      `password=${join(outside.path, 'pw.txt')}`,
      '--from-file',
      join(outside.path, 'ca.pem'),
      '--from-env-file',
      join(outside.path, 'env'),
    ]);
    expect([code ?? 0, err]).toEqual([0, '']);
    expect(out).toContain('mqtt of plant-7 is at version 1, with password, ca.pem, USER, TOKEN');
    expect(out).toContain('sealed to press-1');
    expect(out).not.toContain(PASSWORD);
    const { values } = await open(hub, agent);
    expect(Object.entries(values).map(([key, value]) => [key, plain(value)])).toEqual([
      ['TOKEN', `${PASSWORD}=`],
      ['USER', 'line 7'],
      ['ca.pem', 'CERT\n'],
      ['password', PASSWORD],
    ]);
    expect(await filesThatShow(hub.path, PASSWORD)).toEqual([]);
  });

  it('reads a value from stdin without its final line feed', async () => {
    await using hub = await testHub();
    const agent = await enrolWithAge(hub, 'plant-7/press-1');
    const words = ['secrets', 'set', ...(await places(hub)), ...MQTT, '--stdin', 'password', '--json'];
    const child = spawn(process.execPath, [SCHEDULER, ...words], { cwd: hub.path });
    child.stdin.end(`${PASSWORD}\n`);
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    expect([child.exitCode, err]).toEqual([0, '']);
    expect(JSON.parse(out)).toMatchObject({ site: 'plant-7', version: 1, keys: ['password'], escrow: false });
    expect(plain((await open(hub, agent)).values['password'])).toBe(PASSWORD);
    // As in `pass show ... | fleet-scheduler secrets set --stdin ...` where pass fails.
    const sources = { files: [], envFile: undefined, stdin: 'password' };
    await expect(readValues(sources, hub.path, Readable.from([]))).rejects.toMatchObject({
      code: 'USAGE',
      message: 'nothing came from standard input, for the key password',
    });
  });

  it.each([
    ['no value', [], 2, 'no value is given'],
    ['a line that is none', ['--from-env-file', 'lines'], 2, 'lines:2'],
    ['a key twice', ['--from-file', 'a=one', '--from-file', 'a=one'], 2, 'the key a is given twice'],
    ['a key that Kubernetes refuses', ['--from-file', '..a=one'], 2, 'cannot be the key of a secret'],
    ['a key that is none', ['--from-file', 'a/b=one'], 2, 'cannot be the key of a secret'],
    ['a value in the command line', [`password=${PASSWORD}`], 2, 'too many arguments: password=...'],
    ['a pipe whose program failed', ['--from-file', 'a=/dev/null'], 2, 'nothing came from /dev/null'],
    ['a file that is not there', ['--from-file', 'a=gone'], 5, 'there is no file'],
    ['a file that is too large', ['--from-file', 'a=big'], 4, 'has more than 1048576 bytes'],
    ['another agent', ['--from-file', 'a=one', '--agent', 'press-9'], 4, 'site plant-7 has no agent press-9'],
  ] as const)('refuses %s without quoting it', async (_, words, code, message) => {
    await using hub = await testHub();
    await using outside = await testHub();
    await enrolWithAge(hub, 'plant-7/press-1');
    await write(outside.path, { one: PASSWORD, lines: `A=1\n${PASSWORD}\n`, big: PASSWORD.repeat(50_000) });
    const inside = words.map((word) =>
      word.replace(/(lines|(?<==)(?:one|gone|big))$/, (name) => join(outside.path, name)),
    );
    const run = await runCommandClass(SecretsSet, [...(await places(hub)), ...MQTT, ...inside]);
    expect(run.code).toBe(code);
    expect(run.err).toContain(message);
    expect(run.out + run.err).not.toContain(PASSWORD);
  });

  it('is refused when an agent has no recipient, and names that agent', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    await ask(stick, testAgent('plant-7/press-1'));
    await hub.enroll(stick);
    await write(hub.path, { one: '1' });
    const run = await runCommandClass(SecretsSet, [
      ...(await places(hub)),
      ...MQTT,
      '--from-file',
      `a=${join(hub.path, 'one')}`,
    ]);
    expect([run.code, run.err]).toEqual([
      5,
      expect.stringContaining('nothing can be sealed to plant-7/press-1'),
    ]);
  });
});

describe('the life of a set', () => {
  it('reports at each step the agents that cannot read the set, and the escrow key repairs it', async () => {
    await using hub = await testHub();
    await using outside = await testHub();
    const escrow = await generateAgeIdentity();
    const flags = await places(hub, escrow);
    await enrolWithAge(hub, 'plant-7/press-1');
    await write(outside.path, { pw: PASSWORD, 'escrow.txt': `# created by hand\n${escrow.identity}\n` });
    const set = [...flags, ...MQTT, '--from-file', `password=${join(outside.path, 'pw')}`];
    expect((await runCommandClass(SecretsSet, set)).out).toContain('sealed to press-1 and the escrow');

    const newcomer = { ...testAgent('plant-7/press-2'), ...(await generateAgeIdentity()) };
    const stick = await hub.stick('newcomer');
    await ask(stick, newcomer, { recipient: newcomer.recipient });
    const enrolling = await runCommandClass(SitesEnroll, [stick, ...flags, ...(await acceptRequests(stick))]);
    expect(enrolling.out).toContain('! press-2 of plant-7 cannot read mqtt: seal it again');
    const listed = await runCommandClass(SecretsList, [...flags, '--site', 'plant-7']);
    expect(listed.out).toContain(`plant-7/mqtt  version 1, sealed ${NOW}  read by press-1`);
    expect(listed.out).toContain('! press-2 of plant-7 cannot read mqtt');
    expect(listed.out).toContain(`plant-7/press-2  ${newcomer.recipient}`);

    const reseal = [...flags, '--site', 'plant-7', '--identity', join(outside.path, 'escrow.txt')];
    const resealed = await runCommandClass(SecretsReseal, reseal);
    expect(resealed.out).toContain('mqtt is sealed again');
    expect(plain((await open(hub, newcomer)).values['password'])).toBe(PASSWORD);
    expect((await runCommandClass(SecretsReseal, reseal)).out).toContain('to the current agents already');

    const revoked = await runCommandClass(SitesRevoke, ['plant-7/press-1', ...WHY, ...flags]);
    expect(revoked.out).toContain(
      'a machine that is no longer of plant-7 could read mqtt: replace the secrets in it',
    );
    const again = await runCommandClass(SitesRevoke, ['plant-7/press-1', ...WHY, ...flags, '--json']);
    expect(JSON.parse(again.out)).toMatchObject({
      changed: false,
      remarks: [expect.stringContaining('no longer of plant-7')],
    });

    const removed = await runCommandClass(SecretsRemove, [...flags, ...WHY, ...MQTT]);
    expect(removed.out).toContain('mqtt is no longer a secret set of plant-7');
    expect((await runCommandClass(SecretsRemove, [...flags, ...WHY, ...MQTT])).err).toContain(
      'SECRET_MISSING',
    );
    expect((await runCommandClass(SecretsList, flags)).out).toContain('No secret set yet');
    expect(await filesThatShow(hub.path, PASSWORD)).toEqual([]);
    expect(await filesThatShow(hub.path, escrow.identity)).toEqual([]);
  });

  it.each([
    ['is not there', undefined, 5, 'KEY_MISSING'],
    ['is empty', '# nothing\n', 2, 'KEY_FORMAT'],
    ['is something else', 'AGE-SECRET-KEY-1NONSENSE\n', 2, 'KEY_FORMAT'],
  ] as const)('an identity file that %s is refused without being quoted', async (_, content, code, name) => {
    await using hub = await testHub();
    await enrolWithAge(hub, 'plant-7/press-1');
    const file = join(hub.path, 'identity');
    if (content !== undefined) await writeFile(file, content);
    const run = await runCommandClass(SecretsReseal, [
      ...(await places(hub)),
      '--site',
      'plant-7',
      '--identity',
      file,
    ]);
    expect([run.code, run.err]).toEqual([code, expect.stringContaining(name)]);
    expect(run.err).not.toContain('NONSENSE');
  });

  it('an escrow that is not an age recipient is a configuration error', async () => {
    await using hub = await testHub();
    const config = join(hub.path, 'fleet-scheduler.yaml');
    for (const [escrow, name] of [
      ['age1short', 'CONFIG_INVALID'],
      [`age1${'q'.repeat(58)}`, 'KEY_FORMAT'],
    ] as const) {
      await writeFile(config, `secrets: {escrow: ${escrow}}\n`);
      const run = await runCommandClass(SecretsList, [...(await places(hub)), '--config', config]);
      expect([run.code, run.err]).toEqual([2, expect.stringContaining(name)]);
      expect(run.err).toContain(config);
      expect(run.err).toContain('age recipient');
    }
  });
});
