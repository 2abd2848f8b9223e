import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import {
  type CertifiedFleet,
  createCertifiedFleet,
  type HubServer,
  startHubServer,
} from '../../agent/hub-server.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { type Outcome, runCommand, succeed } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

/** The hub's clock is right, that of the agent's machine a year wrong. */
describeWith(['faketime'], 'a connected agent whose clock is a year wrong', ({ faketime }) => {
  const stack = new AsyncDisposableStack();
  let folder = '';
  let fleet: CertifiedFleet;
  let hub: HubServer;
  beforeAll(async () => {
    folder = stack.use(await temporaryDirectory('wrong-clock-hub')).path;
    await mkdir(join(folder, 'root'));
    fleet = await createCertifiedFleet();
    hub = stack.use(await startHubServer(fleet, folder));
    hub.tokens.add('token-of-one-hour');
    await writeFile(join(folder, 'token'), 'token-of-one-hour\n', { mode: 0o600 });
  });
  afterAll(() => stack.disposeAsync());

  const agentAt = (clock: string, ...words: readonly string[]): Promise<Outcome> =>
    runCommand([process.execPath, programFile('agent'), ...words], {
      env: {
        ...process.env,
        LD_PRELOAD: faketime,
        FAKETIME: clock,
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
        FLEET_AGENT_STATE: join(folder, 'state'),
        FLEET_AGENT_ROOT: join(folder, 'root'),
        FLEET_AGENT_SERVICES: 'none',
        FLEET_AGENT_HUB: hub.url,
      },
    });
  const enroll = (clock: string): Promise<Outcome> => {
    const who = ['--fleet', fleet.name, '--site', 'plant-7', '--name', 'kiosk-1'];
    const root = ['--root-sha256', hexOf(digestOf(fleet.roots[0] ?? ''))];
    const token = ['--token-file', join(folder, 'token')];
    return agentAt(
      clock,
      'enroll',
      ...who,
      '--channel',
      'prod/factory-host',
      ...root,
      '--hub',
      hub.url,
      ...token,
    );
  };
  const finding = async (clock: string, name: string): Promise<unknown> => {
    const { findings } = JSON.parse((await agentAt(clock, 'doctor', '--json')).stdout) as {
      readonly findings: readonly { readonly name: string }[];
    };
    return findings.find((one) => one.name === name);
  };

  it.each([
    ['+365d', 'has ended'],
    ['-365d', 'is not valid yet'],
  ])('at %s sends no token to a hub whose certificate %s', async (clock, why) => {
    const { code, stderr } = await enroll(clock);
    expect(code).not.toBe(0);
    expect(stderr).toContain('CERTIFICATE_INVALID');
    expect(stderr).toContain(why);
    expect(stderr).toContain('this clock');
    // The roots are public, and name the authority that the certificate has to be of.
    expect(new Set(hub.asked)).toEqual(new Set(['GET /v1/roots']));
    expect(hub.tokens).toContain('token-of-one-hour');
  });

  it('is enrolled with the same token when the clock is right, and says later which certificate its clock refuses', async () => {
    succeed(await enroll('+0d'));
    const bad = (message: string) => expect.objectContaining({ verdict: 'bad', message });
    const good = expect.objectContaining({ verdict: 'good' });
    const refusal = `CERTIFICATE_INVALID: ${hub.url} shows a certificate that`;
    expect(await finding('+365d', 'hub')).toEqual(bad(`${refusal} has ended`));
    expect(await finding('+365d', 'certificate')).toEqual(bad(expect.stringContaining('ended on ')));
    expect(await finding('-365d', 'hub')).toEqual(bad(`${refusal} is not valid yet`));
    expect(await finding('-365d', 'clock')).toEqual(
      bad(expect.stringMatching(/ is before .*, which signatures have proven: set the clock$/)),
    );
    expect(await finding('+0d', 'hub')).toEqual(good);
    expect(await finding('+0d', 'certificate')).toEqual(good);
  });
});
