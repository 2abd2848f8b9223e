import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { sealSecretSet } from '#bundles/trust/secrets/seal';
import { ageFile, findAgeIdentity, loadOrMakeRecipient } from '../../../agent/hub/age-identity.ts';
import { readIdentity } from '../../../agent/store/identity.ts';
import { openState } from '../../../agent/store/state.ts';
import { secretPackage } from '../../agent/secrets/secret-world.ts';
import { tracesBelow, tracesIn } from '../../agent/secrets/traces-of.ts';
import { keptProgram } from '../../harness/run/kept-program.ts';
import {
  createTestFleet,
  packTestBundle,
  type TestFleet,
  type TestPackage,
  writeTestMedium,
} from '../../harness/fleets/signed-medium.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { succeed } from '../../harness/run/run-command.ts';

const ONE = 'MARKER-first-password-8c1f';
const TWO = 'MARKER-second-password-77ab';
const THREE = 'MARKER-third-password-5d2e';

let folder: TemporaryDirectory;
let fleet: TestFleet;
const at = (name: string): string => join(folder.path, name);
/** All that any of the verbs ever wrote to its output. */
const said: string[] = [];

beforeAll(async () => {
  folder = await temporaryDirectory('traces');
  fleet = await createTestFleet();
  await mkdir(at('stick'));
  await mkdir(at('root/etc'), { recursive: true });
  await writeFile(at('root/etc/passwd'), 'root:x:0:0::/root:/bin/sh\n');
  await writeFile(at('root/etc/group'), 'root:x:0:\n');
});
afterAll(() => folder[Symbol.asyncDispose]());

/** The program with DEBUG in its environment, so that it says everything. */
const runLine = keptProgram('fleet-agent', 'test/harness/run/agent-lines.ts', { ...process.env, DEBUG: '*' });
const agent = async (...words: readonly string[]) => {
  const { code, stdout, stderr } = await runLine(folder.path, words, {
    ...process.env,
    FLEET_NOW: '2026-11-21T08:00:00Z',
    FLEET_AGENT_STATE: at('state'),
    FLEET_AGENT_ROOT: at('root'),
    FLEET_AGENT_SERVICES: 'none',
    TMPDIR: at('stick'),
  });
  const text = stdout + stderr;
  said.push(text);
  return { code, text };
};

let media = 0;
const medium = async (password: string, packages: readonly TestPackage[], to?: string): Promise<string> => {
  using state = openState(at('state'));
  const { key } = readIdentity(state);
  const version = ++media;
  const recipient = to ?? (await loadOrMakeRecipient(at('state')));
  const values = { password: Buffer.from(password).toString('base64') };
  const set = { fleet: fleet.name, site: 'plant-7', name: 'db', version, values };
  return await writeTestMedium(at(`medium-${version}`), fleet, {
    site: {
      site: 'plant-7',
      version,
      agents: [{ name: 'kiosk-1', key }],
      secrets: { db: await sealSecretSet(set, [recipient]) },
    },
    release: { version, bundle: packTestBundle(fleet, packages) },
  });
};

describe('the commands of an agent with secrets', () => {
  it('leave no secret in the state, on the medium and in their output', async () => {
    const names = ['--fleet', fleet.name, '--site', 'plant-7', '--name', 'kiosk-1'];
    const root = hexOf(digestOf(fleet.roots[0] ?? ''));
    const rest = ['--channel', 'prod/factory-host', '--root-sha256', root];
    succeed(await agent('enroll', ...names, ...rest, at('stick')));
    const identity = (await findAgeIdentity(at('state'))) ?? '';
    const secrets = [ONE, TWO, THREE, identity.slice(0, -1)];
    const file = at('root/run/app/password');
    const failing = [{ type: 'exec', name: 'answers', argv: ['/bin/false'], timeoutSeconds: 5 }] as const;

    const app = secretPackage('app', 'db', 'password');
    expect((await agent('import', await medium(ONE, [app, secretPackage('b', 'db', 'password')]))).code).toBe(
      0,
    );
    expect(await readFile(file, 'utf8')).toBe(ONE);
    expect(
      (await agent('import', await medium(TWO, [app, secretPackage('b', 'db', 'password')]), '--json')).code,
    ).toBe(0);
    expect((await agent('import', await medium(THREE, [{ ...app, checks: failing }]), '--prune')).code).toBe(
      7,
    );
    expect(await readFile(file, 'utf8')).toBe(TWO);
    await writeFile(file, THREE);
    expect((await agent('diff')).code).toBe(8);
    expect((await agent('diff', '--json')).code).toBe(8);
    expect((await agent('run', '--once')).code).not.toBe(1);
    expect(await readFile(file, 'utf8')).toBe(TWO);
    succeed(await agent('rollback', 'app', '--reason', 'it was better'));
    expect(await readFile(file, 'utf8')).toBe(ONE);
    await rm(at('root/run'), { recursive: true });
    expect(await agent('restore-secrets')).toMatchObject({
      code: 0,
      text: expect.stringContaining('is there again'),
    });
    expect(await readFile(file, 'utf8')).toBe(ONE);
    await agent('import', await medium(ONE, [secretPackage('app', 'db', 'absent')]), '--json');
    const other = await medium(ONE, [app], 'age1ng0v2fkszu8vguyj2tw2cuh3nd8a50r0pzj2gy53n4g7yyn0tecslgt0wn');
    expect((await agent('import', other)).text).toContain('SECRET_UNREADABLE');
    await writeFile(ageFile(at('state')), `${identity.slice(0, -1)}\n`, { mode: 0o600 });
    const damaged = await agent('retry');
    expect(damaged).toMatchObject({ code: 7, text: expect.stringContaining('agent.age is damaged') });
    await writeFile(ageFile(at('state')), `${identity}\n`, { mode: 0o600 });
    for (const words of [
      ['retry'],
      ['prune'],
      ['status'],
      ['status', '--json'],
      ['history'],
      ['history', '--json'],
      ['doctor'],
      ['doctor', '--json'],
      ['run', '--once', '--json'],
      ['reports', 'export', at('stick')],
    ])
      expect((await agent(...words)).code, words.join(' ')).not.toBe(1);

    expect(existsSync(at('stick/fleet/reports'))).toBe(true);
    expect(said.filter((text) => /\boclif:/.test(text)).length).toBeGreaterThan(20);
    expect(tracesIn('what was said', said.join('\n'), secrets)).toEqual([]);
    expect(await tracesBelow(at('stick'), secrets)).toEqual([]);
    const own = ageFile(at('state'));
    expect((await tracesBelow(at('state'), secrets)).filter((trace) => !trace.endsWith(own))).toEqual([]);
  }, 120_000);
});
