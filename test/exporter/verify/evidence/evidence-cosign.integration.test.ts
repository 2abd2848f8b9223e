import { appendFile, cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { describeWith } from '../../../harness/run/describe-with.ts';
import { programFile } from '../../../harness/run/program-file.ts';
import { type Outcome, runCommand, succeed } from '../../../harness/run/run-command.ts';
import { makeKioskWorld, type World } from '../../world.ts';

const PROGRAM = programFile('exporter');
const VERIFY =
  'verify-blob-attestation --insecure-ignore-tlog --type urn:fleet-ferry:verification:v1 --bundle evidence/verification.sigstore.json';

describeWith(['cosign'], 'evidence in the hands of stock cosign', ({ cosign }) => {
  let world: World;
  const options = () => ({
    cwd: world.path(),
    env: { PATH: process.env['PATH'], HOME: world.path(), COSIGN_PASSWORD: 'auditor of plants' },
  });
  const run = (words: string): Promise<Outcome> => runCommand([cosign, ...words.split(' ')], options());
  const program = (...words: readonly string[]): Promise<Outcome> =>
    runCommand([process.execPath, PROGRAM, ...words, '--now', '2026-11-21T08:00:00Z'], options());

  beforeAll(async () => {
    world = await makeKioskWorld();
    await world.export('medium', { sites: ['plant-7'] });
    const pem = generatePrivateKey();
    await writeFile(world.path('plain.pem'), pem, { mode: 0o600 });
    await writeFile(world.path('stranger.pub'), loadSigningKey(generatePrivateKey()).public.pem);
    const imported = await run('import-key-pair --key plain.pem --output-key-prefix auditor');
    succeed(imported);
    const root = hexOf(digestOf(world.fleet.roots[0] ?? ''));
    const words = ['--root-sha256', root, '--evidence', 'evidence', '--sign-key', 'auditor.key'];
    const verified = await program('verify', 'medium', ...words);
    expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining('Evidence: evidence')]);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  it('is verified by cosign with the key of the auditor, for checks and tables of contents', async () => {
    for (const blob of ['evidence/checks.ndjson', 'evidence/medium.json', 'medium/fleet/medium.json'])
      succeed(await run(`${VERIFY} --key auditor.pub ${blob}`));
  });

  it('is refused by cosign with another key, and for changed checks', async () => {
    expect((await run(`${VERIFY} --key stranger.pub evidence/checks.ndjson`)).code).not.toBe(0);
    await cp(world.path('evidence/checks.ndjson'), world.path('changed.ndjson'));
    await appendFile(join(world.path(), 'changed.ndjson'), '\n');
    expect((await run(`${VERIFY} --key auditor.pub changed.ndjson`)).code).not.toBe(0);
  });

  it('is accepted by recheck with the same public key', async () => {
    const { code, stdout } = await program('recheck', 'evidence', 'medium', '--key', 'auditor.pub');
    expect([code, stdout]).toEqual([0, expect.stringContaining('the medium passed')]);
  });
});
